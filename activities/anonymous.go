package activities

import (
	"context"
	"errors"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store"
)

// Pages of anonymous keys are looked at in one run; what is left, the next run looks at.
const (
	anonymousPage  = 1000
	maxAnonymous   = 2000
	retiredForDays = 1 // before a retired key is deleted: all that was charged for it is recorded by then
)

// maxUnrecorded is of which age usage may be unrecorded while keys are judged by it: a key may be
// in use whose first call is not recorded.
const maxUnrecorded = time.Hour

// sweepAnonymous revokes and deletes anonymous keys that nobody uses. While usage waits to be
// recorded, it leaves all to the next run.
func (p *Partitions) sweepAnonymous(ctx context.Context, in *PartitionUpkeep,
	today time.Time,
) (store.SweptKeys, error) {
	var done store.SweptKeys
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
	sweep := store.AnonymousSweep{
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
