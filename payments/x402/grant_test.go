package x402_test

import (
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
)

// payment draws an amount that a log may contain: amounts near those of the menu, and any other
// int64.
func payment(r *rand.Rand) plan.Atomic {
	edges := []int64{
		0, 1, 44_999, 45_000, 53_999, 54_000, 90_000, 107_999, 108_000, 180_000, 216_000, 900_000,
		1_080_000, 4_320_000, 1<<62 - 1,
	}
	switch r.IntN(4) {
	case 0:
		return plan.Atomic(edges[r.IntN(len(edges))])
	case 1:
		return plan.Atomic(r.Int64N(400_000))
	case 2:
		return plan.Atomic(r.Int64N(5_000_000))
	default:
		return plan.Atomic(r.Int64N(1 << 62))
	}
}

func TestGrant_SplitsNetAndVATAndNeverExceedsWhatTheNetBuys(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 0))
	tiers, countries := plan.PerCallTiers(), []string{"", "DE", "US", "GR", "EL", "CH", "XX", "T1", "de", "GB"}
	for range 200_000 {
		paid, tier, country := payment(r), tiers[r.IntN(len(tiers))], countries[r.IntN(len(countries))]
		d, enough := x402.Price(paid, tier, country)
		if wrong := judge(paid, tier, country, d, enough); wrong != "" {
			t.Fatalf("%d on %s from %q: %+v, %t: %s (seed %d)", paid, tier.Tier, country, d, enough, wrong, seed)
		}
	}
}

// judge computes with big integers, independently of the code's overflow handling.
func judge(paid plan.Atomic, tier plan.PerCallTier, country string, d x402.Deal, enough bool) string {
	net := new(big.Int).Quo(new(big.Int).Mul(big.NewInt(int64(paid)), big.NewInt(5)), big.NewInt(6))
	if !plan.VATApplies(country) {
		net = big.NewInt(int64(paid))
	}
	bought := new(big.Int).Quo(new(big.Int).Mul(net, big.NewInt(1000)), big.NewInt(int64(tier.PricePer1kUnits)))
	limit := big.NewInt(int64(plan.MaxUnitsPerSettlement / plan.Unit))
	capped := bought.Cmp(limit) > 0
	if capped {
		bought = limit
	}
	switch {
	case d.Net+d.VAT != paid || d.VAT < 0:
		return "net and VAT are not what was paid"
	case net.Cmp(big.NewInt(int64(d.Net))) != 0:
		return "net is not " + net.String()
	case d.Units%plan.Unit != 0 || bought.Cmp(big.NewInt(int64(d.Units/plan.Unit))) != 0 || d.Capped != capped:
		return "it buys " + bought.String()
	case enough != (paid >= tier.NetAmountRequired()) || (enough && d.Units <= 0):
		return "enough is not so"
	}
	return ""
}

func TestGrant_PaymentsOfTheMenuBuyWhatTheMenuSays(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		tier    plan.Tier
		paid    plan.Atomic
		country string
		want    x402.Deal
		enough  bool
	}{
		{plan.Balanced, 108_000, "", x402.Deal{Net: 90_000, VAT: 18_000, Units: 10_000 * plan.Unit}, true},
		{plan.Balanced, 108_000, "DE", x402.Deal{Net: 90_000, VAT: 18_000, Units: 10_000 * plan.Unit}, true},
		{plan.Balanced, 90_000, "US", x402.Deal{Net: 90_000, Units: 10_000 * plan.Unit}, true},
		{plan.Balanced, 90_000, "FR", x402.Deal{Net: 75_000, VAT: 15_000, Units: 8_333 * plan.Unit}, true},
		{plan.Balanced, 89_999, "US", x402.Deal{Net: 89_999, Units: 9_999 * plan.Unit}, false},
		{plan.Cheap, 45_000, "CH", x402.Deal{Net: 45_000, Units: 10_000 * plan.Unit}, true},
		{plan.Fast, 3_600_001, "US", x402.Deal{Net: 3_600_001, Units: 200_000 * plan.Unit}, true},
		{plan.Fast, 3_600_018, "US", x402.Deal{Net: 3_600_018, Units: 200_000 * plan.Unit, Capped: true}, true},
		{plan.Fast, 1_000_000_000_000, "XX", x402.Deal{
			Net: 833_333_333_333, VAT: 166_666_666_667, Units: 200_000 * plan.Unit, Capped: true,
		}, true},
	} {
		t.Run(string(row.tier), func(t *testing.T) {
			tier, _ := plan.FindPerCallTier(row.tier)
			row.want.Tier, row.want.Country, row.want.Paid = row.tier, row.country, row.paid
			if d, enough := x402.Price(row.paid, tier, row.country); d != row.want || enough != row.enough {
				t.Errorf("%d on %s from %q: %+v, %t; want %+v, %t", row.paid, row.tier, row.country, d, enough,
					row.want,
					row.enough)
			}
		})
	}
}

func TestHash_IsReadInAnyCaseAndWrittenInLowerCase(t *testing.T) {
	t.Parallel()
	const text = "0xABcdef0000000000000000000000000000000000000000000000000000000001"
	h, ok := x402.ParseTxHash(text)
	if !ok || h.String() != "0xabcdef0000000000000000000000000000000000000000000000000000000001" {
		t.Errorf("%q is read as %s, %t", text, h, ok)
	}
	for _, bad := range []string{
		"", "0x", text[2:], text + "0", text[:65], "0X" + text[2:], text[:65] + "g", " " + text[1:], text[:64] + "é",
	} {
		if h, ok := x402.ParseTxHash(bad); ok {
			t.Errorf("%q is read as %s", bad, h)
		}
	}
}
