package relay

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/jsonrpc"
	"github.com/chainaccess/gateway/relay/upstream"
)

// chainNode is a node of a chain with one log and one transaction a block. A transaction's hash is
// the number of its block.
type chainNode struct {
	*testkit.UpstreamServer

	head      atomic.Uint64
	safe      atomic.Uint64
	finalized atomic.Uint64
}

const firstHead uint64 = 1_000_000

func newNode(t testing.TB, head uint64) *chainNode {
	t.Helper()
	n := &chainNode{UpstreamServer: testkit.Upstream(t)}
	n.head.Store(head)
	n.Default(n.answer)
	return n
}

func (n *chainNode) answer(x *testkit.Exchange) {
	head := n.head.Load()
	var params []json.RawMessage
	_ = json.Unmarshal(x.Request.Params, &params)
	first := ""
	if len(params) > 0 {
		first = strings.Trim(string(params[0]), `"`)
	}
	reply := testkit.Error(-32601, "the method does not exist")
	switch x.Request.Method {
	case "eth_blockNumber":
		reply = testkit.Result(hexOf(head))
	case "eth_getBlockByNumber":
		reply = testkit.Result(nil)
		switch first {
		case "safe":
			first = hexOf(n.safe.Load())
		case "finalized":
			first = hexOf(n.finalized.Load())
		}
		if number := numberOf(first, head); number <= head {
			reply = testkit.Result(map[string]any{
				"number": hexOf(number), "hash": hashOf(number), "timestamp": hexOf(number),
			})
		}
	case "eth_getTransactionReceipt":
		reply = testkit.Result(nil)
		if number := numberOf(first, 0); number <= head {
			reply = testkit.Result(map[string]any{
				"blockNumber": hexOf(number), "transactionHash": first, "blockHash": hashOf(number),
			})
		}
	case "eth_getBalance":
		reply = testkit.Error(-32000, "header not found")
		if number := numberOf(strings.Trim(string(params[1]), `"`), head); number <= head {
			reply = testkit.Result(hexOf(number))
		}
	case "eth_gasPrice":
		reply = testkit.Result("0x1")
	case "eth_getLogs":
		reply = logsOf(params[0], head)
	}
	reply(x)
}

func logsOf(raw json.RawMessage, head uint64) testkit.Reply {
	var filter struct{ FromBlock, ToBlock string }
	_ = json.Unmarshal(raw, &filter)
	from, to := numberOf(filter.FromBlock, head), numberOf(filter.ToBlock, head)
	if from > head {
		return testkit.Error(-32602, "block range extends beyond current head block")
	}
	logs := []any{}
	for number := from; number <= min(to, head); number++ {
		logs = append(logs, map[string]any{
			"blockNumber": hexOf(number), "blockHash": hashOf(number), "logIndex": "0x0",
			"address": hashOf(number)[:42], "topics": []string{}, "data": "0x", "removed": false,
			"transactionHash": hashOf(number), "transactionIndex": "0x0",
		})
	}
	return testkit.Result(logs)
}

func hexOf(n uint64) string  { return fmt.Sprintf("%#x", n) }
func hashOf(n uint64) string { return fmt.Sprintf("0x%064x", n) }

func numberOf(text string, latest uint64) (n uint64) {
	if text == "latest" || text == "" {
		return latest
	}
	_, _ = fmt.Sscanf(strings.TrimPrefix(text, "0x"), "%x", &n)
	return n
}

// process is a relay that is used only for reads from the nodes of a chain.
type process struct {
	*Relay

	on *upstream.Chain
}

// newProcess returns a process of a gateway. With a server, it shares heads with the others there.
func newProcess(t testing.TB, server *testkit.RedisServer, nodes ...*chainNode) *process {
	t.Helper()
	return newProcessOn(t, server, chain.ArbitrumOne, nodes...)
}

