package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/rules"
)

// Parameters of probes. Probes use the operator's quota: a round is one call per upstream and one
// more per chain; identity, finality and capabilities are probed less often. A round takes at most
// probeTimeout and three times askTimeout.
const (
	probeTimeout   = 3 * time.Second
	askTimeout     = 2 * time.Second // for a call that only some rounds make
	identityEvery  = time.Minute
	finalityEvery  = 30 * time.Second
	lagWindow      = time.Minute // an upstream further behind than the chain's blocks of this time is lagging
	minLagBlocks   = 5
	maxProbeAnswer = 1 << 20
)

// Reasons why an upstream is not usable.
const (
	ReasonUnreachable = "unreachable"
	ReasonBadAnswer   = "bad_answer"
	ReasonWrongChain  = "wrong_chain"
	ReasonLagging     = "lagging"
	ReasonAhead       = "implausibly_ahead"
)

// prober is the state that one process's rounds share. What a round must remember is in the last
// snapshot, which Recall reads from the board: a restart of the worker loses nothing, and several
// workers share it.
type prober struct {
	mu      sync.Mutex // one round at a time; guards what follows
	last    Snapshot
	cordons map[string]Cordon
	turn    int // which upstream is asked about the past next
}

// Recall takes over the chain's last round from the board, by this or another process. Without
// Recall a round continues from this process's last one. An empty board makes the next round a
// first one.
func (p *Pool) Recall(id chain.ID, posted Posted) {
	c, ok := p.Chain(id)
	if !ok {
		return
	}
	c.prober.mu.Lock()
	defer c.prober.mu.Unlock()
	c.raiseGeneration(posted.Snapshot.Generation)
	last := posted.Snapshot
	if !last.isOf(c.Chain) {
		last = Snapshot{Generation: last.Generation}
	}
	c.prober.last, c.prober.cordons = last, posted.Cordons
}

// ErrNotConfigured reports a probe of a chain without upstreams.
var ErrNotConfigured = errors.New("no upstream is configured")

// Probe measures every upstream of a chain once: identity, head, latency and capabilities. It also
// checks the chain for deep reorgs.
func (p *Pool) Probe(ctx context.Context, id chain.ID) (Snapshot, error) {
	c, ok := p.Chain(id)
	if !ok {
		return Snapshot{}, fmt.Errorf("probe %s: %w", id, ErrNotConfigured)
	}
	c.prober.mu.Lock()
	defer c.prober.mu.Unlock()
	now := c.now()
	s := Snapshot{
		Chain: c.ID, ChainID: c.ChainID, MeasuredAt: now.UTC(), Upstreams: make([]UpstreamState, len(c.endpoints)),
	}
	var asking parallel.Group
	for i, e := range c.endpoints {
		asking.Go(func() error {
			s.Upstreams[i] = c.probeEndpoint(ctx, e, c.prober.last, now)
			return nil
		})
	}
	s.Special = c.probeSpecial(ctx, &asking, now)
	_ = asking.Wait() // failures are in the snapshot
	if c.judge(ctx, &s) {
		c.forgetPast(&s)
	} else {
		c.checkPast(ctx, &s)
	}
	if err := ctx.Err(); err != nil {
		return Snapshot{}, fmt.Errorf("probe %s: %w", id, err)
	}
	c.prober.last = s
	return s, nil
}

