package upstream

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/chain"
	"github.com/chainaccess/gateway/config"
	"github.com/chainaccess/gateway/plan"
)

// Pool is every upstream of every configured chain.
type Pool struct {
	chains map[chain.ID]*Chain
	order  []chain.ID
}

// Chain is the upstreams of one chain.
type Chain struct {
	*chain.Chain

	endpoints  []*Endpoint
	favourites [3][3]atomic.Int32 // by supply and tier: index into endpoints, plus one; zero for none
	now        func() time.Time

	head       atomic.Uint64 // highest corroborated head this process knows; never goes back
	measuredAt atomic.Int64  // of the newest snapshot, unix nanoseconds; zero before the first
	prober     prober
}

// NewPool makes the pool of an upstreams file.
func NewPool(file config.Upstreams, now func() time.Time) (*Pool, error) {
	p := &Pool{chains: make(map[chain.ID]*Chain, len(file.Chains))}
	for _, known := range chain.All() {
		listed, ok := file.Chains[string(known.ID)]
		if !ok {
			continue
		}
		if listed.ChainID != 0 {
			known = known.WithChainID(listed.ChainID)
		}
		c := &Chain{Chain: known, now: now}
		for _, u := range listed.Upstreams {
			e, err := newEndpoint(known.Family, u, now)
			if err != nil {
				return nil, err
			}
			c.endpoints = append(c.endpoints, e)
		}
		c.prober = newProber(len(c.endpoints))
		p.chains[known.ID] = c
		p.order = append(p.order, known.ID)
	}
	if len(p.chains) != len(file.Chains) {
		return nil, fmt.Errorf("the upstreams file names an unknown chain: %v", slices.Sorted(maps.Keys(file.Chains)))
	}
	return p, nil
}

// Chain gives the upstreams of a chain; false when none is configured.
func (p *Pool) Chain(id chain.ID) (*Chain, bool) {
	c, ok := p.chains[id]
	return c, ok
}

// Chains lists the configured chains.
func (p *Pool) Chains() []chain.ID { return slices.Clone(p.order) }

// Close gives idle connections back.
func (p *Pool) Close() {
	for _, c := range p.chains {
		for _, e := range c.endpoints {
			e.close()
		}
	}
}

// Apply puts the verdicts of a snapshot in force. Names that this process does not know are passed over.
func (c *Chain) Apply(s Snapshot) {
	for _, e := range c.endpoints {
		for i := range s.Upstreams {
			if s.Upstreams[i].Name == e.Name {
				state := s.Upstreams[i]
				e.state.Store(&state)
			}
		}
	}
	if s.HeadKnown {
		c.raiseHead(s.Head)
	}
	c.measuredAt.Store(s.MeasuredAt.UnixNano())
}

// Head is the chain's head as this process knows it; it never goes back. known is false before the first snapshot.
func (c *Chain) Head() (head uint64, known bool) {
	head = c.head.Load()
	return head, head > 0
}

// ObserveHead takes the head that an upstream has just answered with and gives the one to answer: never lower than one answered
// before. It is not ok when the head is further ahead than the chain can have come since the last measurement.
func (c *Chain) ObserveHead(n uint64) (head uint64, ok bool) {
	known := c.head.Load()
	if n > known && n > c.plausible(known, c.now().UnixNano()-c.measuredAt.Load()) {
		return known, false
	}
	return c.raiseHead(n), true
}

var errImplausibleHead = errors.New("the upstream's head is further ahead than the chain can be")

// checkHead takes an upstream's answer about the head and gives the one for the client.
func (c *Chain) checkHead(result []byte) ([]byte, error) {
	n, ok := parseHead(result)
	if !ok {
		return nil, errImplausibleHead
	}
	head, ok := c.ObserveHead(n)
	if !ok {
		return nil, errImplausibleHead
	}
	if head == n {
		return result, nil
	}
	return c.formatHead(head), nil
}

// HeadResult gives a stored result about the head, or the newer head when one is known since.
func (c *Chain) HeadResult(stored []byte) []byte {
	if n, ok := parseHead(stored); ok {
		if head, known := c.Head(); known && head > n {
			return c.formatHead(head)
		}
	}
	return stored
}

// formatHead writes a head as the chain's nodes do: a hex quantity, or a number on Solana.
func (c *Chain) formatHead(n uint64) []byte {
	if c.Family == chain.Solana {
		return strconv.AppendUint(nil, n, 10)
	}
	return strconv.AppendQuote(nil, "0x"+strconv.FormatUint(n, 16))
}

const headSlack = 64 // blocks a burst may come faster than the block time says

// plausible is the highest head that a chain may have reached nanos after its head was known.
func (c *Chain) plausible(known uint64, nanos int64) uint64 {
	blocks := 2 * max(nanos, 0) / max(int64(c.BlockTime), 1)
	return known + uint64(blocks) + headSlack
}

func (c *Chain) raiseHead(n uint64) uint64 {
	for {
		known := c.head.Load()
		if n <= known {
			return known
		}
		if c.head.CompareAndSwap(known, n) {
			return n
		}
	}
}

// Measured tells whether a snapshot has been applied.
func (c *Chain) Measured() bool { return c.measuredAt.Load() != 0 }

const (
	clearlyBetter  = 1.25            // a favourite stays until another is this much better
	unknownLatency = 1 * time.Second // of an upstream that was never measured
)

// choose picks the best endpoint that is not in tried (a bit per endpoint). When every one is excluded or found unusable, all
// that are proven to be of the chain are eligible; one of another chain never is.
func (c *Chain) choose(supply plan.Supply, tier plan.Tier, tried uint64) (index int, ok bool) {
	for _, fallback := range [...]bool{false, true} {
		if i, found := c.best(supply, tier, tried, fallback); found {
			return i, true
		}
	}
	return 0, false
}

func (c *Chain) best(supply plan.Supply, tier plan.Tier, tried uint64, fallback bool) (int, bool) {
	best, favourite := -1, -1
	var bestScore, favouriteScore float64
	kept := &c.favourites[supplyRank(supply)][tierRank(tier)]
	for i, e := range c.endpoints {
		if tried&(1<<i) != 0 || supplyRank(e.Supply) > supplyRank(supply) {
			continue
		}
		usable, proven := e.usable()
		health := e.health.standing()
		if !proven || (!fallback && (!usable || health.excluded)) {
			continue
		}
		score := e.score(health, tier)
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
	case tried == 0 && !fallback:
		kept.Store(int32(best + 1)) //nolint:gosec // at most 32 endpoints
	}
	return best, true
}

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
