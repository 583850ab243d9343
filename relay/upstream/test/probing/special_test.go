package probing

import (
	"net/http"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/price"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/relay/upstream/internal/upstreamtest"
)

// A private endpoint may serve nothing but submissions, so only one that names another chain is
// left out, and one that cannot be reached comes last.
func TestSpecial_ProbesAskWhichChainItIsOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply          testkit.Reply
		isOf, isUsable bool
		reason         string
	}{
		"answers":      {testkit.Result("0x1"), true, true, ""},
		"refuses":      {testkit.Error(-32601, "the method does not exist"), true, true, ""},
		"forbids":      {testkit.Raw(http.StatusForbidden, "text/plain", "no"), true, true, ""},
		"other chain":  {testkit.Result("0x2105"), false, false, "wrong_chain"},
		"does not say": {testkit.Reset(), true, false, "unreachable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node, private := testkit.Upstream(t), testkit.Upstream(t)
			node.On("eth_chainId", testkit.Result("0x1"))
			node.On("eth_blockNumber", testkit.Result("0x100"))
			private.On("eth_chainId", c.reply)
			list := upstreamtest.Providers(node)
			list = append(list, config.Upstream{
				Name: "private", URL: private.URL, Kind: config.KindPrivate, Supply: string(plan.Public),
			})
			pool, on := upstreamtest.NewChain(t, chain.EthMainnet, time.Now, list)
			s, err := pool.Probe(upstreamtest.Context(t), chain.EthMainnet)
			require.NoError(t, err)
			require.Len(t, s.Special, 1)
			expect.Equal(t, s.Special[0].ChainIDOK, c.isOf, "of the chain")
			expect.Equal(t, s.Special[0].Usable, c.isUsable, "usable")
			expect.Equal(t, s.Special[0].Reason, c.reason)
			expect.Equal(t, private.Count("eth_blockNumber"), 0, "heads asked of it")
			expect.Len(t, s.Upstreams, 1, "nodes")

			on.Apply(s)
			ask := upstreamtest.Call("eth_sendRawTransaction")
			private.On("eth_sendRawTransaction", testkit.Result("0x01"))
			answer, failure := on.PrivateEndpoints().Submit(upstreamtest.Context(t), ask)
			if failure == nil {
				answer.Release()
			}
			expect.Equal(t, failure == nil, c.isOf, "submissions are taken")
		})
	}
}

// An endpoint that named another chain stays unused while it says nothing, and returns when it
// names the right one.
func TestSpecial_AWrongChainIsRememberedUntilItNamesTheRightOne(t *testing.T) {
	t.Parallel()
	node, private := testkit.Upstream(t), testkit.Upstream(t)
	node.On("eth_chainId", testkit.Result("0x1"))
	node.On("eth_blockNumber", testkit.Result("0x100"))
	list := append(upstreamtest.Providers(node), config.Upstream{
		Name: "private", URL: private.URL, Kind: config.KindPrivate, Supply: string(plan.Public),
	})
	pool, _ := upstreamtest.NewChain(t, chain.EthMainnet, time.Now, list)
	for _, step := range []struct {
		reply testkit.Reply
		isOf  bool
	}{
		{testkit.Result("0x2105"), false},
		{testkit.Raw(http.StatusTooManyRequests, "text/plain", "slow down"), false},
		{testkit.Error(-32601, "the method does not exist"), false},
		{testkit.Reset(), false},
		{testkit.Result("0x1"), true},
	} {
		private.On("eth_chainId", step.reply)
		s, err := pool.Probe(upstreamtest.Context(t), chain.EthMainnet)
		require.NoError(t, err)
		require.Len(t, s.Special, 1)
		expect.Equal(t, s.Special[0].ChainIDOK, step.isOf, "of the chain")
		expect.Equal(t, s.Special[0].Usable, step.isOf, "usable")
	}
}

// A reload keeps a special upstream that did not change, and takes away one that the file lacks.
func TestSpecial_ReloadKeepsWhatDidNotChange(t *testing.T) {
	t.Parallel()
	node, private := testkit.Upstream(t), testkit.Upstream(t)
	nodes := upstreamtest.Providers(node)
	special := config.Upstream{Name: "private", URL: private.URL, Kind: config.KindPrivate, Supply: string(plan.Public)}
	file := func(list ...config.Upstream) config.Upstreams {
		return config.Upstreams{Chains: map[string]config.ChainUpstreams{string(chain.EthMainnet): {Upstreams: list}}}
	}
	pool, _ := upstreamtest.NewChain(t, chain.EthMainnet, time.Now, append(nodes, special))
	counts, err := pool.Reload(file(append(nodes, special)...))
	require.NoError(t, err)
	expect.Equal(t, counts.Kept, 2, "upstreams kept")
	counts, err = pool.Reload(file(nodes...))
	require.NoError(t, err)
	expect.Equal(t, counts.Removed, 1, "upstreams removed")
	on, _ := pool.Chain(chain.EthMainnet)
	expect.Equal(t, on.PrivateEndpoints() == nil, true, "no private endpoint is left")
	expect.Equal(t, on.Fingerprint("private"), "", "its fingerprint")
}