func (c *Chain) probeEndpoint(ctx context.Context, e *Endpoint, last Snapshot, now time.Time) UpstreamState {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	begin, cancelBegin := context.WithTimeout(ctx, probeTimeout-capabilityTime)
	defer cancelBegin()
	before, _ := last.of(e)
	s := UpstreamState{Name: e.Name, Fingerprint: e.fingerprint, Capabilities: before.Capabilities}
	if before.ChainIDOK {
		s.ChainIDAt = before.ChainIDAt
	}
	if now.Sub(s.ChainIDAt) >= identityEvery {
		same, reason := c.identify(ctx, e)
		if reason != "" {
			// Proven before and silent now: still of this chain, but not usable.
			s.ChainIDOK, s.Reason = before.ChainIDOK, reason
			return s
		}
		if !same {
			s.ChainIDAt, s.Reason = time.Time{}, ReasonWrongChain
			return s
		}
		s.ChainIDAt = now.UTC().Truncate(time.Second)
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
	s.Safe, s.Finalized, s.FinalityAt = before.Safe, before.Finalized, before.FinalityAt
	if c.Family == chain.EVM && begin.Err() == nil && now.Sub(s.FinalityAt) >= finalityEvery {
		c.measureFinality(ctx, e, &s, now)
	}
	s.Capabilities = c.measureCapabilities(ctx, begin, e, before.Capabilities, head, now)
	return s
}

// probeSpecial measures the upstreams of special kinds within a round of probes.
func (c *Chain) probeSpecial(ctx context.Context, asking *parallel.Group, now time.Time) []UpstreamState {
	var special []*Endpoint
	for e := range c.all() {
		if e.kind != node {
			special = append(special, e)
		}
	}
	states := make([]UpstreamState, len(special))
	last := c.prober.last
	for i, e := range special {
		asking.Go(func() error {
			states[i] = c.probeIdentity(ctx, e, &last, now)
			return nil
		})
	}
	return states
}

// probeIdentity asks an upstream which chain it is of, now and then. Many private endpoints take
// nothing but submissions, so one that refuses the question is believed to be what the upstreams
// file says. A signed transaction names its chain itself.
func (c *Chain) probeIdentity(ctx context.Context, e *Endpoint, last *Snapshot, now time.Time) UpstreamState {
	before, known := last.of(e)
	if known && now.Sub(before.ChainIDAt) < identityEvery {
		return before
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	s := UpstreamState{Name: e.Name, Fingerprint: e.fingerprint, ChainIDOK: true, Usable: true}
	started := c.now()
	same, reason := c.identify(ctx, e)
	s.LatencyMicros = c.now().Sub(started).Microseconds()
	switch {
	case reason != "" && known && before.Reason == ReasonWrongChain:
		return before // only an answer proves that it is another one now
	case reason == "" && !same:
		s.ChainIDOK, s.Usable, s.Reason = false, false, ReasonWrongChain
	case reason == ReasonUnreachable:
		s.Usable, s.Reason = false, reason
	default:
		s.ChainIDAt = now.UTC().Truncate(time.Second)
	}
	return s
}

// measureFinality asks an upstream which blocks it calls safe and finalized. An upstream that does
// not know a tag, or does not answer, names none until it is asked again.
func (c *Chain) measureFinality(ctx context.Context, e *Endpoint, s *UpstreamState, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, capabilityTime)
	defer cancel()
	s.FinalityAt = now.UTC().Truncate(time.Second)
	var asking parallel.Group
	asking.Go(func() error { s.Safe = e.tagged(ctx, "safe"); return nil })
	asking.Go(func() error { s.Finalized = e.tagged(ctx, "finalized"); return nil })
	_ = asking.Wait() // none fails
}

// tagged returns the number of the block that a tag means at an upstream; zero for none.
func (e *Endpoint) tagged(ctx context.Context, tag string) uint64 {
	result, reason := e.ask(ctx, "eth_getBlockByNumber", `["`+tag+`",false]`)
	var b struct{ Number string }
	if reason != "" || json.Unmarshal(result, &b) != nil {
		return 0
	}
	n, _ := parseQuantity(b.Number)
	return n
}

// identify asks an upstream for its chain's identity.
func (c *Chain) identify(ctx context.Context, e *Endpoint) (same bool, reason string) {
	method, want := "eth_chainId", fmt.Sprintf(`"0x%x"`, c.ChainID)
	if c.Family == chain.Solana {
		method, want = "getGenesisHash", strconv.Quote(c.GenesisHash())
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

// ask sends a probe. reason is why there is no result; empty on success.
func (e *Endpoint) ask(ctx context.Context, method, params string) (result []byte, reason string) {
	r := Request{Method: []byte(method), Params: []byte(params)}
	e.limits.WaitToProbe(ctx, e.health.now)
	answer, v, _, err := e.exchange(ctx, r.body(), maxProbeAnswer, deadlineOf(ctx))
	if charged(v, answer != nil, err) {
		e.spend(r.Method)
	}
	if err != nil {
		if v.meaning == rules.Unreachable || ctx.Err() != nil {
			return nil, ReasonUnreachable
		}
		return nil, ReasonBadAnswer
	}
	defer answer.Release()
	if answer.Error != nil {
		return nil, ReasonBadAnswer
	}
	e.limits.Answered()
	result = slices.Clone(answer.Result)
	if answer.Rest != nil { // a large block; maxProbeAnswer bounds it
		rest, err := io.ReadAll(answer.Rest)
		if err != nil {
			return nil, ReasonBadAnswer
		}
		result = append(result, rest...)
	}
	return result, ""
}

// parseHead parses a hex quantity or a JSON number.
func parseHead(result []byte) (uint64, bool) {
	var text string
	if json.Unmarshal(result, &text) == nil {
		return parseQuantity(text)
	}
	n, err := strconv.ParseUint(string(result), 10, 63)
	return n, err == nil
}

func parseQuantity(text string) (uint64, bool) {
	digits, ok := strings.CutPrefix(text, "0x")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 16, 63)
	return n, err == nil
}
