package plan

import (
	"slices"
	"time"
)

// The constants of the pay-per-call menu (docs/interface.md, 2.8, pay-per-call lane).
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

// PerCallTiers lists the menu's tiers from the cheapest to the dearest.
func PerCallTiers() []PerCallTier { return slices.Clone(perCallTiers) }

// perCallRate is twice what the largest settlement needs to be used up evenly within its window,
// rounded to tens.
var perCallRate = RateWindow{110, time.Second}

// perCallPlans are what settlements have while their window lasts: nothing but what was paid for,
// at the supply of their tier.
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

// ForTier is the plan of settlements of a tier.
func ForTier(tier Tier) (Plan, bool) {
	for _, p := range perCallPlans {
		if p.Tier == tier {
			return p, true
		}
	}
	return Plan{}, false
}

// FindPerCallTier finds the menu's entry of a tier.
func FindPerCallTier(tier Tier) (PerCallTier, bool) {
	for _, t := range perCallTiers {
		if t.Tier == tier {
			return t, true
		}
	}
	return PerCallTier{}, false
}

// CentsPerMillion is the price of a million units: atomic units are ten-thousandths of a cent, a
// million is a thousand thousands.
func (t PerCallTier) CentsPerMillion() Cents { return Cents(t.PricePer1kUnits / 10) }

// NetAmountRequired is the price of UnitsPerPayment without VAT: the least a settlement must pay.
func (t PerCallTier) NetAmountRequired() Atomic {
	return t.PricePer1kUnits * Atomic(UnitsPerPayment/Unit) / 1000
}

// MaxAmountRequired is NetAmountRequired with VAT.
func (t PerCallTier) MaxAmountRequired() Atomic { return AddVAT(t.NetAmountRequired()) }

// UnitsFor is what a net payment buys: floor(net × 1000 / price) whole units, at most
// MaxUnitsPerSettlement; capped says that it would have been more.
func (t PerCallTier) UnitsFor(net Atomic) (units Units, capped bool) {
	const most = Atomic(MaxUnitsPerSettlement / Unit)
	// A thousandth of the cap's price first, so that the product below cannot overflow.
	if net/t.PricePer1kUnits > most/1000 {
		return MaxUnitsPerSettlement, true
	}
	bought := max(net, 0) * 1000 / t.PricePer1kUnits
	if bought > most {
		return MaxUnitsPerSettlement, true
	}
	return Units(bought) * Unit, false
}
