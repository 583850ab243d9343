package accountdb

import (
	"context"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// AnonymousSweep selects anonymous keys: those made before MadeBefore that were never used, or last
// used before UsedBefore. A key is revoked first, and deleted once it was revoked before
// RetiredBefore.
type AnonymousSweep struct {
	MadeBefore    time.Time
	UsedBefore    time.Time
	RetiredBefore time.Time
}

// SweptKeys counts what a sweep did.
type SweptKeys struct {
	Retired  int64 // keys revoked
	Deleted  int64 // keys deleted
	Accounts int64 // accounts deleted with them; accounts with usage stay
}

// SweepAnonymousKeys sweeps the next page of anonymous keys after the given id, in the order of
// ids. It returns the last id of the page; more is false on the last page. A key stays when its
// account holds anything but usage, such as a pack or a ticket.
func (s *Store) SweepAnonymousKeys(ctx context.Context, after account.KeyID, sweep AnonymousSweep,
	page int,
) (done SweptKeys, last account.KeyID, more bool, err error) {
	page = min(page, pg.MaxPage)
	row, err := s.pool.Queries().SweepAnonymousKeys(ctx, db.SweepAnonymousKeysParams{
		After: after.UUID, MadeBefore: sweep.MadeBefore, UsedBefore: sweep.UsedBefore,
		RetiredBefore: sweep.RetiredBefore, MaxRows: int32(page), //nolint:gosec // bounded
	})
	if err != nil {
		return SweptKeys{}, after, false, fmt.Errorf("sweep anonymous keys: %w", err)
	}
	return SweptKeys{row.Retired, row.Deleted, row.Accounts}, account.KeyID{
		UUID: row.Last,
	}, row.Seen == int64(page), nil
}
