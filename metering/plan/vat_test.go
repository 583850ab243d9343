package plan_test

import (
	"fmt"
	"math"
	"math/big"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
)

func TestVAT_FollowsThePayersLocation(t *testing.T) {
	t.Parallel()
	for country, want := range map[string]bool{
		"": true, "DE": true, "de": true, "FR": true, "GR": true, "EL": true, "HR": true, "IE": true, "SE": true,
		"CY": true, "XX": true, "T1": true, "ZZ": true, "EU": true, "A1": true, "D": true, "DEU": true, "??": true,
		"QQ": true, "ÄÖ": true, "US": false, "GB": false, "CH": false, "NO": false, "UA": false, "JP": false,
		"QA": false, "XK": false, "IS": false, "TR": false,
	} {
		t.Run(country, func(t *testing.T) {
			if got := plan.VATApplies(country); got != want {
				t.Errorf("VAT for %q is %v, want %v", country, got, want)
			}
		})
	}
	members := "AT BE BG HR CY CZ DK EE FI FR DE GR HU IE IT LV LT LU MT NL PL PT RO SK SI ES SE"
	for i := 0; i < len(members); i += 3 {
		if !plan.VATApplies(members[i : i+2]) {
			t.Errorf("no VAT for %s", members[i:i+2])
		}
	}
}

func TestVAT_IsSplitExactly(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		paid    plan.Atomic
		applies bool
		net     plan.Atomic
	}{
		{108000, true, 90000},
		{108000, false, 108000},
		{90000, true, 75000},
		{1, true, 0},
		{5, true, 4},
		{6, true, 5},
		{7, true, 5},
		{119, true, 99},
		{120, true, 100},
		{121, true, 100},
		{0, true, 0},
		{math.MaxInt64, false, math.MaxInt64},
	} {
		t.Run(fmt.Sprint(tc.paid), func(t *testing.T) {
			net, vat := plan.SplitVAT(tc.paid, tc.applies)
			if net != tc.net || net+vat != tc.paid {
				t.Errorf("%d (VAT %v) splits into %d and %d, want %d", tc.paid, tc.applies, net, vat, tc.net)
			}
		})
	}
}

func TestUnits_BoughtAreRoundedDownAndCapped(t *testing.T) {
	t.Parallel()
	balanced, _ := plan.FindPerCallTier(plan.Balanced)
	for _, tc := range []struct {
		net    plan.Atomic
		units  plan.Units
		capped bool
	}{
		{0, 0, false},
		{-5, 0, false},
		{8, 0, false},
		{9, 1 * plan.Unit, false},
		{17, 1 * plan.Unit, false},
		{90000, 10_000 * plan.Unit, false},
		{1_799_999, 199_999 * plan.Unit, false},
		{1_800_000, 200_000 * plan.Unit, false},
		{1_800_008, 200_000 * plan.Unit, false},
		{1_800_009, 200_000 * plan.Unit, true},
		{math.MaxInt64, 200_000 * plan.Unit, true},
	} {
		t.Run(fmt.Sprint(tc.net), func(t *testing.T) {
			if units, capped := balanced.UnitsFor(tc.net); units != tc.units || capped != tc.capped {
				t.Errorf("%d buys %s (capped %v), want %s (%v)", tc.net, units, capped, tc.units, tc.capped)
			}
		})
	}
}

// FuzzPaymentArithmetic compares VAT and units with exact arithmetic for every payment that fits.
func FuzzPaymentArithmetic(f *testing.F) {
	for _, paid := range []int64{
		0, 1, 5, 6, 7, 119, 120, 54000, 108000, 216000, 2_160_000, 2_160_011, math.MaxInt64, math.MaxInt64 - 1,
	} {
		f.Add(paid)
	}
	f.Fuzz(func(t *testing.T, paid int64) {
		if paid < 0 {
			return
		}
		net, vat := plan.SplitVAT(plan.Atomic(paid), true)
		want := new(big.Int).Mul(big.NewInt(paid), big.NewInt(5))
		want.Div(want, big.NewInt(6))
		in := expect.In(t, "%d", paid)
		require.Equal(in, int64(net), want.Int64())
		require.Equal(in, int64(net+vat), paid)
		require.AtLeast(in, vat, 0)
		if paid < math.MaxInt64/40 {
			gross := plan.AddVAT(net)
			if back, _ := plan.SplitVAT(gross, true); back < net || gross > plan.Atomic(paid) {
				t.Fatalf("%d with VAT is %d, of which %d is net, paid were %d", net, gross, back, paid)
			}
		}
		for _, tier := range plan.PerCallTiers() {
			units, capped := tier.UnitsFor(net)
			exact := new(big.Int).Mul(big.NewInt(int64(net)), big.NewInt(1000))
			exact.Div(exact, big.NewInt(int64(tier.PricePer1kUnits)))
			if over := exact.Cmp(big.NewInt(200_000)) > 0; over != capped ||
				(!over && int64(units) != exact.Int64()*1000) {
				t.Fatalf("net %d at %s buys %s (capped %v), exactly %s", net, tier.Tier, units, capped, exact)
			}
			if units%plan.Unit != 0 || units > plan.MaxUnitsPerSettlement {
				t.Fatalf("net %d buys %s units", net, units)
			}
		}
	})
}
