package activities

import (
	"context"
	"errors"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
)

// One run sweeps at most maxAnonymous pages of anonymous keys and leaves the rest to the next run.
const (
	anonymousPage  = 1000
	maxAnonymous   = 2000
	retiredForDays = 1 // before a retired key is deleted: by then all its usage is flushed
)

// maxUnrecorded is how far the watermark may lag behind before the sweep is skipped. Until usage is
// flushed, a key that looks unused may be in use.
const maxUnrecorded = time.Hour

// sweepAnonymous revokes and deletes anonymous keys that nobody uses. It does nothing while the
// watermark lags by more than maxUnrecorded.
func (p *Partitions) sweepAnonymous(ctx context.Context, in *PartitionUpkeep,
	today time.Time,
) (accountdb.SweptKeys, error) {
	var done accountdb.SweptKeys
	if in.KeepUnusedKeyDays <= 0 || in.KeepIdleKeyDays <= 0 {
		return done, nil
	}
	recorded, err := p.Store.UsageWatermark(ctx)
	if errors.Is(err, store.ErrNotFound) || err == nil && recorded.Before(p.Now().Add(-maxUnrecorded)) {
		return done, nil
	}
	if err != nil {
		return done, err
	}
	sweep := accountdb.AnonymousSweep{
		MadeBefore: today.AddDate(0, 0, -in.KeepUnusedKeyDays), UsedBefore: today.AddDate(0, 0, -in.KeepIdleKeyDays),
		RetiredBefore: today.AddDate(0, 0, -retiredForDays),
	}
	var last account.KeyID
	for range maxAnonymous {
		n, next, more, err := p.Store.SweepAnonymousKeys(ctx, last, sweep, anonymousPage)
		done.Retired, done.Deleted, done.Accounts = done.Retired+n.Retired, done.Deleted+n.Deleted, done.Accounts+
			n.Accounts
		if p.OnSwept != nil {
			p.OnSwept(n)
		}
		if err != nil || !more {
			return done, err
		}
		last = next
	}
	return done, nil
}
