// Package paymentdb reads and writes x402 settlements and authorizations of stock x402 clients.
package paymentdb

import "github.com/chainaccess/gateway/store/internal/pg"

// Store is the part of the store that this package owns.
type Store struct{ pool *pg.Pool }

// New returns a Store that uses the given pool.
func New(pool *pg.Pool) *Store { return &Store{pool: pool} }
