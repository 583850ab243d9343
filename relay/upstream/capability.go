package upstream

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/rules"
)

// recentState is the state of the newest 128 blocks, which a node without chain.Archive keeps.
const recentState chain.Capability = "state128"

// capabilityProbe is the cheapest test of a capability: an upstream has it if every call returns a
// result.
type capabilityProbe struct {
	of     chain.Capability
	family chain.Family
	only   chain.ID // the only built-in chain that has it; empty for all
	calls  []capabilityCall
}

type capabilityCall struct {
	method string
	params func(c *Chain, head uint64) string
	able   func(result []byte) bool // checks a result that is not null; nil accepts any
}

const zeroAddress = `"0x0000000000000000000000000000000000000000"`

func fixed(params string) func(*Chain, uint64) string {
	return func(*Chain, uint64) string { return params }
}

var capabilityProbes = []capabilityProbe{
	{of: chain.Debug, calls: []capabilityCall{
		{method: "debug_traceCall", params: fixed(`[{"to":` + zeroAddress + `},"latest",{"tracer":"callTracer"}]`)},
	}},
	{of: chain.Trace, calls: []capabilityCall{
		{method: "trace_call", params: fixed(`[{"to":` + zeroAddress + `},["trace"],"latest"]`)},
	}},
	// Only blocks from before Nitro have these traces.
	{of: chain.ArbTrace, only: chain.ArbitrumOne, calls: []capabilityCall{
		{method: "arbtrace_call", params: fixed(`[{"to":` + zeroAddress + `},["trace"],"0x1"]`)},
	}},
	{of: chain.Bor, only: chain.PolygonPoS, calls: []capabilityCall{
		{method: "bor_getCurrentProposer", params: fixed(`[]`)},
	}},
	{of: chain.Simulate, calls: []capabilityCall{
		{method: "eth_simulateV1", params: fixed(`[{"blockStateCalls":[{}]},"latest"]`)},
	}},
	{of: chain.TxPool, calls: []capabilityCall{{method: "txpool_status", params: fixed(`[]`)}}},
	{of: chain.Archive, calls: []capabilityCall{{method: "eth_getBalance", params: stateAt(firstState)}}},
	{
		of: recentState,
		calls: []capabilityCall{{method: "eth_getBalance", params: stateAt(func(_ *Chain, head uint64) uint64 {
			return head - min(head, chain.StateDepth)
		})}},
	},
	{of: chain.Data, calls: []capabilityCall{
		{method: "alchemy_getTokenBalances", params: fixed(`[` + zeroAddress + `,[` + zeroAddress + `]]`)},
		{
			method: "alchemy_getAssetTransfers",
			params: fixed(`[{"fromBlock":"0x0","toBlock":"0x0","category":["external"],"maxCount":"0x1"}]`),
		},
	}},
	{of: chain.History, family: chain.Solana, calls: []capabilityCall{
		{method: "getFirstAvailableBlock", params: fixed(`[]`), able: reachesBack},
	}},
	// An address that owns no tokens: cheap if the index exists, an error if it does not.
	{of: chain.Data, family: chain.Solana, calls: []capabilityCall{{method: "getTokenAccountsByOwner", params: fixed(
		`["SysvarC1ock11111111111111111111111111111111",{"programId":"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"},` +
			`{"encoding":"base64","dataSlice":{"offset":0,"length":0}}]`)}}},
}

// Blocks at which the chains migrated to new software: archive nodes have no older state.
const (
	nitroGenesis = 22_207_817  // Arbitrum One
	bedrockStart = 105_235_063 // OP Mainnet
)

// firstState returns the oldest block whose state an archive node of the chain has. Private
// networks, which are younger, start at block 1.
func firstState(c *Chain, head uint64) uint64 {
	begun := map[chain.ID]uint64{chain.ArbitrumOne: nitroGenesis + 1, chain.OptimismMainnet: bedrockStart + 1}[c.ID]
	if begun == 0 || begun > head {
		return 1
	}
	return begun
}

func stateAt(height func(*Chain, uint64) uint64) func(*Chain, uint64) string {
	return func(c *Chain, head uint64) string { return fmt.Sprintf(`[%s,"0x%x"]`, zeroAddress, height(c, head)) }
}

