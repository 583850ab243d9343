package plan_test

import (
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
)

// TestSale_WhatIsSoldStandsOnTheLadder compares items with the rungs of docs/interface.md, 2.8: the
// same keys, and the same money at once.
func TestSale_WhatIsSoldStandsOnTheLadder(t *testing.T) {
	t.Parallel()
	rungs := map[string]plan.Rung{}
	for _, r := range plan.Ladder() {
		rungs[r.Key] = r
	}
	sold := 0
	for _, item := range plan.Items() {
		rung, ok := rungs[item.Key]
		if !ok || rung.Commitment != item.Price {
			t.Errorf("%s is sold for %s; on the ladder it is %+v", item.Key, item.Price, rung)
		}
		if found, ok := plan.FindItem(item.Key); !ok || found != item {
			t.Errorf("%s is not found as it is listed", item.Key)
		}
		if item.IsPack() == (item.Plan != "") || (item.Plan != "") != (item.Interval != "") {
			t.Errorf("%s is neither a plan nor a pack: %+v", item.Key, item)
		}
		if item.PaidAs != "" {
			regular, ok := plan.FindItem(item.PaidAs)
			in := expect.In(t, "%s lowers the price", item.Key)
			require.True(in, ok)
			expect.Greater(in, regular.Price, item.Price)
			expect.Equal(in, regular.Plan, item.Plan)
		}
		sold++
	}
	for key, rung := range rungs {
		if _, ok := plan.FindItem(key); ok != (rung.Commitment > 0) {
			t.Errorf("%s costs %s at once and is sold: %v", key, rung.Commitment, ok)
		}
	}
	if sold != 11 {
		t.Errorf("%d things are sold", sold)
	}
}

func TestPlans_HaveAnOrder(t *testing.T) {
	t.Parallel()
	in := expect.In(t, "plans are out of order")
	expect.Equal(in, plan.Rank("nothing"), -1)
	expect.Less(in, plan.Rank(plan.Free), plan.Rank(plan.Builder))
	expect.Less(in, plan.Rank(plan.Pro), plan.Rank(plan.Scale))
}
