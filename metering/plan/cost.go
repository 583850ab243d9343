package plan

import "sync"

// Cost returns what a monthly volume costs on a rung, net: its price, and packs for what exceeds
// its units. covered is false when the rung cannot serve the volume: free plans refuse beyond their
// units, and a flat plan slows down; cost is then their price.
func (r Rung) Cost(volume Units) (cost Cents, covered bool) {
	volume = max(volume, 0)
	beyond := max(0, volume-r.Units)
	switch r.Kind {
	case Subscription:
		return r.Price + PacksFor(beyond), true
	case PackKind:
		n := (volume + r.Units - 1) / r.Units
		return Cents(n) * r.Price, true
	case PerCall:
		// In parts of at most a billion units, so that the product stays within 64 bits.
		const part = 1_000_000_000 * Unit
		whole, rest := volume/part, volume%part
		million := 1_000_000 * Unit
		return Cents(whole)*Cents(part/million)*r.Price + (Cents(rest)*r.Price+Cents(million)-1)/Cents(million), true
	case Flat, FreeKind:
		return r.Price, beyond == 0
	default:
		return 0, false
	}
}

// packStep divides the units of every pack.
const packStep = 100_000 * Unit

// PacksFor returns the lowest price of packs that together hold at least these units; 0 for none.
func PacksFor(units Units) Cents {
	if units <= 0 {
		return 0
	}
	largest := packs[len(packs)-1]
	// The largest pack is the cheapest per unit, so beyond two of them every further pack is one of
	// those.
	whole := max(0, units/largest.Units-2)
	rest := units - whole*largest.Units
	return Cents(whole)*largest.Price + leastPrices()[(rest+packStep-1)/packStep]
}

// leastPrices returns, for each number of packSteps up to three of the largest pack, the lowest
// price of packs that hold at least that many.
var leastPrices = sync.OnceValue(func() []Cents {
	best := make([]Cents, 3*packs[len(packs)-1].Units/packStep+1)
	for have := 1; have < len(best); have++ {
		best[have] = -1
		for _, p := range packs {
			with := best[max(0, have-int(p.Units/packStep))] + p.Price
			if best[have] < 0 || with < best[have] {
				best[have] = with
			}
		}
	}
	return best
})
