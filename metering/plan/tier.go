package plan

// Tier selects among the upstreams of a supply class, and sets the multiplier of a relay call's
// units.
type Tier string

// The route tiers. Balanced is the default.
const (
	Cheap    Tier = "cheap"
	Balanced Tier = "balanced"
	Fast     Tier = "fast"
)

// Tiers lists the tiers from the cheapest to the most expensive.
func Tiers() []Tier { return []Tier{Cheap, Balanced, Fast} }

// ParseTier parses the value of a tier header or argument. The empty string is Balanced, the
// default. ok is false for anything that is not exactly a tier's name.
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

// Multiplier returns the factor of a call's weight (docs/interface.md, 2.8.3).
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

// Cost returns the units of a relay call of a bearer key: its weight in whole units times the
// tier's multiplier. In the pay-per-call lane the tier's price includes the multiplier already, so
// calls there cost what Balanced costs.
func Cost(weight int, tier Tier) Units {
	return Units(weight) * Unit * Units(tier.Multiplier()) / 1000
}
