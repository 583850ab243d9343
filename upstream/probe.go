package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/chainaccess/gateway/chain"
)

// Probe figures. Probes spend the operator's quota: a round is one call per upstream, the identity and the capabilities are asked
// again only after a while.
const (
	probeTimeout     = 3 * time.Second
	identityEvery    = time.Minute
	capabilityEvery  = 10 * time.Minute
	lagWindow        = time.Minute // an upstream further behind than the chain comes in this time is lagging
	minLagBlocks     = 5
	corroborateFrom  = 3 // with so many healthy upstreams the second highest head counts
	maxProbeAnswer   = 1 << 20
	solanaMainnetGen = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d"
)

// Reasons why an upstream is not usable.
const (
	ReasonUnreachable = "unreachable"
	ReasonBadAnswer   = "bad_answer"
	ReasonWrongChain  = "wrong_chain"
	ReasonLagging     = "lagging"
	ReasonAhead       = "implausibly_ahead"
)

// prober remembers what one process has measured of a chain between rounds.
type prober struct {
	mu     sync.Mutex // one round at a time
	head   uint64
	at     time.Time
	memory []probeMemory
}

type probeMemory struct {
	identified     time.Time // when the chain id was last proven
	capabilitiesAt time.Time
	capabilities   map[string]bool
}

func newProber(endpoints int) prober { return prober{memory: make([]probeMemory, endpoints)} }

// Probe measures every upstream of a chain once: identity, head, latency, capabilities.
func (p *Pool) Probe(ctx context.Context, id chain.ID) (Snapshot, error) {
	c, ok := p.chains[id]
	if !ok {
		return Snapshot{}, fmt.Errorf("probe %s: no upstream is configured", id)
	}
	c.prober.mu.Lock()
	defer c.prober.mu.Unlock()
	states := make([]UpstreamState, len(c.endpoints))
	var wg sync.WaitGroup
	for i := range c.endpoints {
		wg.Go(func() { states[i] = c.probeEndpoint(ctx, i) })
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return Snapshot{}, fmt.Errorf("probe %s: %w", id, err)
	}
	return c.judge(states), nil
}

func (c *Chain) probeEndpoint(ctx context.Context, i int) UpstreamState {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	e, memory := c.endpoints[i], &c.prober.memory[i]
	s := UpstreamState{Name: e.Name, Fingerprint: e.fingerprint, Capabilities: memory.capabilities}
	now := c.now()
	if now.Sub(memory.identified) >= identityEvery {
		same, reason := c.identify(ctx, e)
		if reason != "" {
			// Proven before and silent now: still of this chain, though not usable.
			s.ChainIDOK, s.Reason = !memory.identified.IsZero(), reason
			return s
		}
		if !same {
			memory.identified = time.Time{}
			s.Reason = ReasonWrongChain
			return s
		}
		memory.identified = now
	}
	s.ChainIDOK = true
	method := "eth_blockNumber"
	if c.Family == chain.Solana {
		method = "getSlot"
	}
	started := c.now()
	result, reason := e.ask(ctx, method, "[]")
	s.LatencyMicros = c.now().Sub(started).Microseconds()
	if reason != "" {
		s.Reason = reason
		return s
	}
	head, ok := parseHead(result)
	if !ok {
		s.Reason = ReasonBadAnswer
		return s
	}
	s.Head = head
	if c.Family == chain.EVM && now.Sub(memory.capabilitiesAt) >= capabilityEvery {
		memory.capabilities, memory.capabilitiesAt = e.measureCapabilities(ctx, memory.capabilities), now
		s.Capabilities = memory.capabilities
	}
	return s
}

// identify asks an upstream which chain it is of.
func (c *Chain) identify(ctx context.Context, e *Endpoint) (same bool, reason string) {
	method, want := "eth_chainId", fmt.Sprintf(`"0x%x"`, c.ChainID)
	if c.Family == chain.Solana {
		method, want = "getGenesisHash", strconv.Quote(solanaMainnetGen)
	}
	result, reason := e.ask(ctx, method, "[]")
	if reason != "" {
		return false, reason
	}
	return strings.EqualFold(string(result), want), ""
}

func deadlineOf(ctx context.Context) time.Time {
	deadline, _ := ctx.Deadline() // every round of probes has one
	return deadline
}

// ask sends a probe. A reason tells why there is no result.
func (e *Endpoint) ask(ctx context.Context, method, params string) (result []byte, reason string) {
	r := Request{Method: []byte(method), Params: []byte(params)}
	e.limits.waitToProbe(ctx, e.health.now)
	answer, v, _, err := e.exchange(ctx, r.body(), maxProbeAnswer, deadlineOf(ctx))
	if err != nil {
		if v.meaning == isUnreachable || ctx.Err() != nil {
			return nil, ReasonUnreachable
		}
		return nil, ReasonBadAnswer
	}
	defer answer.Release()
	if answer.Error != nil || answer.Rest != nil {
		return nil, ReasonBadAnswer
	}
	return slices.Clone(answer.Result), ""
}

// judge compares the upstreams with each other and gives the round's snapshot.
func (c *Chain) judge(states []UpstreamState) Snapshot {
	now := c.now()
	snapshot := Snapshot{Chain: c.ID, MeasuredAt: now.UTC(), Upstreams: states}
	var heads []uint64
	limit := uint64(0)
	if c.prober.head > 0 {
		limit = c.plausible(c.prober.head, now.Sub(c.prober.at).Nanoseconds())
	}
	for i := range states {
		s := &states[i]
		switch {
		case s.Reason != "":
		case limit > 0 && s.Head > limit && len(states) < corroborateFrom:
			s.Reason = ReasonAhead
		default:
			heads = append(heads, s.Head)
		}
	}
	if head, ok := corroborate(heads, c.prober.head > 0); ok {
		snapshot.Head, snapshot.HeadKnown = max(head, c.prober.head), true
		c.prober.head, c.prober.at = snapshot.Head, now
	}
	tolerated := max(minLagBlocks, uint64(lagWindow/max(c.BlockTime, time.Millisecond))) //nolint:gosec // positive
	for i := range states {
		s := &states[i]
		if s.Reason != "" {
			continue
		}
		if s.Head < snapshot.Head {
			s.Lag = snapshot.Head - s.Head
		}
		if s.Lag > tolerated {
			s.Reason = ReasonLagging
		}
		s.Usable = s.Reason == ""
	}
	return snapshot
}

// corroborate gives the head that more than one upstream vouches for: the second highest of three or more; the highest of fewer
// once a plausible bound is known, the lowest before.
func corroborate(heads []uint64, bounded bool) (uint64, bool) {
	if len(heads) == 0 {
		return 0, false
	}
	slices.Sort(heads)
	switch {
	case len(heads) >= corroborateFrom:
		return heads[len(heads)-2], true
	case bounded:
		return heads[len(heads)-1], true
	}
	return heads[0], true
}

// parseHead reads a hex quantity or a JSON number.
func parseHead(result []byte) (uint64, bool) {
	var text string
	if json.Unmarshal(result, &text) == nil {
		digits, ok := strings.CutPrefix(text, "0x")
		if !ok {
			return 0, false
		}
		n, err := strconv.ParseUint(digits, 16, 63)
		return n, err == nil
	}
	n, err := strconv.ParseUint(string(result), 10, 63)
	return n, err == nil
}
