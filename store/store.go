// Package store reads and writes PostgreSQL, the system of record. Each package below it owns the
// tables of some nouns; Store has the methods of all of them. This package has what concerns the
// whole database: its identity and schema, the session locks by which workers share work, and the
// backlog. SQL is in store/queries, compiled by sqlc into store/db; transactions are Go. It does
// not count or admit calls (package meter does), and it does not migrate (package migrations does).
package store

import (
	"context"
	"sync/atomic"

	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/billingdb"
	"github.com/chainaccess/gateway/store/chaindb"
	"github.com/chainaccess/gateway/store/internal/pg"
	"github.com/chainaccess/gateway/store/maildb"
	"github.com/chainaccess/gateway/store/paymentdb"
	"github.com/chainaccess/gateway/store/peopledb"
	"github.com/chainaccess/gateway/store/supportdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

var (
	// ErrNotFound reports that no row matched.
	ErrNotFound = pg.ErrNotFound
	// ErrRejected reports that PostgreSQL rejects the content of a row, so that a retry is useless.
	ErrRejected = pg.ErrRejected
)

// Names under which Store embeds its parts.
type (
	accounts = accountdb.Store
	people   = peopledb.Store
	mails    = maildb.Store
	support  = supportdb.Store
	usage    = usagedb.Store
	billing  = billingdb.Store
	payments = paymentdb.Store
	chains   = chaindb.Store
)

// Store is a connection pool to one database, with the methods of all parts. It is safe for
// concurrent use.
type Store struct {
	*accounts
	*people
	*mails
	*support
	*usage
	*billing
	*payments
	*chains

	pool  *pg.Pool
	epoch atomic.Int64 // as ReadDeployment found it last
}

// Open connects to the PostgreSQL at url and checks that it answers. Its errors never contain the
// URL's password.
func Open(ctx context.Context, url string) (*Store, error) {
	pool, err := pg.Open(ctx, url)
	if err != nil {
		return nil, err
	}
	return &Store{
		accounts: accountdb.New(pool), people: peopledb.New(pool), mails: maildb.New(pool),
		support: supportdb.New(pool), usage: usagedb.New(pool), billing: billingdb.New(pool),
		payments: paymentdb.New(pool), chains: chaindb.New(pool), pool: pool,
	}, nil
}

// Close waits for connections in use and closes the pool.
func (s *Store) Close() { s.pool.Close() }

// Ping reports whether PostgreSQL answers.
func (s *Store) Ping(ctx context.Context) error { return s.pool.Ping(ctx) }
