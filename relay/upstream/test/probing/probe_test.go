package probing

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/relay/upstream/internal/upstreamtest"
)

// probing starts an upstream of Ethereum at a head.
func probing(t *testing.T, head uint64) *testkit.UpstreamServer {
	t.Helper()
	u := testkit.Upstream(t)
	u.On("eth_chainId", testkit.Result("0x1"))
	u.On("eth_blockNumber", testkit.Result(fmt.Sprintf("0x%x", head)))
	u.On("trace_call", testkit.Error(-32601, "method not found"))
	u.On("eth_simulateV1", testkit.Error(-32000, "eth_simulateV1 is not supported"))
	u.On("eth_getBalance", testkit.Error(-32000, "missing trie node"))
	return u
}

func probe(t *testing.T, p *upstream.Pool, id chain.ID) upstream.Snapshot {
	t.Helper()
	s, err := p.Probe(upstreamtest.Context(t), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestProbe_SaysWhyAnUpstreamIsNotUsable(t *testing.T) {
	t.Parallel()
	good, other, lagging, down, html := probing(t, 1000), probing(t, 1000), probing(t, 900), probing(t, 1000),
		probing(t, 1000)
	other.On("eth_chainId", testkit.Result("0x5"))
	good.On("eth_getBlockByNumber", testkit.Result(map[string]string{
		"number": "0x3e8", "hash": "0xabc", "timestamp": fmt.Sprintf("0x%x", time.Now().Unix()),
	}))
	down.Close()
	html.Default(testkit.HTML(502))
	html.On("eth_chainId", testkit.HTML(502))
	p, c := upstreamtest.NewChain(t, chain.EthMainnet, time.Now,
		upstreamtest.Providers(good, other, lagging, down, html))
	s := probe(t, p, chain.EthMainnet)
	for i, want := range []upstream.UpstreamState{
		{Usable: true, ChainIDOK: true},
		{Reason: upstream.ReasonWrongChain},
		{Reason: upstream.ReasonLagging, ChainIDOK: true, Lag: 100},
		{Reason: upstream.ReasonUnreachable},
		{Reason: upstream.ReasonBadAnswer},
	} {
		t.Run(want.Name, func(t *testing.T) {
			got := s.Upstreams[i]
			in := expect.In(t, "upstream %d", i)
			expect.Equal(in, got.Usable, want.Usable)
			expect.Equal(in, got.Reason, want.Reason)
			expect.Equal(in, got.ChainIDOK, want.ChainIDOK)
			expect.Equal(in, got.Lag, want.Lag)
		})
	}
	if s.Head != 1000 {
		t.Errorf("the head is %d", s.Head)
	}
	c.Apply(s)
	other.Forget()
	for range 5 {
		answer, f := c.Read(upstreamtest.Context(t), upstreamtest.Call("eth_call"))
		if f != nil {
			t.Fatal(f)
		}
		answer.Release()
	}
	if other.Total() != 0 {
		t.Error("an upstream of another chain was used")
	}
	capabilities := s.Upstreams[0].Capabilities
	want := map[chain.Capability]bool{"debug": true, "trace": false, "simulate": false, "archive": false}
	for name, has := range want {
		t.Run(string(name), func(t *testing.T) {
			if got, known := capabilities[name]; !known || got.Able != has {
				t.Errorf("capability %s is %v (%v), want %v", name, got, known, has)
			}
		})
	}
}

func TestProbe_CorroboratedHeadIsTheSecondHighestOfThree(t *testing.T) {
	t.Parallel()
	low, middle, ahead := probing(t, 1000), probing(t, 1003), probing(t, 1_001_000)
	p, _ := upstreamtest.NewChain(t, chain.EthMainnet, time.Now, upstreamtest.Providers(low, middle, ahead))
	for range 2 {
		s := probe(t, p, chain.EthMainnet)
		expect.Equal(t, s.Head, 1003)
		expect.True(t, s.HeadKnown)
		expect.True(t, s.Upstreams[0].Usable)
		expect.True(t, s.Upstreams[1].Usable)
	}
}

func TestProbe_OneOfTwoFarAheadEvictsNobody(t *testing.T) {
	t.Parallel()
	honest, ahead := probing(t, 1000), probing(t, 1000)
	p, _ := upstreamtest.NewChain(t, chain.EthMainnet, time.Now, upstreamtest.Providers(honest, ahead))
	probe(t, p, chain.EthMainnet)
	ahead.On("eth_blockNumber", testkit.Result("0xfffffff"))
	s := probe(t, p, chain.EthMainnet)
	expect.Equal(t, s.Head, 1000)
	expect.True(t, s.Upstreams[0].Usable)
	expect.False(t, s.Upstreams[1].Usable)
	expect.Equal(t, s.Upstreams[1].Reason, upstream.ReasonAhead)
}

func TestProbe_SilentUpstreamStaysProven(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(upstreamtest.Noon)
	u := probing(t, 1000)
	p, c := upstreamtest.NewChain(t, chain.EthMainnet, clock.Now, upstreamtest.Providers(u))
	probe(t, p, chain.EthMainnet)
	clock.Advance(identityPause)
	u.On("eth_chainId", testkit.Reset())
	s := probe(t, p, chain.EthMainnet)
	expect.False(t, s.Upstreams[0].Usable)
	expect.True(t, s.Upstreams[0].ChainIDOK)
	expect.False(t, s.HeadKnown)
	u.On("eth_chainId", testkit.Result("0x2"))
	if s = probe(t, p, chain.EthMainnet); s.Upstreams[0].ChainIDOK ||
		s.Upstreams[0].Reason != upstream.ReasonWrongChain {
		t.Errorf("moved to another chain, it is %+v", s.Upstreams[0])
	}
	c.Apply(s)
	if got := upstreamtest.Asked(t, c); got != "none" {
		t.Errorf("chose %s", got)
	}
}

func TestProbe_SpendsTwoCallsARoundAtMost(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(upstreamtest.Noon)
	u := probing(t, 1000)
	p, _ := upstreamtest.NewChain(t, chain.EthMainnet, clock.Now, upstreamtest.Providers(u))
	probe(t, p, chain.EthMainnet)
	u.Forget()
	for range 5 {
		clock.Advance(5 * time.Second)
		probe(t, p, chain.EthMainnet)
	}
	// One call per upstream for the head, and one per chain about the past.
	in := expect.In(t, "five rounds took")
	expect.Equal(in, u.Count("eth_blockNumber"), 5)
	expect.AtMost(in, u.Total()-5, 5)
	expect.Equal(in, u.Count("eth_getBlockByNumber"), u.Total()-5)
	for _, r := range u.Requests() {
		if strings.HasPrefix(r.Method, "eth_send") {
			t.Error("a probe submitted something")
		}
	}
}

func TestProbe_SolanaGoesBySlotAndGenesis(t *testing.T) {
	t.Parallel()
	u := testkit.Upstream(t)
	u.On("getGenesisHash", testkit.Result(solanaGenesis))
	u.On("getSlot", testkit.Result(300_000_000))
	p, _ := upstreamtest.NewChain(t, chain.SolanaMainnet, time.Now, upstreamtest.Providers(u))
	s := probe(t, p, chain.SolanaMainnet)
	if !s.Upstreams[0].Usable || s.Head != 300_000_000 {
		t.Errorf("head %d, upstream %+v", s.Head, s.Upstreams[0])
	}
}

func TestProbe_OverriddenChainIDIsTheOneThatCounts(t *testing.T) {
	t.Parallel()
	u := probing(t, 1000)
	u.On("eth_chainId", testkit.Result("0x539"))
	p, err := upstream.NewPool(config.Upstreams{Chains: map[string]config.ChainUpstreams{
		"eth_mainnet": {ChainID: 1337, Upstreams: upstreamtest.Providers(u)},
	}}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	if s := probe(t, p, chain.EthMainnet); !s.Upstreams[0].Usable {
		t.Errorf("it is %+v", s.Upstreams[0])
	}
}

func TestBoard_CarriesVerdictsBetweenProcesses(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = rdb.Close() })
	board := upstream.NewBoard(rdb)
	u := probing(t, 1000)
	u.On("eth_getBlockByNumber", testkit.ResultOf(func(r testkit.Request) any {
		numbers := map[string]string{`["safe",false]`: "0x3c8", `["finalized",false]`: "0x3a8"}
		return map[string]string{"number": numbers[string(r.Params)]}
	}))
	list := upstreamtest.Providers(u)
	list[0].URL += "/v2/canary-secret-path?key=canary-secret-query"
	worker, _ := upstreamtest.NewChain(t, chain.EthMainnet, time.Now, list)
	process, c := upstreamtest.NewChain(t, chain.EthMainnet, time.Now, list)
	ctx, cancel := context.WithCancel(t.Context())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		board.Watch(ctx, process, 5*time.Millisecond, slog.New(slog.DiscardHandler))
	}()
	if posted, err := board.Read(ctx, chain.EthMainnet); posted.Known || err != nil {
		t.Errorf("an empty board gives %+v, %v", posted, err)
	}
	snapshot := probe(t, worker, chain.EthMainnet)
	if err := board.Publish(ctx, snapshot); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, upstreamtest.Timeout, c.Measured, "the process reads the board")
	head, known := c.Head()
	require.True(t, known)
	expect.Equal(t, head, 1000)
	expect.Equal(t, upstreamtest.Asked(t, c), "up-0")
	want := chain.Heads{Latest: 1000, Safe: 968, Finalized: 936}
	if heads, known := c.CorroboratedHeads(); heads != want || !known {
		t.Errorf("the process weighs by %+v, want %+v", heads, want)
	}
	if raw, _ := json.Marshal(snapshot); strings.Contains(string(raw), "canary") ||
		strings.Contains(string(raw), "127.0.0.1") {
		t.Errorf("the snapshot shows an address: %s", raw)
	}
	server.Kill(t)
	if _, err := board.Read(ctx, chain.EthMainnet); err == nil {
		t.Error("a board that is gone can be read")
	}
	if upstreamtest.Asked(t, c) != "up-0" {
		t.Error("the last verdicts must stay in force while the board is gone")
	}
	cancel()
	<-watched
}