func newProcessOn(t testing.TB, server *testkit.RedisServer, id chain.ID, nodes ...*chainNode) *process {
	t.Helper()
	var file config.ChainUpstreams
	for i, n := range nodes {
		file.Upstreams = append(file.Upstreams, config.Upstream{
			Name: fmt.Sprintf("up-%d", i), URL: n.URL, Supply: "public",
		})
	}
	pool, err := upstream.NewPool(config.Upstreams{
		Chains: map[string]config.ChainUpstreams{string(id): file},
	}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	p := &process{Relay: &Relay{
		Options: Options{Timeout: patience, Now: time.Now, Logger: slog.New(slog.DiscardHandler), MaxAnswer: 1 << 20},
		answers: newAnswers(nil, time.Now), memory: newBatchMemory(0),
	}}
	p.on, _ = pool.Chain(id)
	if server != nil {
		rdb := redis.NewClient(&redis.Options{Addr: server.Addr})
		follow := upstream.NewBoard(rdb).ShareHeads(pool)
		ctx, stop := context.WithCancel(context.Background())
		var following sync.WaitGroup
		following.Go(func() { follow(ctx) })
		t.Cleanup(func() {
			stop()
			following.Wait()
			_ = rdb.Close()
		})
	}
	p.probed(nodes)
	return p
}

// probed applies a round of probes.
func (p *process) probed(nodes []*chainNode) {
	s := upstream.Snapshot{Chain: p.on.ID, ChainID: p.on.ChainID, MeasuredAt: time.Now(), HeadKnown: true}
	for i, n := range nodes {
		name := fmt.Sprintf("up-%d", i)
		s.Head = max(s.Head, n.head.Load())
		s.Upstreams = append(s.Upstreams, upstream.UpstreamState{
			Name: name, Fingerprint: p.on.Fingerprint(name), Usable: true, ChainIDOK: true, Head: n.head.Load(),
			LatencyMicros: int64(1000 * (i + 1)), // the first is preferred
		})
	}
	s.Safe.Number, s.Finalized.Number = nodes[0].safe.Load(), nodes[0].finalized.Load()
	s.Safe.VouchedAt, s.Finalized.VouchedAt = s.MeasuredAt, s.MeasuredAt
	p.on.Apply(s)
}

// got is the outcome of a read.
type got struct {
	result, inBand string
	fault          *fault.Error
	attempts       int
	units          plan.Units
}

// call relays a read as do does, without a meter.
func (p *process) call(t testing.TB, method, params string, atHead bool) got {
	t.Helper()
	c := &call{envelope: &Envelope{
		Chain: p.on, AtHead: atHead, Tier: plan.Balanced, Subject: new(meter.Subject),
	}, started: time.Now()}
	c.Subject, c.Supply = c.envelope.Subject, plan.Public
	req := jsonrpc.Request{Method: []byte(method), Params: []byte(params)}
	if f := p.classify(t.Context(), c, req); f != nil {
		return got{fault: f}
	}
	look := p.answers.look(p.on, c.method, req.Params)
	if cached, hit := p.answers.get(t.Context(), p.on, c.method, &look); hit {
		return got{result: string(cached)}
	}
	ask := p.asking(c, req, &look)
	answer, f := p.readPlaced(t.Context(), c, ask, &look)
	out := got{fault: f, attempts: ask.Asked.Attempts, units: c.Metered.Units}
	if answer != nil {
		out.result, out.inBand = string(answer.Result), string(answer.Error)
		answer.Release()
	}
	return out
}

// stands waits until the process stands for the first head.
func (p *process) stands(t testing.TB) {
	t.Helper()
	for deadline := time.Now().Add(patience); p.on.FreshHeads(t.Context(), time.Now()).Latest < firstHead; {
		if time.Now().After(deadline) {
			t.Fatalf("the gateway does not stand for head %d", firstHead)
		}
		p.on.Told(t.Context(), time.Now())
	}
}

func blockParams(n uint64) string { return fmt.Sprintf(`[%q,false]`, hexOf(n)) }

func TestHeads_ABlockIsAskedOfAnUpstreamThatHasIt(t *testing.T) {
	t.Parallel()
	behind, ahead := newNode(t, firstHead), newNode(t, firstHead)
	p := newProcess(t, nil, behind, ahead)
	ahead.head.Store(firstHead + 1)
	p.probed([]*chainNode{behind, ahead})
	behind.head.Store(firstHead - 3) // it went back, which nobody knows
	for method, params := range map[string]string{
		"eth_getBlockByNumber":      blockParams(firstHead),
		"eth_getTransactionReceipt": fmt.Sprintf("[%q]", hashOf(firstHead)),
		"eth_getBalance":            fmt.Sprintf(`["0xaa",%q]`, hexOf(firstHead)),
	} {
		t.Run(method, func(t *testing.T) {
			a := p.call(t, method, params, false)
			if a.fault != nil || a.inBand != "" {
				t.Errorf("%s is refused: %s, %v", method, a.inBand, a.fault)
			}
			if a.result == "null" {
				t.Errorf("%s is answered with null", method)
			}
		})
	}
}

func TestHeads_LatestIsTheHeadThatTheGatewayStandsFor(t *testing.T) {
	t.Parallel()
	first, second := newNode(t, firstHead), newNode(t, firstHead)
	p := newProcess(t, nil, first, second)
	first.head.Store(firstHead - 2)
	for method, params := range map[string]string{
		"eth_getBalance": `["0xaa","latest"]`, "eth_blockNumber": `[]`,
	} {
		if a := p.call(t, method, params, false); a.result != fmt.Sprintf("%q", hexOf(firstHead)) {
			t.Errorf("%s at latest is answered for %s %s %v", method, a.result, a.inBand, a.fault)
		}
	}
}

func TestHeads_ABlockThatNobodyHasIsNeverNull(t *testing.T) {
	t.Parallel()
	nodes := []*chainNode{newNode(t, firstHead), newNode(t, firstHead)}
	p := newProcess(t, nil, nodes...)
	for _, n := range nodes {
		n.head.Store(firstHead - 2)
	}
	a := p.call(t, "eth_getBlockByNumber", blockParams(firstHead), false)
	if a.fault == nil {
		t.Fatalf("answered %q", a.result)
	}
	if a.fault.Reason != fault.UpstreamFailed || a.fault.RetryAfter == 0 {
		t.Errorf("refused with %v, to be retried after %v", a.fault, a.fault.RetryAfter)
	}
	if a := p.call(t, "eth_getBlockByNumber", blockParams(firstHead+1), false); a.result != "null" || a.attempts != 1 {
		t.Errorf("a block that is not there yet is answered %q after %d attempts", a.result, a.attempts)
	}
}

func TestHeads_AnUnknownHashCostsOneMoreRequest(t *testing.T) {
	t.Parallel()
	nodes := []*chainNode{newNode(t, firstHead), newNode(t, firstHead), newNode(t, firstHead)}
	p := newProcess(t, nil, nodes...)
	a := p.call(t, "eth_getTransactionReceipt", fmt.Sprintf("[%q]", hashOf(firstHead+1000)), false)
	if a.result != "null" || a.attempts != 2 {
		t.Errorf("answered %q after %d attempts, want null after 2", a.result, a.attempts)
	}
	if a.units != plan.Unit {
		t.Errorf("it costs %d", a.units)
	}
	alone := newProcess(t, nil, newNode(t, firstHead))
	a = alone.call(t, "eth_getTransactionReceipt", fmt.Sprintf("[%q]", hashOf(firstHead+1000)), false)
	if a.result != "null" || a.attempts != 1 {
		t.Errorf("the only upstream's null became %q after %d attempts", a.result, a.attempts)
	}
}

func TestHeads_LogsAreAskedOfAnUpstreamThatSaysItHasThem(t *testing.T) {
	t.Parallel()
	behind, ahead := newNode(t, firstHead-5), newNode(t, firstHead)
	p := newProcess(t, nil, behind, ahead)
	a := p.call(t, "eth_getLogs", fmt.Sprintf(`[{"fromBlock":%q}]`, hexOf(firstHead-2)), false)
	if n := strings.Count(a.result, "blockNumber"); n != 3 {
		t.Errorf("%d logs of 3: %s %s %v", n, a.result, a.inBand, a.fault)
	}
	if sent := behind.Count("eth_getLogs"); sent != 0 {
		t.Errorf("the upstream that is behind was asked %d times", sent)
	}
}

func TestHeads_PrunedStateStaysTheNodesAnswer(t *testing.T) {
	t.Parallel()
	nodes := []*chainNode{newNode(t, firstHead), newNode(t, firstHead)}
	p := newProcess(t, nil, nodes...)
	for _, n := range nodes {
		n.On("eth_getBalance", testkit.Error(-32000, "missing trie node 5f00 (path )"))
	}
	a := p.call(t, "eth_getBalance", fmt.Sprintf(`["0xaa",%q]`, hexOf(firstHead-100)), false)
	if !strings.Contains(a.inBand, "missing trie node") {
		t.Errorf("answered %q, %v", a.inBand, a.fault)
	}
}

func TestHeads_ConsistencyHeadAsksOnlyUpstreamsAtTheHead(t *testing.T) {
	t.Parallel()
	behind, ahead := newNode(t, firstHead-1), newNode(t, firstHead)
	p := newProcess(t, nil, behind, ahead)
	for _, n := range []*chainNode{behind, ahead} {
		n.On("eth_chainId", testkit.Result("0x1"))
		n.On("eth_getTransactionByHash", testkit.Result(nil))
	}
	p.call(t, "eth_getTransactionByHash", fmt.Sprintf("[%q]", hashOf(firstHead)), true)
	if sent := behind.Count("eth_getTransactionByHash"); sent != 0 {
		t.Errorf("an upstream that is behind was asked %d times", sent)
	}
	if sent := ahead.Count("eth_getTransactionByHash"); sent != 1 {
		t.Errorf("the upstream at the head was asked %d times", sent)
	}
}

func TestHeads_OneUpstreamCannotMakeUpAHead(t *testing.T) {
	t.Parallel()
	nodes := []*chainNode{newNode(t, firstHead), newNode(t, firstHead), newNode(t, firstHead)}
	p := newProcess(t, testkit.Redis(t), nodes...)
	p.stands(t)
	nodes[0].head.Store(firstHead + 20)
	for range 20 {
		if a := p.call(t, "eth_blockNumber", `[{}]`, false); a.result != fmt.Sprintf("%q", hexOf(firstHead)) {
			t.Fatalf("the head is %s %v", a.result, a.fault)
		}
	}
}

func TestHeads_AHeadThatIsGoneIsLoweredAfterAMinute(t *testing.T) {
	t.Parallel()
	nodes := []*chainNode{newNode(t, firstHead), newNode(t, firstHead)}
	p := newProcess(t, nil, nodes...)
	began := time.Now()
	for i := range 14 {
		s := upstream.Snapshot{
			Chain: p.on.ID, ChainID: p.on.ChainID, MeasuredAt: began.Add(time.Duration(i+1) * 5 * time.Second),
			HeadKnown: true, Head: firstHead,
		}
		for i := range nodes {
			name := fmt.Sprintf("up-%d", i)
			s.Upstreams = append(s.Upstreams, upstream.UpstreamState{
				Name: name, Fingerprint: p.on.Fingerprint(name), Usable: true, ChainIDOK: true, Head: firstHead - 3,
			})
		}
		p.on.Apply(s)
		want := firstHead
		if s.MeasuredAt.Sub(began) >= time.Minute+5*time.Second {
			want = firstHead - 3
		}
		if head, _ := p.on.Head(); head != want {
			t.Errorf("after %v the head is %d, want %d", s.MeasuredAt.Sub(began), head, want)
		}
	}
}

// An upstream that does not say how far it is must not use up the time of a call.
func TestHeads_AnUpstreamThatHangsLeavesTimeForAnother(t *testing.T) {
	t.Parallel()
	hangs, ahead := newNode(t, firstHead-1), newNode(t, firstHead-1)
	p := newProcess(t, nil, hangs, ahead)
	p.Timeout = time.Second
	p.on.ObserveHead(upstream.Latest, firstHead)
	ahead.head.Store(firstHead)
	hangs.On("eth_blockNumber", testkit.Hang(nil))
	for _, u := range []*chainNode{hangs, ahead} {
		u.On("net_peerCount", testkit.Result("0x5"))
	}
	if a := p.call(t, "net_peerCount", `[]`, true); a.result != `"0x5"` {
		t.Errorf("answered %q %v", a.result, a.fault)
	}
	if sent := hangs.Count("net_peerCount"); sent != 0 {
		t.Errorf("the upstream that hangs was asked %d times", sent)
	}
	for _, f := range p.on.Figures() {
		if f.Upstream == "up-0" && f.Failed != 1 {
			t.Errorf("%s failed %d times", f.Upstream, f.Failed)
		}
	}
}
