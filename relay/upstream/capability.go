package upstream

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/chainaccess/gateway/relay/chain"
)

// recentState is the state of the newest 128 blocks, which a node without an archive keeps: how
// deep one without chain.Archive goes.
const recentState chain.Capability = "state128"

// capabilityProbe is the cheapest question that tells whether an upstream is capable of something:
// it is when every call has a result.
type capabilityProbe struct {
	of     chain.Capability
	family chain.Family
	only   chain.ID // a chain that alone has it
	calls  []capabilityCall
}

type capabilityCall struct {
	method string
	params func(c *Chain, head uint64) string
	able   func(result []byte) bool // of a result that is not null; nil when any will do
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
	// An address that owns no tokens: cheap where the index exists, an error where it does not.
	{of: chain.Data, family: chain.Solana, calls: []capabilityCall{{method: "getTokenAccountsByOwner", params: fixed(
		`["SysvarC1ock11111111111111111111111111111111",{"programId":"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"},` +
			`{"encoding":"base64","dataSlice":{"offset":0,"length":0}}]`)}}},
}

// Blocks whose state is the oldest that an archive node has: the chains were moved to new software
// there.
const (
	nitroGenesis = 22_207_817  // Arbitrum One
	bedrockStart = 105_235_063 // OP Mainnet
)

// firstState is the oldest block whose state an archive node of the chain has. Private networks,
// which are younger, begin with the first.
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

// firstEpoch is how many slots an epoch of Solana has: a node that has blocks of the first one has
// them all.
const firstEpoch = 432_000

func reachesBack(result []byte) bool {
	first, ok := parseHead(result)
	return ok && first < firstEpoch
}

// Times of questions about capabilities. One that is not answered clearly is asked again after
// unclearPause, and then after twice as long as the last time, until it is as seldom as those that
// are.
const (
	capabilityTime  = time.Second // of one question
	capabilityEvery = 30 * time.Minute
	unclearPause    = time.Minute
)

// measureCapabilities asks for each capability whose verdict is old. Each question has a time of
// its own, so that one that hangs does not take that of the others; what the round has no whole one
// left for is asked in the next. What an upstream does not answer clearly keeps its last verdict.
// ctx is of the round; after begin is over no question begins.
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

// pause is how long after it was asked for a capability is asked for again.
func (v Verdict) pause() time.Duration {
	if v.Unclear <= 0 {
		return capabilityEvery
	}
	return min(unclearPause<<min(v.Unclear-1, 5), capabilityEvery)
}

// on reports whether the chain has what the probe asks for.
func (p *capabilityProbe) on(c *Chain) bool {
	return p.family == c.Family && (p.only == "" || p.only == c.ID)
}

// ask reports whether the upstream is capable, and whether it said so clearly.
func (p *capabilityProbe) ask(ctx context.Context, c *Chain, e *Endpoint, head uint64) (able, sure bool) {
	for i := range p.calls {
		e.limits.waitToProbe(ctx, e.health.now)
		if able, sure = p.calls[i].ask(ctx, c, e, head); !able {
			return false, sure
		}
	}
	return true, true
}

// ask asks one question, in the time that one has.
func (q *capabilityCall) ask(ctx context.Context, c *Chain, e *Endpoint, head uint64) (able, sure bool) {
	ctx, cancel := context.WithTimeout(ctx, capabilityTime)
	defer cancel()
	r := Request{Method: []byte(q.method), Params: []byte(q.params(c, head))}
	answer, v, _, err := e.exchange(ctx, r.body(), maxProbeAnswer, deadlineOf(ctx))
	if err != nil {
		return false, false
	}
	defer answer.Release()
	switch v.meaning {
	case isAnswer:
		return answer.Error == nil && string(answer.Result) != "null" && (q.able == nil || q.able(answer.Result)), true
	case isAbsent, isUnsupported, isMissingData, isPlan:
		return false, true
	default:
		return false, false
	}
}
