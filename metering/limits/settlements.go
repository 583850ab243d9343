package limits

import (
	"context"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/paymentdb"
)

// GrantSettlement grants the units of a settlement once, dated by the meter's clock. If it was
// granted before, it returns that grant: the caller's credential works only if Settlement.Key is
// its key. Nothing is pushed: the credential's first call loads its limits.
//
//nolint:gocritic // a copy does no harm
func (f *Limits) GrantSettlement(ctx context.Context, g paymentdb.Grant) (paymentdb.Settlement, error) {
	at, err := f.meter.Now(ctx) // credentials expire by Redis' clock
	if err != nil {
		at = f.now()
	}
	g.At = at
	granted, err := f.store.GrantSettlement(ctx, g)
	return granted, refusalOr(err)
}

// RotateCredential issues a new credential for what is left of a redeemed settlement, dated by the
// meter's clock. If one was issued since Rotation.Since, it returns that one; Settlement.Key is the
// key in force. After it returns without an error, the previous credential is refused everywhere.
//
// Errors: fault.NotYetInForce when the change is saved and could not be pushed, store.ErrNotFound
// when there is no such settlement, fault.SettlementRedeemed and fault.SettlementOver when it
// cannot be used any more.
//
//nolint:gocritic // a copy does no harm
func (f *Limits) RotateCredential(ctx context.Context, r paymentdb.Rotation) (paymentdb.Settlement, error) {
	at, err := f.meter.Now(ctx)
	if err != nil {
		at = f.now()
	}
	r.At = at
	rotated, before, err := f.store.RotateCredential(ctx, &r)
	if err != nil {
		return paymentdb.Settlement{}, refusalOr(err)
	}
	if before.IsZero() { // rotated before, or the same credential
		return rotated, f.Enforce(ctx, rotated.Key)
	}
	return rotated, f.Enforce(ctx, before, rotated.Key)
}

// ConcludeSettlement records whether a redeemed settlement is final in its chain or removed by a
// reorg. After it returns without an error for a removed one, its credential is refused everywhere.
func (f *Limits) ConcludeSettlement(ctx context.Context, id x402.ID, fin x402.Finality, seen *x402.Finding,
	words string, by accountdb.Author,
) (paymentdb.Settlement, error) {
	at, err := f.meter.Now(ctx)
	if err != nil {
		at = f.now()
	}
	concluded, err := f.store.ConcludeSettlement(ctx, id, fin, seen, words, at, by)
	if err != nil {
		return paymentdb.Settlement{}, err
	}
	if concluded.Stage != x402.StageReorganised {
		return concluded, nil
	}
	return concluded, f.Enforce(ctx, concluded.Key)
}

// SettlementLeft returns how many units of a redeemed settlement the meter has not charged yet.
func (f *Limits) SettlementLeft(ctx context.Context, s *paymentdb.Settlement) (plan.Units, error) {
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
