package upstream

import (
	"time"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

// Condition is the state of a chain's upstreams, from probes and this process's calls. It names no
// upstream.
type Condition struct {
	MeasuredAt time.Time // time of the last round of probes; zero before the first
	Head       uint64    // corroborated; zero if unknown
	Upstreams  int       // configured
	Usable     int       // of those, how many may get calls now
	// Latency is the probe latency of the fastest usable upstream, zero if none is usable. Behind
	// is its lag in blocks.
	Latency time.Duration
	Behind  uint64
	// Failed is the share of attempts in the last five minutes that failed or were throttled.
	// Judged is false if there were too few calls.
	Failed float64
	Judged bool
}

// Condition returns what is known now.
func (c *Chain) Condition() Condition {
	now := c.now()
	head, _ := c.CorroboratedHead()
	known := Condition{Head: head, Upstreams: len(c.endpoints)}
	if at := c.measuredAt.Load(); at != 0 {
		known.MeasuredAt = time.Unix(0, at).UTC()
	}
	var calls, failed int64
	for _, e := range c.endpoints {
		f := e.health.figures(now)
		calls, failed = calls+f.Calls, failed+f.Failed+f.Throttled
		s := e.state.Load()
		if !e.serves(s, now) {
			continue
		}
		known.Usable++
		if took := time.Duration(s.LatencyMicros) * time.Microsecond; known.Latency == 0 || took < known.Latency {
			known.Latency, known.Behind = took, s.Lag
		}
	}
	if known.Judged = calls >= minSamples; known.Judged {
		known.Failed = float64(failed) / float64(calls)
	}
	return known
}

// serves reports whether an endpoint is usable, not cordoned and not excluded.
func (e *Endpoint) serves(s *UpstreamState, now time.Time) bool {
	return s != nil && s.Usable && s.ChainIDOK && !e.cordoned.Load() && !e.health.snapshot(now).out
}

// Expectation is what a call can expect now.
type Expectation struct {
	Supply plan.Supply // of the best upstream for the call
	// Latency is the p90 of its answers, or the latency of its last probe if FromCalls is false;
	// zero if neither is known.
	Latency   time.Duration
	FromCalls bool
	Usable    int // number of upstreams that can answer
}

// Expect returns what a call of a method can expect within a supply and on a tier; false if no
// usable upstream can answer it. It chooses as a read does, except that it does not prefer the
// favourite.
func (c *Chain) Expect(m *chain.Method, supply plan.Supply, tier plan.Tier) (Expectation, bool) {
	r := &Request{Method: []byte(m.Name), Supply: supply, Tier: tier, Needs: m.Needs, Heavy: m.Class == chain.Heavy}
	now, lag, limit := c.now(), c.toleratedLag(), supplyRank(supply)
	best, usable := rated{place: -1}, 0
	for i, e := range c.endpoints {
		s := e.state.Load()
		if e.rank > limit || !e.serves(s, now) || e.lacks(r, s) {
			continue
		}
		usable++
		if a := (rated{i, rankFor(tier, e.rank, false), e.score(e.health.snapshot(now), s, r, lag)}); a.betterThan(
			best) {
			best = a
		}
	}
	if best.place < 0 {
		return Expectation{}, false
	}
	e := c.endpoints[best.place]
	s, h := e.state.Load(), e.health.snapshot(now)
	x := Expectation{
		Supply: e.Supply, Usable: usable, FromCalls: h.latency[classOf(r.Heavy)].Known ||
			h.latency[standardReads].Known,
	}
	if x.FromCalls || s.LatencyMicros > 0 {
		x.Latency = h.usual(r.Heavy, s)
	}
	return x, true
}

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
