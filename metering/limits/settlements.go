package limits

import (
	"context"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store"
)

// GrantSettlement grants the units of a settlement, once for ever, from the meter's time on.
// Granted before, it gives what was granted: the caller's credential works only when Settlement.Key
// names it. Nothing is pushed: the credential's first call loads its fences.
//
//nolint:gocritic // a copy does no harm
func (f *Limits) GrantSettlement(ctx context.Context, g store.Grant) (store.Settlement, error) {
	at, err := f.meter.Now(ctx) // credentials expire by Redis' clock
	if err != nil {
		at = f.now()
	}
	g.At = at
	granted, err := f.store.GrantSettlement(ctx, g)
	return granted, refusalOr(err)
}

// RotateCredential issues another credential to the payer of a redeemed settlement for what is
// left, at the meter's time, or the one that is in force when it was given since Rotation.Since:
// Settlement.Key says which. When it answers without an error, the one before is refused
// everywhere; fault.NotYetInForce when that is saved and the meter could not be told.
// store.ErrNotFound when there is no such settlement, fault.SettlementRedeemed and
// fault.SettlementOver when it cannot be used any more.
//
//nolint:gocritic // a copy does no harm
func (f *Limits) RotateCredential(ctx context.Context, r store.Rotation) (store.Settlement, error) {
	at, err := f.meter.Now(ctx)
	if err != nil {
		at = f.now()
	}
	r.At = at
	rotated, before, err := f.store.RotateCredential(ctx, &r)
	if err != nil {
		return store.Settlement{}, refusalOr(err)
	}
	if before.IsZero() { // rotated before, or the same credential
		return rotated, f.Enforce(ctx, rotated.Key)
	}
	return rotated, f.Enforce(ctx, before, rotated.Key)
}

// ConcludeSettlement records whether a redeemed settlement is part of its chain for good. When one
// that is gone is answered without an error, its credential is refused everywhere.
func (f *Limits) ConcludeSettlement(ctx context.Context, id x402.ID, fin x402.Finality, seen *x402.Finding,
	words string, by store.Author,
) (store.Settlement, error) {
	at, err := f.meter.Now(ctx)
	if err != nil {
		at = f.now()
	}
	concluded, err := f.store.ConcludeSettlement(ctx, id, fin, seen, words, at, by)
	if err != nil {
		return store.Settlement{}, err
	}
	if concluded.Stage != x402.StageReorganised {
		return concluded, nil
	}
	return concluded, f.Enforce(ctx, concluded.Key)
}

// SettlementLeft is how many units of a redeemed settlement the meter has not charged yet.
func (f *Limits) SettlementLeft(ctx context.Context, s *store.Settlement) (plan.Units, error) {
	a, err := f.store.LoadAccount(ctx, s.Account)
	if err != nil {
		return 0, err
	}
	standings, err := f.CounterStates(ctx, &a, nil, false)
	if err != nil {
		return 0, err
	}
	left := s.Deal.Units
	for i := range standings.Counters {
		c := &standings.Counters[i]
		if _, pack := account.PackOf(c.Source); !pack {
			continue
		}
		if used := c.ShouldBe; !c.Kept {
			left -= used
		} else {
			left -= max(used, c.Is)
		}
	}
	return max(left, 0), nil
}