// firstEpoch is the number of slots in Solana's first epoch. A node that has blocks of that epoch
// has them all.
const firstEpoch = 432_000

func reachesBack(result []byte) bool {
	first, ok := parseHead(result)
	return ok && first < firstEpoch
}

// Timing of capability probes. An unclear answer is retried after unclearPause, with exponential
// backoff up to capabilityEvery.
const (
	capabilityTime  = time.Second // timeout of one call
	capabilityEvery = 30 * time.Minute
	unclearPause    = time.Minute
)

// measureCapabilities probes each capability whose verdict is old. Each call has its own timeout,
// so that one that hangs does not delay the others. After begin is over no call starts; the rest
// follows in the next round. A capability without a clear answer keeps its last verdict. ctx is the
// round's.
func (c *Chain) measureCapabilities(ctx, begin context.Context, e *Endpoint, last map[chain.Capability]Verdict,
	head uint64, now time.Time,
) map[chain.Capability]Verdict {
	measured := maps.Clone(last)
	if measured == nil {
		measured = make(map[chain.Capability]Verdict)
	}
	for i := range capabilityProbes {
		p := &capabilityProbes[i]
		v := measured[p.of]
		if !p.on(c) || now.Sub(v.AskedAt) < v.pause() {
			continue
		}
		if begin.Err() != nil {
			break
		}
		able, sure := p.ask(ctx, c, e, head)
		v.AskedAt = now.UTC().Truncate(time.Second)
		if sure {
			v.Able, v.MeasuredAt, v.Unclear = able, v.AskedAt, 0
		} else {
			v.Unclear++
		}
		measured[p.of] = v
	}
	return measured
}

// pause returns how long after AskedAt the capability is probed again.
func (v Verdict) pause() time.Duration {
	if v.Unclear <= 0 {
		return capabilityEvery
	}
	return min(unclearPause<<min(v.Unclear-1, 5), capabilityEvery)
}

// on reports whether the probe applies to the chain.
func (p *capabilityProbe) on(c *Chain) bool {
	return p.family == c.Family && (p.only == "" || p.only == c.ID || c.Serves(p.of))
}

// ask reports whether the upstream is capable, and whether its answers were clear.
func (p *capabilityProbe) ask(ctx context.Context, c *Chain, e *Endpoint, head uint64) (able, sure bool) {
	for i := range p.calls {
		e.limits.WaitToProbe(ctx, e.health.now)
		if able, sure = p.calls[i].ask(ctx, c, e, head); !able {
			return false, sure
		}
	}
	return true, true
}

// ask makes one call, within capabilityTime.
func (q *capabilityCall) ask(ctx context.Context, c *Chain, e *Endpoint, head uint64) (able, sure bool) {
	ctx, cancel := context.WithTimeout(ctx, capabilityTime)
	defer cancel()
	r := Request{Method: []byte(q.method), Params: []byte(q.params(c, head))}
	answer, v, _, err := e.exchange(ctx, r.body(), maxProbeAnswer, deadlineOf(ctx))
	if charged(v, answer != nil, err) {
		e.spend(r.Method)
	}
	if err != nil {
		return false, false
	}
	defer answer.Release()
	switch v.meaning {
	case rules.Answer:
		return answer.Error == nil && string(answer.Result) != "null" && (q.able == nil || q.able(answer.Result)), true
	case rules.Absent, rules.Unsupported, rules.MissingData, rules.Plan:
		return false, true
	default:
		return false, false
	}
}

// lackingFor is how long an upstream's statement that it lacks a method is believed.
const lackingFor = 10 * time.Minute

// unsupported remembers the methods that an upstream said it lacks. Names come from the catalog, so
// it stays small.
type unsupported struct {
	now func() time.Time
	any atomic.Bool // fast path: most upstreams lack nothing

	mu    sync.RWMutex // guards until
	until map[string]time.Time
}

func (l *unsupported) note(method []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until == nil {
		l.until = make(map[string]time.Time)
	}
	l.until[string(method)] = l.now().Add(lackingFor)
	l.any.Store(true)
}

func (l *unsupported) has(method []byte) bool {
	if !l.any.Load() {
		return false
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	until, ok := l.until[string(method)]
	return ok && l.now().Before(until)
}
