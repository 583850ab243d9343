package upstream

import (
	"time"

	"github.com/chainaccess/gateway/chain"
	"github.com/chainaccess/gateway/plan"
)

const (
	clearlyBetter  = 1.25            // a favourite stays until another is this much better
	unknownLatency = 1 * time.Second // of an upstream that was never measured
)

// choose picks the best endpoint for r that is not in tried (a bit per endpoint). When every one is excluded or found unusable,
// all that are proven to be of the chain are eligible, last those that lack the method; one of another chain never is.
func (c *Chain) choose(r *Request, tried uint64) (index int, ok bool) {
	for _, resort := range [...]resort{usableOnly, provenOnly, evenLacking} {
		if i, found := c.best(r, tried, resort); found {
			return i, true
		}
	}
	return 0, false
}

// resort says how far choose lowers its standards.
type resort uint8

const (
	usableOnly resort = iota
	provenOnly
	evenLacking
)

func (c *Chain) best(r *Request, tried uint64, resort resort) (int, bool) {
	best, favourite := -1, -1
	var bestScore, favouriteScore float64
	kept := &c.favourites[supplyRank(r.Supply)][tierRank(r.Tier)]
	for i, e := range c.endpoints {
		if tried&(1<<i) != 0 {
			continue
		}
		health := e.health.standing()
		if !e.eligible(r, resort, health) {
			continue
		}
		score := e.score(health, r.Tier)
		if best < 0 || score < bestScore {
			best, bestScore = i, score
		}
		if int(kept.Load()) == i+1 {
			favourite, favouriteScore = i, score
		}
	}
	switch {
	case best < 0:
		return 0, false
	case favourite >= 0 && favouriteScore <= clearlyBetter*bestScore:
		return favourite, true
	case tried == 0 && resort == usableOnly && favourite < 0 && c.lacks(int(kept.Load())-1, r):
		// The favourite only lacks this method: it stays the favourite for others.
	case tried == 0 && resort == usableOnly:
		kept.Store(int32(best + 1)) //nolint:gosec // at most 32 endpoints
	}
	return best, true
}

// eligible is whether r may go to e at this resort.
func (e *Endpoint) eligible(r *Request, resort resort, h standing) bool {
	usable, proven := e.usable()
	switch {
	case supplyRank(e.Supply) > supplyRank(r.Supply) || !proven:
		return false
	case resort == usableOnly && (!usable || h.excluded):
		return false
	}
	return resort == evenLacking || !e.lacks(r)
}

// lacks is whether e said that it does not have the method, or a probe found that it cannot do what the method needs.
func (e *Endpoint) lacks(r *Request) bool {
	if e.lacking.has(r.Method) {
		return true
	}
	s := e.state.Load()
	if r.Needs == chain.Plain || s == nil {
		return false
	}
	able, measured := s.Capabilities[string(r.Needs)]
	return measured && !able
}

func (c *Chain) lacks(i int, r *Request) bool { return i >= 0 && c.endpoints[i].lacks(r) }

// score is lower for better: latency, worsened by errors, and by how far the supply is from what the tier asks for.
func (e *Endpoint) score(h standing, tier plan.Tier) float64 {
	latency := h.latency
	if latency == 0 {
		latency = unknownLatency
		if s := e.state.Load(); s != nil && s.LatencyMicros > 0 {
			latency = time.Duration(s.LatencyMicros) * time.Microsecond
		}
	}
	score := float64(latency) * (1 + 4*h.errorRate)
	rank := supplyRank(e.Supply)
	switch tier {
	case plan.Cheap:
		return score * float64(1+rank)
	case plan.Fast:
		return score * float64(3-rank)
	default:
		return score
	}
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
