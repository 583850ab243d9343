package service_test

import (
	"testing"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
)

// Callers without an account get the same prices as the rungs, and the cheapest of them.
func TestPriceVolume_AnswersAnybody(t *testing.T) {
	t.Parallel()
	o := advisers(t, nil)
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
		l := must[service.PriceLadder](t)(o.PriceVolume.Invoke(o.ctx, neighbour(i),
			service.PriceVolumeInput{Units: c.units}))
		if len(l.Rungs) != len(plan.Ladder()) || l.Volume != plan.Units(c.units)*plan.Unit || l.Current != "" {
			t.Fatalf("%d units are priced %+v", c.units, l)
		}
		if l.Cheapest != c.cheapest {
			t.Errorf("at %d units %s is the cheapest, want %s", c.units, l.Cheapest, c.cheapest)
		}
		for j, r := range plan.Ladder() {
			cost, covered := r.Cost(l.Volume)
			got := &l.Rungs[j]
			if got.Key != r.Key || plan.Cents(got.AtVolume) != cost || got.Covered != covered || got.Current ||
				got.Cheapest != (got.Key == l.Cheapest) {
				t.Errorf("%s at %d units is %+v, want %s", r.Key, c.units, got, cost)
			}
		}
	}
	for i, wrong := range []any{nil, "x", -1.0, 1.5, 1e13, true} {
		o.refuses(t, o.PriceVolume, neighbour(20+i), map[string]any{"units": wrong}, fault.FieldRefused)
	}
	o.refuses(t, o.PriceVolume, neighbour(40), map[string]any{}, fault.FieldRefused)
	if !o.PriceVolume.Meta().PerNetwork {
		t.Error("nothing bounds how often it is asked")
	}
}
