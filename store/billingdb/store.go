// Package billingdb reads and writes customers, subscriptions and invoices of Stripe, checkouts,
// statements, and notices of packs that expire.
package billingdb

import "github.com/chainaccess/gateway/store/internal/pg"

// Store is the part of the store that this package owns.
type Store struct{ pool *pg.Pool }

// New returns a Store that uses the given pool.
func New(pool *pg.Pool) *Store { return &Store{pool: pool} }
