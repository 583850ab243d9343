package plan

import (
	"slices"
	"time"
)

// The constants of the pay-per-call menu (docs/interface.md, 2.8.4).
const (
	X402Version           = 1
	X402Scheme            = "exact"
	X402Network           = "base"
	X402Asset             = "USDC"
	UnitsPerPayment       = 10_000 * Unit
	MaxUnitsPerSettlement = 200_000 * Unit
	SettlementWindow      = 3600 * time.Second
)

// PerCallTier is one tier of the menu.
type PerCallTier struct {
	Tier  Tier
	Label string
	// PricePer1kUnits is net, in atomic USDC for 1,000 units.
	PricePer1kUnits Atomic
	Supply          Supply
}

var perCallTiers = []PerCallTier{
	{Tier: Cheap, Label: "public-pool supply, best effort", PricePer1kUnits: 4_500, Supply: Public},
	{Tier: Balanced, Label: "wholesale blend, health-scored routing", PricePer1kUnits: 9_000, Supply: Wholesale},
	{Tier: Fast, Label: "premium slice, lowest measured latency", PricePer1kUnits: 18_000, Supply: Premium},
}

// PerCallTiers lists the menu's tiers from the cheapest to the most expensive.
func PerCallTiers() []PerCallTier { return slices.Clone(perCallTiers) }

// perCallRate is twice the rate at which the largest settlement is used up evenly within its
// window, rounded to tens.
var perCallRate = RateWindow{110, time.Second}

// perCallPlans are the plans of settlements while their window lasts: no quota, only the supply of
// their tier. The units paid for are a pack.
var perCallPlans = func() []Plan {
	all := make([]Plan, len(perCallTiers))
	for i, t := range perCallTiers {
		all[i] = Plan{
			Key: string(PerCall) + "_" + string(t.Tier), Title: "Pay per call, " + string(t.Tier), Kind: PerCall,
			Period: Monthly, Rate: perCallRate, Supply: t.Supply, Tier: t.Tier,
		}
	}
	return all
}()

// ForTier returns the plan of settlements of a tier.
func ForTier(tier Tier) (Plan, bool) {
	for _, p := range perCallPlans {
		if p.Tier == tier {
			return p, true
		}
	}
	return Plan{}, false
}

// FindPerCallTier returns the menu's entry of a tier.
func FindPerCallTier(tier Tier) (PerCallTier, bool) {
	for _, t := range perCallTiers {
		if t.Tier == tier {
			return t, true
		}
	}
	return PerCallTier{}, false
}

// CentsPerMillion returns the price of a million units. An atomic unit is a ten-thousandth of a
// cent, and a million is a thousand thousands.
func (t PerCallTier) CentsPerMillion() Cents { return Cents(t.PricePer1kUnits / 10) }

// NetAmountRequired returns the price of UnitsPerPayment without VAT: the minimum that a settlement
// must pay.
func (t PerCallTier) NetAmountRequired() Atomic {
	return t.PricePer1kUnits * Atomic(UnitsPerPayment/Unit) / 1000
}

// MaxAmountRequired returns NetAmountRequired with VAT.
func (t PerCallTier) MaxAmountRequired() Atomic { return AddVAT(t.NetAmountRequired()) }

// UnitsFor returns what a net payment buys: floor(net × 1000 / price) whole units, at most
// MaxUnitsPerSettlement. capped reports whether that limit applied.
func (t PerCallTier) UnitsFor(net Atomic) (units Units, capped bool) {
	const maxUnits = Atomic(MaxUnitsPerSettlement / Unit)
	// A thousandth of the cap's price first, so that the product below cannot overflow.
	if net/t.PricePer1kUnits > maxUnits/1000 {
		return MaxUnitsPerSettlement, true
	}
	bought := max(net, 0) * 1000 / t.PricePer1kUnits
	if bought > maxUnits {
		return MaxUnitsPerSettlement, true
	}
	return Units(bought) * Unit, false
}
