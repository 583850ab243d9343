package store

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/migrations"
)

// Errors of a schema or a secret that this program cannot work with. Each says how to fix it.
var (
	ErrSchemaEmpty = errors.New(
		"the database has no schema of the gateway yet: run `gateway migrate up`, or name the right database in " +
			"DATABASE_URL")
	ErrSchemaOlder = errors.New(
		"the schema of the database is older than this program: run `gateway migrate up` with this version")
	ErrSchemaNewer = errors.New(
		"the schema of the database is newer than this program: deploy the version that migrated it, or a later one")
	ErrPepper = errors.New(
		"it is not the one that the keys in this database were made under, so every key would be unknown: " +
			"give the one from before, which belongs in the backup of secrets, or name the right database in " +
			"DATABASE_URL; when the first start after an upgrade had a wrong one, see \"A pepper that is refused\" " +
			"in docs/operations/runbooks.md")
)

// CheckSchema compares the applied migrations with those of this program. It returns
// ErrSchemaEmpty, ErrSchemaOlder or ErrSchemaNewer, wrapped with the migration that differs.
func (s *Store) CheckSchema(ctx context.Context) error {
	applied, err := s.appliedMigrations(ctx)
	if err != nil {
		return fmt.Errorf("read which migrations were applied: %w", err)
	}
	known := migrations.Versions()
	without := func(all, some []int64) []int64 {
		return slices.DeleteFunc(slices.Clone(all), func(v int64) bool { return slices.Contains(some, v) })
	}
	pending, unknown := without(known, applied), without(applied, known)
	switch {
	case len(applied) == 0:
		return ErrSchemaEmpty
	case len(unknown) > 0: // also with pending ones: the schema is ahead
		return fmt.Errorf("%w (it does not know migration %d)", ErrSchemaNewer, slices.Max(unknown))
	case len(pending) > 0:
		return fmt.Errorf("%w (migration %d is pending)", ErrSchemaOlder, pending[0])
	}
	return nil
}

// appliedMigrations lists the applied version numbers of goose; none when it never ran. Its table
// is not in our schema, so sqlc does not know it.
func (s *Store) appliedMigrations(ctx context.Context) ([]int64, error) {
	var ran bool
	if err := s.pool.QueryRow(ctx, "SELECT to_regclass('goose_db_version') IS NOT NULL").Scan(&ran); err != nil ||
		!ran {
		return nil, err
	}
	rows, err := s.pool.Query(ctx,
		"SELECT DISTINCT version_id FROM goose_db_version WHERE is_applied AND version_id > 0")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int64])
}

// CheckPepper compares the hasher's pepper with that of the first start, which stored a canary made
// with it. It returns ErrPepper when they differ.
func (s *Store) CheckPepper(ctx context.Context, h *account.Hasher) error {
	canary := h.DigestOf("canary", "the pepper of this deployment")
	q := s.pool.Queries()
	if err := q.WritePepperCanary(ctx, canary[:]); err != nil {
		return fmt.Errorf("write the canary of the pepper: %w", err)
	}
	row, err := q.GetDeployment(ctx)
	if err != nil {
		return fmt.Errorf("read the canary of the pepper: %w", err)
	}
	if subtle.ConstantTimeCompare(row.PepperCanary, canary[:]) != 1 {
		return ErrPepper
	}
	return nil
}
