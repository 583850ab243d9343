package accountdb

import (
	"context"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/identity/account"
)

// Queries for operators, in addition to the audit log.

// ListPushesOf reads the changes of an account and its keys that the meter has not taken, oldest
// first.
func (s *Store) ListPushesOf(ctx context.Context, id account.ID) ([]Push, error) {
	rows, err := s.pool.Queries().ListPushesOf(ctx, id.UUID)
	if err != nil {
		return nil, fmt.Errorf("list pushes of account %s: %w", id, err)
	}
	pushes := make([]Push, len(rows))
	for i, row := range rows {
		pushes[i] = Push{
			Account: account.ID{UUID: row.AccountID}, Key: account.KeyID{UUID: row.KeyID}, Version: row.Version,
			Since: row.Since.UTC(),
		}
	}
	return pushes, nil
}

// LastKeyChanges returns when the limits of an account's keys last changed. Keys that never changed
// are omitted.
func (s *Store) LastKeyChanges(ctx context.Context, id account.ID) (map[account.KeyID]time.Time, error) {
	rows, err := s.pool.Queries().ListLastKeyChanges(ctx, id.UUID)
	if err != nil {
		return nil, fmt.Errorf("list the last changes of keys of account %s: %w", id, err)
	}
	changes := make(map[account.KeyID]time.Time, len(rows))
	for _, row := range rows {
		changes[account.KeyID{UUID: row.KeyID}] = row.At.UTC()
	}
	return changes, nil
}
