package plan

// breakEvenReach is how many units past a volume are looked at: twice the largest plan.
const breakEvenReach = 400_000_000 * Unit

// NextLane finds the least volume of a month above the one given, in whole units, from which one of
// others costs less than from, or is the cheapest that covers the volume where from does not any
// more. ok is false when none does within 400,000,000 units. It compares exact costs in cents.
func NextLane(from Rung, others []Rung, volume Units) (next Rung, at Units, ok bool) {
	low := (max(volume, 0) + Unit - 1) / Unit // the greatest number of whole units at which from is known to be as good
	// Costs change at multiples of packStep only, but for what is paid by the call, which rises in
	// between: so one search within a step finds the unit.
	for edge := volume/packStep*packStep + packStep; edge <= volume+breakEvenReach; edge += packStep {
		high := edge / Unit
		if _, cheaper := cheaperAt(from, others, edge); !cheaper {
			low = high
			continue
		}
		for high-low > 1 {
			middle := low + (high-low)/2
			if _, cheaper := cheaperAt(from, others, middle*Unit); cheaper {
				high = middle
			} else {
				low = middle
			}
		}
		next, _ = cheaperAt(from, others, high*Unit)
		return next, high * Unit, true
	}
	return Rung{}, 0, false
}

// cheaperAt is the cheapest of others that costs less than from at a volume; of equal ones that
// with the least paid at once.
func cheaperAt(from Rung, others []Rung, volume Units) (best Rung, found bool) {
	least, covered := from.Cost(volume)
	for _, r := range others {
		cost, covers := r.Cost(volume)
		better := !covered || cost < least || found && cost == least && r.Commitment < best.Commitment
		if covers && better {
			best, least, covered, found = r, cost, true, true
		}
	}
	return best, found
}
