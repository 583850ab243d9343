// Package migrations embeds the PostgreSQL schema as numbered SQL files for goose. `gateway
// migrate` runs them.
package migrations

import (
	"embed"
	"fmt"
)

// FS holds the migrations, numbered NNNN_noun.sql, at its root.
//
//go:embed *.sql
var FS embed.FS

// Versions lists the numbers of all migrations, in order. There may be gaps.
func Versions() []int64 {
	files, err := FS.ReadDir(".") // sorted by name
	if err != nil {               // cannot happen: embedded
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
