package upstream

import (
	"time"

	"github.com/chainaccess/gateway/relay/chain"
)

// Standing says whether a chain has what a service needs of its upstreams, as far as the probes
// know.
type Standing uint8

// The standings, from the least that is known to the best.
const (
	// Unmeasured: no upstream is known to be capable, and not all are known to lack it. A call may
	// be tried.
	Unmeasured Standing = iota
	// Absent: every upstream that is of the chain was asked, and lacks it.
	Absent
	// Away: some upstream has it, but none of those can be used now; one that is cordoned cannot.
	Away
	// Live: an upstream that has it can be used.
	Live
)

// Standing tells how the chain stands with a capability.
func (c *Chain) Standing(of chain.Capability) Standing {
	now, best, open := c.now(), Unmeasured, false
	for _, e := range c.eligible() {
		stands, counts := e.standingWith(of, now)
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

// standingWith is the standing of one upstream. One of another chain does not count.
func (e *Endpoint) standingWith(of chain.Capability, now time.Time) (stands Standing, counts bool) {
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
