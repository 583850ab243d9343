package audit

import (
	"context"
	"errors"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
)

// proveSettled compares the units granted to a settlement's account with the settlement, and those
// with what its net amount buys. Their use and expiry are checked with the packs of every account.
func (a *auditor) proveSettled(ctx context.Context, held *accountdb.Account) (*Difference, error) {
	var granted plan.Units
	for _, p := range held.Packs {
		granted += p.Units
	}
	of, err := a.record.FindSettlementOf(ctx, held.ID)
	if errors.Is(err, store.ErrNotFound) {
		return differ(Settled, "an account without its settlement", Side{"granted", Amount(granted)},
			Side{"settled", Amount(0)}), nil
	}
	if err != nil {
		return nil, err
	}
	what := "settlement " + of.ID.String()
	if d := differ(Settled, what, Side{"granted", Amount(granted)}, Side{"settled", Amount(of.Deal.Units)}); d != nil {
		return d, nil
	}
	tier, _ := plan.FindPerCallTier(of.Deal.Tier)
	bought, _ := tier.UnitsFor(of.Deal.Net)
	return differ(Settled, what, Side{"settled", Amount(of.Deal.Units)}, Side{"bought by its net", Amount(bought)}), nil
}
