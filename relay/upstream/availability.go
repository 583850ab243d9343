package upstream

import (
	"time"

	"github.com/chainaccess/gateway/relay/chain"
)

// Availability reports whether a chain's upstreams have a capability, as far as the probes know.
type Availability uint8

// The values, in ascending order of what is known.
const (
	// Unmeasured: no upstream is known to have the capability, and not all are known to lack it. A
	// call may be tried.
	Unmeasured Availability = iota
	// Absent: every upstream of the chain was probed, and lacks it.
	Absent
	// Away: some upstream has it, but none of those is usable now. A cordoned upstream is not
	// usable.
	Away
	// Live: a usable upstream has it.
	Live
)

// Availability returns the chain's availability of a capability.
func (c *Chain) Availability(of chain.Capability) Availability {
	now, best, open := c.now(), Unmeasured, false
	for _, e := range c.eligible() {
		stands, counts := e.availability(of, now)
		if !counts {
			continue
		}
		best, open = max(best, stands), open || stands == Unmeasured
	}
	if best == Absent && open {
		return Unmeasured
	}
	return best
}

// availability returns the value for one upstream. counts is false for an upstream of another
// chain.
func (e *Endpoint) availability(of chain.Capability, now time.Time) (stands Availability, counts bool) {
	s := e.state.Load()
	if s == nil {
		return Unmeasured, true
	}
	if s.Reason == ReasonWrongChain {
		return Unmeasured, false
	}
	switch able, known := s.Capable(of, now); {
	case !known:
		return Unmeasured, true
	case !able:
		return Absent, true
	case !s.Usable || e.cordoned.Load():
		return Away, true
	}
	return Live, true
}
