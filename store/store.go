// Package store reads and writes PostgreSQL, the system of record: accounts and keys, call records,
// hourly usage, the ledger of flushed buckets, and the session locks by which workers share work.
// SQL is in store/queries, compiled by sqlc into store/db; transactions are Go. It does not count
// or admit calls (package meter does), and it does not migrate (package migrations does).
package store

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	pgxuuid "github.com/vgarvardt/pgx-google-uuid/v5"

	"github.com/chainaccess/gateway/store/db"
)

var (
	// ErrNotFound reports that no row matched.
	ErrNotFound = errors.New("store: not found")
	// ErrKeyExists reports that the id or the digest of a new key is taken.
	ErrKeyExists = errors.New("store: key exists already")
	// ErrAccountExists reports that the id of a new account is taken.
	ErrAccountExists = errors.New("store: account exists already")
	// ErrAccountMissing reports that the account of a new key does not exist.
	ErrAccountMissing = errors.New("store: account does not exist; create it first")
	// ErrRevoked reports an attempt to change a revoked key.
	ErrRevoked = errors.New("store: the key is revoked")
	// ErrRejected reports that PostgreSQL rejects the content of a row, so that a retry is useless.
	ErrRejected = errors.New("store: content refused")
)

// connectTimeout bounds one attempt to connect, so that an unreachable host fails instead of
// hanging.
const connectTimeout = 5 * time.Second

// Store is a connection pool to one database. It is safe for concurrent use.
type Store struct {
	pool  *pgxpool.Pool
	epoch atomic.Int64 // as ReadDeployment found it last
}

// Open connects to the PostgreSQL at url and checks that it answers. Its errors never contain the
// URL's password.
func Open(ctx context.Context, url string) (*Store, error) {
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
	s := &Store{pool: pool}
	if err := s.Ping(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return s, nil
}

// Close waits for connections in use and closes the pool.
func (s *Store) Close() { s.pool.Close() }

// Ping reports whether PostgreSQL answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.pool.Ping(ctx); err != nil {
		return fmt.Errorf("reach PostgreSQL; check that it runs and that DATABASE_URL is right: %w", err)
	}
	return nil
}

func (s *Store) queries() *db.Queries { return db.New(s.pool) }

// tx runs do in one transaction, and commits it when do returns nil.
func (s *Store) tx(ctx context.Context, options pgx.TxOptions, do func(pgx.Tx, *db.Queries) error) error {
	return pgx.BeginTxFunc(ctx, s.pool, options, func(tx pgx.Tx) error { return do(tx, db.New(tx)) })
}

// conflict converts a violated constraint to its sentinel error; other errors are unchanged.
func conflict(err error) error {
	violation, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	switch violation.ConstraintName {
	case "keys_digest_unique", "keys_pkey":
		return ErrKeyExists
	case "accounts_pkey":
		return ErrAccountExists
	case "keys_account_exists":
		return ErrAccountMissing
	}
	return err
}

// found converts pgx.ErrNoRows to ErrNotFound.
func found(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

// rejected reports whether PostgreSQL rejected the content: SQLSTATE class 22 (data exception) or
// 23 (integrity constraint violation) (PostgreSQL manual, appendix A).
func rejected(err error) bool {
	violation, ok := errors.AsType[*pgconn.PgError](err)
	return ok && len(violation.Code) == 5 && (violation.Code[:2] == "22" || violation.Code[:2] == "23")
}
