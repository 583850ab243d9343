package upstream

import (
	"time"

	"github.com/chainaccess/gateway/relay/chain"
)

// What makes a chain degraded. Nobody is judged by fewer than judgedCalls.
const (
	judgedCalls  = 20
	lostOf       = 10              // one of so many calls that no upstream answered
	headStandsAt = 3 * time.Minute // a head that has not moved for so long, and not for tenBlocks
	tenBlocks    = 10
)

// Why a chain is not up, in words for programs; empty when it is.
const (
	WhyNoUpstream = "no_upstream" // none can be used
	WhyOneLeft    = "one_upstream_left"
	WhyHeadStands = "head_stands_still"
	WhyCallsLost  = "calls_lost"
)

// State is how the chain stood when probes last looked at it; slots, the newest last, say what
// became of its calls meanwhile. It is not asked whether the measurement is old.
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

// State is how the chain stands as this process knows it: by what probes found, and whom it leaves
// out itself.
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

// headStands reports whether the chain makes no blocks any more, or all upstreams stopped following
// it.
func (s *Snapshot) headStands() bool {
	c, ok := chain.Lookup(string(s.Chain))
	return ok && !s.HeadAt.IsZero() && s.MeasuredAt.Sub(s.HeadAt) > max(headStandsAt, tenBlocks*c.BlockTime)
}

// callsLost reports whether too many calls got no answer, in the newest slot that has enough of
// them to tell.
func callsLost(slots []Slot) bool {
	for i := len(slots) - 1; i >= 0; i-- {
		if s := &slots[i]; s.Calls >= judgedCalls {
			return s.Lost*lostOf > s.Calls
		}
	}
	return false
}
