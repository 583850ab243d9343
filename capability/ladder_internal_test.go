package capability

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/plan"
	"github.com/chainaccess/gateway/wallet"
	"github.com/chainaccess/gateway/x402"
)

func TestWithoutUsageNothingHasToBeBoughtToBeCheapest(t *testing.T) {
	t.Parallel()
	h := &house{Options: Options{
		Now: func() time.Time { return plan.Founding().Ends }, Terms: x402.Terms{Chain: 8453, PayTo: wallet.Address{1}},
	}}
	for _, c := range []struct {
		volume            plan.Units
		cheapest, premium string
	}{
		{0, plan.Free, "per_call"},
		{900_000 * plan.Unit, plan.Free, "per_call"},
		{5_000_000 * plan.Unit, plan.Builder, "per_call"},
	} {
		var ladder PriceLadder
		for _, r := range plan.Ladder() {
			if r.Live {
				ladder.add(h.rungOf(&r, c.volume, plan.Founding().Seats), "")
			}
		}
		if ladder.Cheapest != c.cheapest || ladder.Premium != c.premium {
			t.Errorf("%s units: cheapest is %s, of premium supply %s; want %s and %s", c.volume, ladder.Cheapest, ladder.Premium, c.cheapest, c.premium)
		}
	}
}
