// Package pg holds the connection pool to PostgreSQL, transactions, and the conversions that all
// parts of the store share.
package pg

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	pgxuuid "github.com/vgarvardt/pgx-google-uuid/v5"

	"github.com/chainaccess/gateway/store/db"
)

// ErrNotFound reports that no row matched.
var ErrNotFound = errors.New("store: not found")

// ErrRejected reports that PostgreSQL rejects the content of a row, so that a retry is useless.
var ErrRejected = errors.New("store: content refused")

// connectTimeout bounds one attempt to connect, so that an unreachable host fails instead of
// hanging.
const connectTimeout = 5 * time.Second

// Pool is a connection pool to one database. It is safe for concurrent use.
type Pool struct{ *pgxpool.Pool }

// Open connects to the PostgreSQL at url and checks that it answers. Its errors never contain
// the URL's password.
func Open(ctx context.Context, url string) (*Pool, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read the database URL; check DATABASE_URL: %w", err)
	}
	cfg.ConnConfig.ConnectTimeout = connectTimeout
	// With a session in UTC, times are read in UTC whatever the server's setting.
	cfg.ConnConfig.RuntimeParams["timezone"] = "UTC"
	if cfg.ConnConfig.RuntimeParams["application_name"] == "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = "gateway"
	}
	// Without this, arrays of UUIDs are sent as text, one by one, which is the largest client-side
	// cost of a flush.
	cfg.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		pgxuuid.Register(conn.TypeMap())
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("open PostgreSQL: %w", err)
	}
	p := &Pool{pool}
	if err := p.Ping(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return p, nil
}

// Ping reports whether PostgreSQL answers.
func (p *Pool) Ping(ctx context.Context) error {
	if err := p.Pool.Ping(ctx); err != nil {
		return fmt.Errorf("reach PostgreSQL; check that it runs and that DATABASE_URL is right: %w", err)
	}
	return nil
}

// Queries returns the queries, each in a transaction of its own.
func (p *Pool) Queries() *db.Queries { return db.New(p.Pool) }

// Tx runs do in one transaction, and commits it when do returns nil.
func (p *Pool) Tx(ctx context.Context, options pgx.TxOptions, do func(pgx.Tx, *db.Queries) error) error {
	return pgx.BeginTxFunc(ctx, p.Pool, options, func(tx pgx.Tx) error { return do(tx, db.New(tx)) })
}

// planned is a pool whose queries PostgreSQL plans with their arguments each time. Queries over
// usage_parts need this: a generic plan reads all four of its tables.
type planned struct{ *pgxpool.Pool }

// Query caches the statement's description, but plans it with its arguments each time.
func (p planned) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return p.Pool.Query(ctx, sql, append([]any{pgx.QueryExecModeCacheDescribe}, args...)...)
}

// Sums returns the queries over usage_parts and latency_parts.
func (p *Pool) Sums() *db.Queries { return db.New(planned{p.Pool}) }

// NotFound converts pgx.ErrNoRows to errNotFound.
func NotFound(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

// IsRejected reports whether PostgreSQL rejected the content: SQLSTATE class 22 (data exception) or
// 23 (integrity constraint violation) (PostgreSQL manual, appendix A).
func IsRejected(err error) bool {
	violation, ok := errors.AsType[*pgconn.PgError](err)
	return ok && len(violation.Code) == 5 && (violation.Code[:2] == "22" || violation.Code[:2] == "23")
}
