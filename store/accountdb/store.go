// Package accountdb reads and writes accounts, keys, wallets, agents, packs and settings, with the
// audit log of their changes.
package accountdb

import "github.com/chainaccess/gateway/store/internal/pg"

// Store is the part of the store that this package owns.
type Store struct{ pool *pg.Pool }

// New returns a Store that uses the given pool.
func New(pool *pg.Pool) *Store { return &Store{pool: pool} }
