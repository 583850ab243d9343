package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
)

func rungs() map[string]plan.Rung {
	m := make(map[string]plan.Rung)
	for _, r := range plan.Ladder() {
		m[r.Key] = r
	}
	return m
}

func TestLadder_YearlyIsCheaperThanMonthly(t *testing.T) {
	t.Parallel()
	m := rungs()
	for _, key := range []string{plan.Pro, plan.Scale, plan.Growth} {
		if !m[key+"_yearly"].Cheaper(m[key+"_monthly"]) {
			t.Errorf("%s is not cheaper by the year", key)
		}
	}
}

func TestLadder_PerCallIsTheDearestLane(t *testing.T) {
	t.Parallel()
	m := rungs()
	for key, r := range m {
		if key != "per_call" && !r.Cheaper(m["per_call"]) {
			t.Errorf("%s is not cheaper than per call", key)
		}
	}
}

func TestLadder_NoPackUndercutsAYearlyPlan(t *testing.T) {
	t.Parallel()
	m := rungs()
	for _, pack := range plan.Packs() {
		for _, key := range []string{plan.Pro, plan.Scale, plan.Growth} {
			if !m[key+"_yearly"].Cheaper(m[pack.Key]) {
				t.Errorf("%s undercuts %s by the year", pack.Key, key)
			}
		}
	}
}

func TestLadder_LargerPacksAreCheaperByTheUnit(t *testing.T) {
	t.Parallel()
	m := rungs()
	if !m["pack_l"].Cheaper(m["pack_m"]) || !m["pack_m"].Cheaper(m["pack_s"]) {
		t.Error("price per unit does not fall with the size of the pack")
	}
}

// At its included volume a subscription costs less than any purchase of packs that covers the same
// volume.
func TestLadder_SubscriptionIsCheapestAtItsIncludedVolume(t *testing.T) {
	t.Parallel()
	for _, r := range plan.Ladder() {
		if r.Kind != plan.Subscription {
			continue
		}
		if packs := cheapestPacks(r.Units); r.Price >= packs {
			t.Errorf("%s costs %s, packs for its %s units %s", r.Key, r.Price, r.Units, packs)
		}
	}
}

// cheapestPacks returns the lowest price of packs that together hold at least these units.
func cheapestPacks(units plan.Units) plan.Cents {
	const step = 100_000 * plan.Unit // divides the size of every pack
	best := make([]plan.Cents, units/step+1)
	for have := 1; have < len(best); have++ {
		best[have] = 1 << 40
		for _, p := range plan.Packs() {
			before := max(0, have-int(p.Units/step))
			best[have] = min(best[have], best[before]+p.Price)
		}
	}
	return best[len(best)-1]
}

// The menu of docs/interface.md, 2.8.
func TestMenu_ReproducesEveryFigureOfTheDocument(t *testing.T) {
	t.Parallel()
	want := []struct {
		tier          plan.Tier
		price         plan.Atomic
		usdPerMillion string
		net, most     plan.Atomic
	}{
		{plan.Cheap, 4500, "4.50", 45000, 54000},
		{plan.Balanced, 9000, "9.00", 90000, 108000},
		{plan.Fast, 18000, "18.00", 180000, 216000},
	}
	tiers := plan.PerCallTiers()
	if len(tiers) != len(want) {
		t.Fatalf("%d tiers", len(tiers))
	}
	for i, w := range want {
		t.Run(string(w.tier), func(t *testing.T) {
			got := tiers[i]
			in := expect.In(t, "%s", w.tier)
			expect.Equal(in, got.Tier, w.tier)
			expect.Equal(in, got.PricePer1kUnits, w.price)
			expect.Equal(in, got.CentsPerMillion().String(), w.usdPerMillion)
			expect.Equal(in, got.NetAmountRequired(), w.net)
			expect.Equal(in, got.MaxAmountRequired(), w.most)
			// The price includes the tier's multiplier.
			if got.PricePer1kUnits*1000 != tiers[1].PricePer1kUnits*plan.Atomic(w.tier.Multiplier()) {
				t.Errorf("%s does not cost its multiplier", w.tier)
			}
			if units, capped := got.UnitsFor(got.NetAmountRequired()); units != plan.UnitsPerPayment || capped {
				t.Errorf("%s: the net amount buys %s units", w.tier, units)
			}
		})
	}
	in := expect.In(t, "a constant of the menu differs from the document")
	expect.Equal(in, plan.X402Version, 1)
	expect.Equal(in, plan.X402Scheme, "exact")
	expect.Equal(in, plan.X402Network, "base")
	expect.Equal(in, plan.X402Asset, "USDC")
	expect.Equal(in, plan.UnitsPerPayment, 10000*plan.Unit)
	expect.Equal(in, plan.MaxUnitsPerSettlement, 200000*plan.Unit)
	expect.Equal(in, plan.SettlementWindow.Seconds(), 3600)
}

func TestUnits_PrintAsJSONNumbers(t *testing.T) {
	t.Parallel()
	for u, want := range map[plan.Units]string{
		0: "0", 500: "0.5", 1000: "1", 1: "0.001", 10: "0.01", 1500: "1.5", 999: "0.999", 15_000_000_000: "15000000",
		-500: "-0.5", -1000: "-1", -1: "-0.001", -1 << 63: "-9223372036854775.808", 1<<63 - 1: "9223372036854775.807",
	} {
		t.Run(u.String(), func(t *testing.T) {
			got, err := json.Marshal(u)
			in := expect.In(t, "%d", int64(u))
			require.NoError(in, err)
			expect.Equal(in, string(got), want)
			expect.Equal(in, u.String(), want)
		})
	}
	for c, want := range map[plan.Cents]string{0: "0.00", 5: "0.05", 24917: "249.17", -1: "-0.01", -12345: "-123.45"} {
		t.Run(c.String(), func(t *testing.T) {
			if c.String() != want {
				t.Errorf("%d cents print as %s, want %s", int64(c), c, want)
			}
		})
	}
}