// withPrivate returns a chain with a node and a private endpoint that answer probes.
func withPrivate(t *testing.T, now func() time.Time) (*upstream.Pool, *upstream.Chain, *testkit.UpstreamServer) {
	t.Helper()
	node, private := testkit.Upstream(t), testkit.Upstream(t)
	node.On("eth_blockNumber", testkit.Result("0x100"))
	for _, u := range []*testkit.UpstreamServer{node, private} {
		u.On("eth_chainId", testkit.Result("0x1"))
	}
	list := append(upstreamtest.Providers(node), config.Upstream{
		Name: "private", URL: private.URL, Kind: config.KindPrivate, Supply: string(plan.Public),
		Price: &price.Setting{USDPerMillion: 0.4, Default: 10},
	})
	pool, on := upstreamtest.NewChain(t, chain.EthMainnet, now, list)
	return pool, on, private
}

// A verdict that a round takes over from an earlier one says nothing of how an endpoint is now.
func TestSpecial_AVerdictOfAnEarlierRoundIsNoSuccess(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(upstreamtest.Noon)
	pool, on, private := withPrivate(t, clock.Now)
	probed := func() {
		s, err := pool.Probe(upstreamtest.Context(t), chain.EthMainnet)
		require.NoError(t, err)
		on.Apply(s)
	}
	out := func() int {
		for _, f := range on.Figures() {
			if f.Upstream == "private" {
				return f.Out
			}
		}
		return -1
	}
	probed()
	private.On("eth_sendRawTransaction", testkit.Status(http.StatusServiceUnavailable))
	for range 10 { // as many as an upstream is judged by
		_, failure := on.PrivateEndpoints().Submit(upstreamtest.Context(t), upstreamtest.Call("eth_sendRawTransaction"))
		require.True(t, failure != nil)
	}
	require.Equal(t, out(), 1)
	asked := private.Count("eth_chainId")
	for range 5 {
		clock.Advance(11 * time.Second)
		probed()
	}
	require.Equal(t, private.Count("eth_chainId"), asked)
	expect.Equal(t, out(), 1, "excluded")
	for range 3 {
		clock.Advance(time.Minute)
		probed()
	}
	expect.Equal(t, out(), 0, "excluded, after it was asked again")
}

func TestSpecial_CordonAndCostsHold(t *testing.T) {
	t.Parallel()
	pool, on, private := withPrivate(t, time.Now)
	private.On("eth_sendRawTransaction", testkit.Result("0x01"))
	s, err := pool.Probe(upstreamtest.Context(t), chain.EthMainnet)
	require.NoError(t, err)
	board := upstreamtest.NewBoard(t)
	require.NoError(t, board.Publish(t.Context(), s))
	upstreamtest.WatchBoard(t, board, pool)

	ask := upstreamtest.Call("eth_sendRawTransaction")
	answer, failure := on.PrivateEndpoints().Submit(upstreamtest.Context(t), ask)
	require.True(t, failure == nil)
	answer.Release()
	expect.Greater(t, ask.Asked.Cost, 0)

	by := upstream.Cordon{By: "operator@host", At: upstreamtest.Noon, Reason: "it shows transactions"}
	require.NoError(t, board.Cordon(t.Context(), chain.EthMainnet, "private", by))
	testkit.Eventually(t, upstreamtest.Timeout, func() bool {
		answer, failure := on.PrivateEndpoints().Submit(upstreamtest.Context(t), ask)
		if failure == nil {
			answer.Release()
			return false
		}
		return failure.Reason == fault.NoUpstream
	}, "the cordon is in force")
}

// What clients were told of a chain says nothing of another one under the same name.
func TestHeads_BelongToAChainID(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(&redis.Options{Addr: testkit.Redis(t).Addr})
	t.Cleanup(func() { _ = rdb.Close() })
	head := func(chainID, probed uint64) uint64 {
		node := testkit.Upstream(t)
		pool, err := upstream.NewPool(config.Upstreams{Chains: map[string]config.ChainUpstreams{
			string(chain.EthMainnet): {ChainID: chainID, Upstreams: upstreamtest.Providers(node)},
		}}, time.Now)
		require.NoError(t, err)
		t.Cleanup(pool.Close)
		upstream.NewBoard(rdb).ShareHeads(pool)
		on, _ := pool.Chain(chain.EthMainnet)
		s := upstreamtest.Healthy(on, time.Now())
		s.ChainID, s.Head = on.ChainID, probed
		for i := range s.Upstreams {
			s.Upstreams[i].Head = probed
		}
		on.Apply(s)
		var told uint64
		testkit.Eventually(t, upstreamtest.Timeout, func() bool {
			told = on.FreshHeads(t.Context(), time.Now()).Latest
			return told > 0
		}, "a head is told")
		return told
	}
	expect.Equal(t, head(0, 1_000_000), 1_000_000)
	expect.Equal(t, head(31337, 5), 5, "the head of another chain id")
}
