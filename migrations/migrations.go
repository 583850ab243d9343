// Package migrations owns the PostgreSQL schema: numbered SQL for goose, embedded. It does not run
// them; `gateway migrate` does.
package migrations

import (
	"embed"
	"fmt"
)

// FS holds the migrations, numbered NNNN_noun.sql, at its root.
//
//go:embed *.sql
var FS embed.FS

// Versions are the numbers of all migrations, in order. Numbers may be missing in between.
func Versions() []int64 {
	files, err := FS.ReadDir(".") // sorted by name
	if err != nil {               // embedded
		panic(err)
	}
	versions := make([]int64, len(files))
	for i, f := range files {
		if _, err := fmt.Sscanf(f.Name(), "%d_", &versions[i]); err != nil {
			panic(err)
		}
	}
	return versions
}
