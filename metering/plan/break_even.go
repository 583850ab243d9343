package plan

// breakEvenReach is how many units above the volume NextLane searches: twice the largest plan.
const breakEvenReach = 400_000_000 * Unit

// NextLane returns the smallest monthly volume above volume, in whole units, from which one of
// others costs less than from, or from which from no longer covers the volume and one of others
// does. ok is false when there is none within breakEvenReach. Costs are compared exactly, in cents.
func NextLane(from Rung, others []Rung, volume Units) (next Rung, at Units, ok bool) {
	low := (max(volume, 0) + Unit - 1) / Unit // the largest number of whole units at which from is known to be as good
	// Costs change only at multiples of packStep, except paying per call, which rises in between:
	// so one binary search within a step finds the unit.
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

// cheaperAt returns the cheapest of others that costs less than from at a volume, and of equal ones
// the one with the smallest commitment.
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
