// Package supportdb reads and writes tickets, feedback, requests for enterprise agreements, the
// waitlist, and the log of the support desk.
package supportdb

import "github.com/chainaccess/gateway/store/internal/pg"

// Store is the part of the store that this package owns.
type Store struct{ pool *pg.Pool }

// New returns a Store that uses the given pool.
func New(pool *pg.Pool) *Store { return &Store{pool: pool} }
