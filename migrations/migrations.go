// Package migrations owns the PostgreSQL schema: numbered SQL for goose, embedded. It does not run them; `gateway migrate` does.
package migrations

import "embed"

// FS holds the migrations, numbered NNNN_noun.sql, at its root.
//
//go:embed *.sql
var FS embed.FS
