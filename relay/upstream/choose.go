package upstream

import (
	"math/rand/v2"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

const (
	clearlyBetter  = 1.25            // the favourite stays until another is this much better
	unknownLatency = 1 * time.Second // of an upstream without measurements
	failureWeight  = 4               // weight of the share of failed and throttled calls in a score
)

// search is the state of one call's selection of upstreams.
type search struct {
	r      *Request
	list   []*Endpoint
	write  bool
	strict bool   // only usable upstreams that are not excluded
	fresh  bool   // the freshest first, after an upstream lacked what was asked for
	tried  uint64 // already asked: one bit per place in list
	full   uint64 // at the operator's limit, one bit each
	spent  uint64 // without budget or plan for long, one bit each
}

// choice is an endpoint with reserved limits, which must be returned.
type choice struct {
	*Endpoint

	trial bool // it is excluded, and this read tests whether it has recovered
	more  int  // how many others can be asked after it
}

// resort is how far a search lowers its standards. If every endpoint is excluded or unusable, all
// that are proven to be of the chain become eligible, and last those that lack the method. An
// endpoint of another chain or a cordoned one never is.
type resort uint8

const (
	usableOnly resort = iota
	provenOnly
	evenLacking
)

// next returns the best endpoint that was not asked yet. If all that would serve the call are at
// their limits, it returns none, rather than one that is excluded or unusable; then s.full is set.
func (c *Chain) next(s *search) (choice, bool) {
	now := c.now()
	for _, resort := range [...]resort{usableOnly, provenOnly, evenLacking} {
		for {
			i, trial, more := c.best(s, resort, now)
			if i < 0 {
				break
			}
			e := s.list[i]
			if e.limits.Take(now) {
				s.tried |= 1 << i
				return choice{e, trial, more}, true
			}
			if trial {
				e.health.passOver()
			}
			if e.limits.Exhausted() {
				s.spent |= 1 << i // another may do, even one that is excluded
			} else {
				s.full |= 1 << i
			}
		}
		if s.full != 0 || s.strict {
			break
		}
	}
	return choice{}, false
}

// rated is how good an endpoint is: the lower rank wins, then the lower score.
type rated struct {
	place int // in the list, -1 for none
	rank  int
	score float64
}

func (a rated) betterThan(b rated) bool {
	return b.place < 0 || a.rank < b.rank || (a.rank == b.rank && a.score < b.score)
}

// best picks among the endpoints that are eligible at this resort. more is the number of others
// that a later attempt can use.
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
	case s.tried|s.full != 0 || resort != usableOnly || r.May != nil || found.passedOver:
	case s.list[best.place].canary > 0: // its share is drawn for each call
	case favourite.place < 0 && keptEndpoint != nil && keptEndpoint.lacks(r, keptEndpoint.state.Load()):
		// The favourite only lacks this method: it stays the favourite for other methods.
	default:
		kept.Store(s.list[best.place])
	}
	return best.place, false, found.more
}

// survey is the result of a scan of all endpoints.
type survey struct {
	best, favourite rated
	candidate       int  // for a trial, -1 for none
	passedOver      bool // an upstream does not take a range of logs this long
	more            int  // how many others can be asked, besides the chosen one
}

// behindRank is the penalty of an upstream that does not have the block that a call is about. It
// outweighs supply, and that the upstream is excluded outweighs it.
const (
	behindRank  = 100
	supplyRanks = 4 // between the best and the worst
)

