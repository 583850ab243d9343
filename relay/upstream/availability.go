package upstream

import (
	"time"

	"github.com/chainaccess/gateway/relay/chain"
)

// Availability says whether a chain has what a service needs of its upstreams, as far as the probes
// know.
type Availability uint8

// The standings, from the least that is known to the best.
const (
	// Unmeasured: no upstream is known to be capable, and not all are known to lack it. A call may
	// be tried.
	Unmeasured Availability = iota
	// Absent: every upstream that is of the chain was asked, and lacks it.
	Absent
	// Away: some upstream has it, but none of those can be used now; one that is cordoned cannot.
	Away
	// Live: an upstream that has it can be used.
	Live
)

// Availability tells how the chain stands with a capability.
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

// availability is the standing of one upstream. One of another chain does not count.
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
