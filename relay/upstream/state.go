package upstream

import (
	"time"

	"github.com/chainaccess/gateway/relay/chain"
)

// Conditions for a degraded chain. Fewer than judgedCalls calls prove nothing.
const (
	judgedCalls  = 20
	lostOf       = 10              // degraded if more than one in lostOf calls got no answer
	headStandsAt = 3 * time.Minute // degraded if the head has not moved for this long, and for tenBlocks
	tenBlocks    = 10
)

// Why a chain is not up, as stable words for programs; empty if it is up.
const (
	WhyNoUpstream = "no_upstream" // none is usable
	WhyOneLeft    = "one_upstream_left"
	WhyHeadStands = "head_stands_still"
	WhyCallsLost  = "calls_lost"
)

// State returns the chain's state at the last round of probes. slots, the newest last, are what
// became of its calls in the meantime. State does not check the age of the measurement.
func (p *Posted) State(slots []Slot) (state chain.State, why string) {
	if !p.Known {
		return chain.Unknown, ""
	}
	s, usable := &p.Snapshot, 0
	for i := range s.Upstreams {
		if _, cordoned := p.Cordons[s.Upstreams[i].Name]; s.Upstreams[i].Usable && !cordoned {
			usable++
		}
	}
	state, why = stateBy(usable, len(s.Upstreams))
	switch {
	case state != chain.Up:
	case s.headStands():
		return chain.Degraded, WhyHeadStands
	case callsLost(slots):
		return chain.Degraded, WhyCallsLost
	}
	return state, why
}

// State returns the chain's state as this process sees it: from probes and its own exclusions.
func (c *Condition) State() (state chain.State, why string) { return stateBy(c.Usable, c.Upstreams) }

func stateBy(usable, of int) (state chain.State, why string) {
	switch {
	case usable == 0:
		return chain.Down, WhyNoUpstream
	case usable == 1 && of > 1:
		return chain.Degraded, WhyOneLeft
	}
	return chain.Up, ""
}

// headStands reports whether the head has stopped: the chain makes no blocks, or all upstreams
// stopped following it.
func (s *Snapshot) headStands() bool {
	c, ok := chain.Lookup(string(s.Chain))
	return ok && !s.HeadAt.IsZero() && s.MeasuredAt.Sub(s.HeadAt) > max(headStandsAt, tenBlocks*c.BlockTime)
}

// callsLost reports whether too many calls got no answer, in the newest slot with at least
// judgedCalls calls.
func callsLost(slots []Slot) bool {
	for i := len(slots) - 1; i >= 0; i-- {
		if s := &slots[i]; s.Calls >= judgedCalls {
			return s.Lost*lostOf > s.Calls
		}
	}
	return false
}
