// Package store owns PostgreSQL, the record: accounts and keys, call records, usage by the hour,
// the ledger of what the meter flushed, and the session locks by which workers share work. SQL lies
// in store/queries, typed by sqlc into store/db; transactions are Go. It counts nothing and admits
// nothing (meter does), and it does not migrate (migrations do).
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
	// ErrNotFound says that no row answers to what was asked for.
	ErrNotFound = errors.New("store: not found")
	// ErrKeyExists says that the id or the digest of a new key is taken.
	ErrKeyExists = errors.New("store: key exists already")
	// ErrAccountExists says that the id of a new account is taken.
	ErrAccountExists = errors.New("store: account exists already")
	// ErrAccountMissing says that the account which a new key names does not exist.
	ErrAccountMissing = errors.New("store: account does not exist; create it first")
	// ErrRevoked says that a key was to be changed that is revoked for good.
	ErrRevoked = errors.New("store: the key is revoked")
	// ErrRejected says that PostgreSQL refuses the content of a row, so that writing it again is in
	// vain.
	ErrRejected = errors.New("store: content refused")
)

// connectTimeout bounds one attempt to connect, so that an unreachable host fails instead of
// hanging.
const connectTimeout = 5 * time.Second

// Store is a pool of connections to one database. It is safe for concurrent use.
type Store struct {
	pool  *pgxpool.Pool
	epoch atomic.Int64 // as ReadDeployment found it last
}

// Open connects to the PostgreSQL at url and checks that it answers. An error never holds the URL's
// password.
func Open(ctx context.Context, url string) (*Store, error) {
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read the database URL; check DATABASE_URL: %w", err)
	}
	cfg.ConnConfig.ConnectTimeout = connectTimeout
	// Sessions think in UTC, so that times read back are UTC whatever the server's setting.
	cfg.ConnConfig.RuntimeParams["timezone"] = "UTC"
	if cfg.ConnConfig.RuntimeParams["application_name"] == "" {
		cfg.ConnConfig.RuntimeParams["application_name"] = "gateway"
	}
	// Without it an array of ids goes through text, one by one, which costs a flush more than all
	// else on this side.
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

// Close waits for connections in use and closes all of them.
func (s *Store) Close() { s.pool.Close() }

// Ping reports whether PostgreSQL answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.pool.Ping(ctx); err != nil {
		return fmt.Errorf("reach PostgreSQL; check that it runs and that DATABASE_URL is right: %w", err)
	}
	return nil
}

func (s *Store) queries() *db.Queries { return db.New(s.pool) }

// tx runs do in one transaction, which commits when do returns nil.
func (s *Store) tx(ctx context.Context, options pgx.TxOptions, do func(pgx.Tx, *db.Queries) error) error {
	return pgx.BeginTxFunc(ctx, s.pool, options, func(tx pgx.Tx) error { return do(tx, db.New(tx)) })
}

// conflict names the sentinel of a violated constraint; other errors stay as they are.
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

// found turns pgx's no-rows error into ErrNotFound.
func found(err error) error {
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

// rejected reports whether PostgreSQL refuses the content itself: class 22 is data exceptions,
// class 23 violated constraints (PostgreSQL manual, appendix A).
func rejected(err error) bool {
	violation, ok := errors.AsType[*pgconn.PgError](err)
	return ok && len(violation.Code) == 5 && (violation.Code[:2] == "22" || violation.Code[:2] == "23")
}
