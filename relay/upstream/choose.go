package upstream

import (
	"time"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

const (
	clearlyBetter  = 1.25            // a favourite stays until another is this much better
	unknownLatency = 1 * time.Second // of an upstream that was never measured
	failureWeight  = 4               // a share of failed or throttled calls worsens a score by so many times itself
)

// search is one call's way through the upstreams of its chain.
type search struct {
	r      *Request
	list   []*Endpoint
	write  bool
	strict bool   // only those in good standing
	tried  uint64 // asked already: a bit per place in list
	full   uint64 // at the limit that the operator set
}

// choice is an endpoint whose room was taken: its limits must be given back.
type choice struct {
	*Endpoint

	trial bool // it is out, and this read shows whether it may come back
	more  int  // how many others could be asked after it
}

// resort says how far a search lowers its standards: when every endpoint is excluded or found
// unusable, all that are proven to be of the chain are eligible, last those that lack the method.
// One of another chain never is, nor one that is cordoned.
type resort uint8

const (
	usableOnly resort = iota
	provenOnly
	evenLacking
)

// next takes the best endpoint that was not asked yet. When those that would serve the call are
// only at their limits, it gives none rather than one that is worse off than busy: s.full tells.
func (c *Chain) next(s *search) (choice, bool) {
	now := c.now()
	for _, resort := range [...]resort{usableOnly, provenOnly, evenLacking} {
		for {
			i, trial, more := c.best(s, resort, now)
			if i < 0 {
				break
			}
			e := s.list[i]
			if e.limits.take(now) {
				s.tried |= 1 << i
				return choice{e, trial, more}, true
			}
			if trial {
				e.health.passOver()
			}
			s.full |= 1 << i
		}
		if s.full != 0 || s.strict {
			break
		}
	}
	return choice{}, false
}

// rated is how good a choice would be: the lower rank wins, then the lower score.
type rated struct {
	place int // in the list, -1 for none
	rank  int
	score float64
}

func (a rated) betterThan(b rated) bool {
	return b.place < 0 || a.rank < b.rank || (a.rank == b.rank && a.score < b.score)
}

// best picks among the endpoints that are eligible at this resort. more counts the others that a
// later attempt could go to.
func (c *Chain) best(s *search, resort resort, now time.Time) (place int, trial bool, more int) {
	r := s.r
	kept := &c.favourites[supplyRank(r.Supply)][tierRank(r.Tier)][classOf(r.Heavy)]
	keptEndpoint := kept.Load()
	found := survey{best: rated{place: -1}, favourite: rated{place: -1}, candidate: -1, more: -1}
	c.survey(&found, s, resort, now, keptEndpoint)
	best, favourite := found.best, found.favourite
	switch {
	case best.place < 0:
		return -1, false, 0
	case found.candidate >= 0 && s.mayTry() && s.list[found.candidate].health.beginTrial():
		return found.candidate, true, found.more
	case favourite.place >= 0 && favourite.rank == best.rank && favourite.score <= clearlyBetter*best.score:
		return favourite.place, false, found.more
	case s.tried|s.full != 0 || resort != usableOnly || r.May != nil:
	case favourite.place < 0 && keptEndpoint != nil && keptEndpoint.lacks(r, keptEndpoint.state.Load()):
		// The favourite only lacks this method: it stays the favourite for others.
	default:
		kept.Store(s.list[best.place])
	}
	return best.place, false, found.more
}

// survey is what a look at every endpoint found.
type survey struct {
	best, favourite rated
	candidate       int // on trial, -1 for none
	more            int // how many could be asked besides the one that is chosen
}

func (c *Chain) survey(found *survey, s *search, resort resort, now time.Time, kept *Endpoint) {
	nanos, lag, supply, r := now.UnixNano(), c.toleratedLag(), supplyRank(s.r.Supply), s.r
	for i, e := range s.list {
		if (s.tried|s.full)&(1<<i) != 0 || e.rank > supply || e.cordoned.Load() || (r.May != nil && !r.May(e.Name)) {
			continue
		}
		state := e.state.Load()
		if state == nil || !state.ChainIDOK {
			continue
		}
		found.more++
		if resort != evenLacking && e.lacks(r, state) {
			continue
		}
		h := e.health.snapshot(now)
		if resort == usableOnly && (!state.Usable || h.out) {
			if state.Usable && h.onTrial(nanos) {
				found.candidate = i
			}
			continue
		}
		rated := rated{i, rankFor(r.Tier, e.rank, s.tried != 0) + against(state, h), e.score(h, state, r, lag)}
		if rated.betterThan(found.best) {
			found.best = rated
		}
		if e == kept {
			found.favourite = rated
		}
	}
}

// mayTry reports whether a call may go to an upstream on trial: never a submission, which cannot be
// tried elsewhere, nor what is asked to be fast or takes long; and only as a first attempt, so that
// there are others after it.
func (s *search) mayTry() bool {
	return !s.write && s.tried == 0 && !s.r.Heavy && s.r.Tier != plan.Fast
}

// lacks reports whether e said that it does not have the method, or a probe found that it cannot do
// what the method needs.
func (e *Endpoint) lacks(r *Request, s *UpstreamState) bool {
	if e.lacking.has(r.Method) {
		return true
	}
	if r.Needs == chain.Plain || s == nil {
		return false
	}
	able, known := s.Capable(r.Needs, e.lacking.now())
	return known && !able
}

// against is what speaks against an upstream when none in good standing is left; it outweighs
// supply.
func against(s *UpstreamState, h *healthSnapshot) int {
	rank := 0
	if !s.Usable {
		rank += 10
	}
	if h.out {
		rank += 10
	}
	return rank
}

// rankFor is what a tier asks of supply. cheap begins with the cheapest supply and goes by health
// alone once that failed; fast stays in the best supply that the caller may use; balanced goes by
// health.
func rankFor(tier plan.Tier, supply int, again bool) int {
	switch {
	case tier == plan.Cheap && !again:
		return supply
	case tier == plan.Fast:
		return -supply
	}
	return 0
}

// score is lower for better: the time that nine of ten answers stay under, worsened by the shares
// of failed and throttled calls, which cost another attempt; and by how far the upstream's head is
// behind, which fast calls do not look at.
func (e *Endpoint) score(h *healthSnapshot, s *UpstreamState, r *Request, toleratedLag uint64) float64 {
	lag := s.Lag
	if r.Tier == plan.Fast {
		lag = 0
	}
	return rating(h.usual(r.Heavy, s), h.errorRate+h.throttled, lag, toleratedLag)
}

func rating(usual time.Duration, bad float64, lag, toleratedLag uint64) float64 {
	return float64(usual) * (1 + failureWeight*bad) * (1 + float64(lag)/float64(toleratedLag))
}

// usual is an upstream's latency for selection: of the calls of the class, else of standard ones,
// else of its probes.
func (s *healthSnapshot) usual(heavy bool, state *UpstreamState) time.Duration {
	switch {
	case heavy && s.latency[heavyReads].known:
		return s.latency[heavyReads].p90
	case s.latency[standardReads].known:
		return s.latency[standardReads].p90
	case state.LatencyMicros > 0:
		return time.Duration(state.LatencyMicros) * time.Microsecond
	}
	return unknownLatency
}

// toleratedLag is how many blocks an upstream may be behind before probes call it lagging.
func (c *Chain) toleratedLag() uint64 {
	return max(minLagBlocks, uint64(lagWindow/max(c.BlockTime, time.Millisecond))) //nolint:gosec // positive
}

func supplyRank(s plan.Supply) int {
	switch s {
	case plan.Premium:
		return 2
	case plan.Wholesale:
		return 1
	default:
		return 0
	}
}

func tierRank(t plan.Tier) int {
	switch t {
	case plan.Cheap:
		return 0
	case plan.Fast:
		return 2
	default:
		return 1
	}
}
