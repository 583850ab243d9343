package plan

// Tier chooses among the upstreams of a supply class, and sets the multiplier of a relay call's
// units.
type Tier string

// The route tiers. Balanced is the default.
const (
	Cheap    Tier = "cheap"
	Balanced Tier = "balanced"
	Fast     Tier = "fast"
)

// Tiers lists the tiers from the cheapest to the dearest.
func Tiers() []Tier { return []Tier{Cheap, Balanced, Fast} }

// ParseTier reads the value of a tier header or argument. The empty string is Balanced, the
// default; anything else that is not exactly a tier's name is refused by ok.
func ParseTier(s string) (tier Tier, ok bool) {
	switch Tier(s) {
	case "", Balanced:
		return Balanced, true
	case Cheap:
		return Cheap, true
	case Fast:
		return Fast, true
	default:
		return "", false
	}
}

// Multiplier is what a call's weight is multiplied with (docs/interface.md, 2.8, route
// tiers).
func (t Tier) Multiplier() Thousandths {
	switch t {
	case Cheap:
		return 500
	case Fast:
		return 2000
	case Balanced:
		return 1000
	default:
		return 1000
	}
}

// Cost is what a relay call of a bearer key takes: its weight in whole units times the tier's
// multiplier. On the pay-per-call lane the tier's price carries the multiplier already: there the
// cost is that of Balanced.
func Cost(weight int, tier Tier) Units {
	return Units(weight) * Unit * Units(tier.Multiplier()) / 1000
}
