package view

import (
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
)

func TestChart_FitsAnyUsage(t *testing.T) {
	t.Parallel()
	for _, limit := range []plan.Units{
		0, 1, plan.Unit, 2 * plan.Unit, 2*plan.Unit + 1, 10 * plan.Unit, 61_000 * plan.Unit,
		1_000_000_000_000 * plan.Unit,
	} {
		ceiling := niceCeiling(limit)
		in := expect.In(t, "the scale for %d", limit)
		expect.AtLeast(in, ceiling, limit)
		expect.Equal(in, ceiling%(2*plan.Unit), 0)
		if limit > 2*plan.Unit {
			expect.AtMost(in, ceiling, 4*limit)
		}
		if h := height(limit, ceiling); h > chartHeight || limit > 0 && h < leastBar {
			t.Errorf("%d of %d is drawn %d high", limit, ceiling, h)
		}
	}
	if c := testReader().NewChart(nil); len(c.Bars) != 0 || c.Width != 0 {
		t.Errorf("a chart of no days is %+v", c)
	}
}
