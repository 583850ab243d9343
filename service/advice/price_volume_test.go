package advice_test

import (
	"testing"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/advice"
	"github.com/chainaccess/gateway/service/billing"
	"github.com/chainaccess/gateway/service/internal/servicetest"
)

// Callers without an account get the same prices as the rungs, and the cheapest of them.
func TestPriceVolume_AnswersAnybody(t *testing.T) {
	t.Parallel()
	o := servicetest.Advisers(t, nil)
	for i, c := range []struct {
		units    int64
		cheapest string
	}{
		{0, "free"},
		{1_000_000, "free"},
		{5_000_000, "builder"},
		{60_000_000, "scale_yearly"},
		{1_000_000_000_000, "growth_yearly"},
	} {
		t.Run(c.cheapest, func(t *testing.T) {
			l := servicetest.Must[billing.PriceLadder](t)(o.PriceVolume.Invoke(o.Ctx, servicetest.Neighbour(i),
				advice.PriceVolumeInput{Units: c.units}))
			in := expect.In(t, "%d units are priced", c.units)
			require.Len(in, l.Rungs, len(plan.Ladder()))
			require.Equal(in, l.Volume, plan.Units(c.units)*plan.Unit)
			require.Equal(in, l.Current, "")
			if l.Cheapest != c.cheapest {
				t.Errorf("at %d units %s is the cheapest, want %s", c.units, l.Cheapest, c.cheapest)
			}
			for j, r := range plan.Ladder() {
				cost, covered := r.Cost(l.Volume)
				got := &l.Rungs[j]
				in := expect.In(t, "%s at %d", r.Key, c.units)
				expect.Equal(in, got.Key, r.Key)
				expect.Equal(in, plan.Cents(got.AtVolume), cost)
				expect.Equal(in, got.Covered, covered)
				expect.False(in, got.Current)
				expect.Equal(in, got.Cheapest, got.Key == l.Cheapest)
			}
		})
	}
	for i, wrong := range []any{nil, "x", -1.0, 1.5, 1e13, true} {
		o.Refuses(t, o.PriceVolume, servicetest.Neighbour(20+i), map[string]any{"units": wrong}, fault.FieldRefused)
	}
	o.Refuses(t, o.PriceVolume, servicetest.Neighbour(40), map[string]any{}, fault.FieldRefused)
	if !o.PriceVolume.Meta().PerNetwork {
		t.Error("nothing bounds how often it is asked")
	}
}
