package store

import (
	"context"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/db"
)

// AnonymousSweep says which anonymous keys go: those made before MadeBefore that were never used,
// or last before UsedBefore. Each is revoked first, and deleted once it was before RetiredBefore.
type AnonymousSweep struct {
	MadeBefore    time.Time
	UsedBefore    time.Time
	RetiredBefore time.Time
}

// SweptKeys is what a sweep did.
type SweptKeys struct {
	Retired  int64 // keys revoked
	Deleted  int64 // keys deleted
	Accounts int64 // accounts deleted with them; where usage stands they stay
}

// SweepAnonymousKeys sweeps the next page of anonymous keys after one, in the order of their ids,
// and returns the last that it looked at; more is false when there are no further ones. Keys whose
// account holds anything but usage, a pack or a ticket for example, stay.
func (s *Store) SweepAnonymousKeys(ctx context.Context, after account.KeyID, sweep AnonymousSweep,
	page int,
) (done SweptKeys, last account.KeyID, more bool, err error) {
	page = min(page, maxPage)
	row, err := s.queries().SweepAnonymousKeys(ctx, db.SweepAnonymousKeysParams{
		After: after.UUID, MadeBefore: sweep.MadeBefore, UsedBefore: sweep.UsedBefore,
		RetiredBefore: sweep.RetiredBefore, Most: int32(page), //nolint:gosec // bounded
	})
	if err != nil {
		return SweptKeys{}, after, false, fmt.Errorf("sweep anonymous keys: %w", err)
	}
	return SweptKeys{row.Retired, row.Deleted, row.Accounts}, account.KeyID{
		UUID: row.Last,
	}, row.Seen == int64(page), nil
}