func (c *Chain) survey(found *survey, s *search, resort resort, now time.Time, kept *Endpoint) {
	nanos, lag, supply, r := now.UnixNano(), c.toleratedLag(), supplyRank(s.r.Supply), s.r
	for i, e := range s.list {
		if s.skips(i, e, supply) {
			continue
		}
		if r.part != nil && !e.takes(r, now) {
			found.passedOver = true
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
		rank := rankFor(r.Tier, e.rank, s.tried != 0) + against(state, h) + c.behind(e, s)
		if e.canary > 0 {
			rank += e.canaryRank(h, s)
		}
		rated := rated{i, rank, e.score(h, state, r, lag)}
		if rated.betterThan(found.best) {
			found.best = rated
		}
		if e == kept {
			found.favourite = rated
		}
	}
}

// skips reports whether the endpoint at a place is out of question for the call.
func (s *search) skips(i int, e *Endpoint, supply int) bool {
	return (s.tried|s.full|s.spent)&(1<<i) != 0 || e.rank > supply || e.cordoned.Load() ||
		(s.r.May != nil && !s.r.May(e.Name))
}

// canaryRank puts a canary before all others for its share of reads, and after them otherwise. The
// share shrinks by four times the part of its calls that failed, were throttled or disagreed with
// other upstreams, and grows again with it. Submissions go to it only when there is no other.
func (e *Endpoint) canaryRank(h *healthSnapshot, s *search) int {
	bad := h.errorRate + h.throttled + h.disagreed
	if !s.write && s.tried == 0 && rand.Float64() < e.canary*(1-failureWeight*bad) { //nolint:gosec // a sample
		return -behindRank / 2
	}
	return behindRank / 2
}

// behind returns the penalty of an upstream that lacks the block of a call, as far as it is known,
// and in a search for the freshest, of one that is below the highest head.
func (c *Chain) behind(e *Endpoint, s *search) (rank int) {
	if e.reported.Behind(max(s.r.Block, s.r.Cover)) > 0 {
		rank = behindRank
	}
	if s.fresh {
		rank += int(min(e.reported.Behind(c.heads.Wanted(Latest)), behindRank-supplyRanks))
	}
	return rank
}

// mayTry reports whether a call may be a trial of an excluded upstream. Submissions may not,
// because they cannot be retried elsewhere, nor fast or heavy calls. A trial is always a first
// attempt, so that others can follow it.
func (s *search) mayTry() bool {
	return !s.write && s.tried == 0 && !s.r.Heavy && s.r.Tier != plan.Fast
}

// lacks reports whether e said that it does not have the method, or a probe found that it lacks a
// capability that the method needs.
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

// against returns the penalty of an unusable or excluded upstream, for when no better one is left,
// and of one that lies. It outweighs supply.
func against(s *UpstreamState, h *healthSnapshot) int {
	rank := 0
	if !s.Usable {
		rank += 10 * behindRank
	}
	if h.out {
		rank += 10 * behindRank
	}
	if h.lies {
		rank += 5 * behindRank
	}
	return rank
}

// rankFor returns the rank that a tier gives to a supply. cheap begins with the cheapest supply and
// ignores supply on a retry; fast prefers the best supply that the caller may use; balanced ignores
// supply.
func rankFor(tier plan.Tier, supply int, again bool) int {
	switch {
	case tier == plan.Cheap && !again:
		return supply
	case tier == plan.Fast:
		return -supply
	}
	return 0
}

// score is lower for better: the p90 latency, increased by the shares of failed and throttled
// calls, which cost another attempt, by that of results that contradict others, and by the
// upstream's lag, which fast calls ignore.
func (e *Endpoint) score(h *healthSnapshot, s *UpstreamState, r *Request, toleratedLag uint64) float64 {
	lag := s.Lag
	if r.Tier == plan.Fast {
		lag = 0
	}
	return rating(h.usual(r.Heavy, s), h.errorRate+h.throttled+h.disagreed, lag, toleratedLag)
}

func rating(usual time.Duration, bad float64, lag, toleratedLag uint64) float64 {
	return float64(usual) * (1 + failureWeight*bad) * (1 + float64(lag)/float64(toleratedLag))
}

// usual returns an upstream's latency for selection: p90 of the class, else of standard calls, else
// the latency of its last probe.
func (s *healthSnapshot) usual(heavy bool, state *UpstreamState) time.Duration {
	switch {
	case heavy && s.latency[heavyReads].Known:
		return s.latency[heavyReads].P90
	case s.latency[standardReads].Known:
		return s.latency[standardReads].P90
	case state.LatencyMicros > 0:
		return time.Duration(state.LatencyMicros) * time.Microsecond
	}
	return unknownLatency
}

// toleratedLag returns how many blocks an upstream may be behind before probes call it lagging.
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
