package upstream

import (
	"time"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

// Condition is how a chain's upstreams stand, as probes found them and this process' calls went. It
// names none of them.
type Condition struct {
	MeasuredAt time.Time // when probes last looked; zero when they did not yet
	Head       uint64    // corroborated; zero when not known
	Upstreams  int       // that are configured
	Usable     int       // of those, how many calls may go to now
	// Latency is what a probe of the quickest usable one took; zero when none is usable. Behind is
	// how far its head is behind the chain's, in blocks.
	Latency time.Duration
	Behind  uint64
	// Failed is the share of calls of the last five minutes that an upstream failed, attempt by
	// attempt; Judged is false when there were too few.
	Failed float64
	Judged bool
}

// Condition reads what is known now.
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

// serves reports whether calls go to an endpoint that is in good standing.
func (e *Endpoint) serves(s *UpstreamState, now time.Time) bool {
	return s != nil && s.Usable && s.ChainIDOK && !e.cordoned.Load() && !e.health.snapshot(now).out
}

// Expectation is what a call would meet now.
type Expectation struct {
	Supply plan.Supply // of the upstream that is best for it
	// Latency is the time that nine of ten of its answers stayed under, or, when FromCalls is
	// false, what a probe of it took; zero when neither is known.
	Latency   time.Duration
	FromCalls bool
	Usable    int // how many upstreams could answer
}

// Expect says what a call of a method would meet within a supply and on a tier; false when no
// upstream in good standing could answer it. It chooses as a read does, except that a favourite is
// not preferred.
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
		Supply: e.Supply, Usable: usable, FromCalls: h.latency[classOf(r.Heavy)].known ||
			h.latency[standardReads].known,
	}
	if x.FromCalls || s.LatencyMicros > 0 {
		x.Latency = h.usual(r.Heavy, s)
	}
	return x, true
}
