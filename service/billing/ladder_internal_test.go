package billing

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
)

func TestLadder_ZeroUsageNeedsNoPurchaseToBeCheapest(t *testing.T) {
	t.Parallel()
	h := NewPrices(nil, x402.Terms{Chain: 8453, PayTo: wallet.Address{1}}, false,
		func() time.Time { return plan.Founding().Ends })
	for _, c := range []struct {
		volume            plan.Units
		cheapest, premium string
	}{
		{0, plan.Free, "pack_s"},
		{900_000 * plan.Unit, plan.Free, "pack_s"},
		{1_050_000 * plan.Unit, "per_call", "pack_s"},
		{5_000_000 * plan.Unit, plan.Builder, "pack_s"},
	} {
		t.Run(c.cheapest, func(t *testing.T) {
			var ladder PriceLadder
			for _, r := range plan.Ladder() {
				if r.Live {
					ladder.add(h.rungOf(&r, c.volume, plan.Founding().Seats), "")
				}
			}
			if ladder.Cheapest != c.cheapest || ladder.Premium != c.premium {
				t.Errorf("%s units: cheapest is %s, of premium supply %s; want %s and %s", c.volume, ladder.Cheapest,
					ladder.Premium, c.cheapest, c.premium)
			}
		})
	}
}

// The price list counts pay per call as premium, but its calls are served by the wholesale supply
// of the menu.
func TestLadder_EveryRungIsServedAsItsPlanPackOrTierIs(t *testing.T) {
	t.Parallel()
	h := NewPrices(nil, x402.Terms{}, false, time.Now)
	for _, r := range plan.Ladder() {
		rung, want := h.rungOf(&r, 0, 0), r.Supply
		if r.Kind == plan.PerCall {
			held, _ := plan.ForTier(plan.Balanced)
			want = held.Supply
		}
		if rung.Served() != want || rung.Supply != r.Supply {
			t.Errorf("%s is said to be served from %s, want %s; its row says %s, want %s", r.Key, rung.Served(), want,
				rung.Supply, r.Supply)
		}
	}
}
