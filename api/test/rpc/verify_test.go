package rpc_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

const (
	verify   = "X-Route-Verify"
	verified = "X-Route-Verified"
)

// voters starts a gateway with n upstreams, of which the first is preferred.
func voters(t *testing.T, n int) *apitest.Gateway {
	t.Helper()
	return apitest.Setup(t, func(o *apitest.Options) { o.Upstreams = n })
}

// balance asks for a balance at the head.
func balance(g *apitest.Gateway, key string, headers ...string) apitest.Answer {
	g.T.Helper()
	return g.RPC(key, chain.EthMainnet, apitest.Call("eth_getBalance", `["0xaa","latest"]`), headers...)
}

// charged returns the units that f charges to the key.
func charged(g *apitest.Gateway, key string, f func()) plan.Units {
	g.T.Helper()
	kept := func() plan.Units { u := g.Usage(key); return u["ok"].Units + u["refund"].Units }
	before := kept()
	f()
	return kept() - before
}

func TestVerify_AnAgreedAnswerIsChargedOncePerUpstream(t *testing.T) {
	t.Parallel()
	g := voters(t, 3)
	key := g.Unlimited()
	g.AllOn("eth_getBalance", testkit.Result("0x5"))
	for _, n := range []int{2, 3} {
		units := charged(g, key, func() {
			a := balance(g, key, verify, fmt.Sprint(n))
			expect.Equal(t, a.Result(), `"0x5"`)
			expect.Equal(t, a.Header.Get(verified), fmt.Sprintf("%d of %d", n, n))
		})
		expect.Equal(t, units, plan.Units(n)*plan.Unit, fmt.Sprintf("units of a call that %d verified", n))
	}
	expect.Equal(t, g.Sent("eth_getBalance"), 5, "requests to upstreams")
	a := balance(g, key)
	expect.Equal(t, a.Header.Get(verified), "", "without the header")
}

func TestVerify_ALiarIsOutvotedCountedAndAskedLast(t *testing.T) {
	t.Parallel()
	g := voters(t, 3)
	key := g.Unlimited()
	g.AllOn("eth_getBalance", testkit.Result("0x5"))
	g.Ups[0].On("eth_getBalance", testkit.Result("0x6"))
	for range 3 {
		a := balance(g, key, verify, "2")
		expect.Equal(t, a.Result(), `"0x5"`)
		expect.Equal(t, a.Header.Get(verified), "2 of 3")
	}
	on, _ := g.Pool.Chain(chain.EthMainnet)
	figures := on.Figures()
	expect.Equal(t, figures[0].Disagreed, int64(3), "lies of the liar")
	expect.Equal(t, figures[1].Disagreed+figures[2].Disagreed, int64(0), "lies of the others")
	expect.Contains(t, g.Scrape(),
		`gateway_upstream_compared_results_total{chain="eth_mainnet",result="disagreed",upstream="up-0"} 3`)
	asked := g.Ups[0].Count("eth_getBalance")
	expect.Equal(t, balance(g, key).Result(), `"0x5"`, "read without the header")
	expect.Equal(t, balance(g, key, verify, "2").Header.Get(verified), "2 of 2")
	expect.Equal(t, g.Ups[0].Count("eth_getBalance"), asked, "requests to the preferred upstream, since it lied")
}

func TestVerify_UpstreamsThatDisagreeForEverAreRefusedAndRefunded(t *testing.T) {
	t.Parallel()
	g := voters(t, 7)
	key := g.Unlimited()
	for i, u := range g.Ups {
		u.On("eth_getBalance", testkit.Result(fmt.Sprintf("%#x", i)))
	}
	units := charged(g, key, func() {
		a := balance(g, key, verify, "2")
		data := a.Refused(502, -32022)
		expect.Equal(t, data["asked"], any(float64(5)))
		expect.Equal(t, data["agreed"], any(float64(1)))
		expect.Equal(t, a.Header.Get("Retry-After"), "1")
		expect.Equal(t, a.Header.Get(verified), "")
	})
	expect.Equal(t, units, plan.Units(0), "units that are left of the charge")
	expect.Equal(t, g.Usage(key)["refund"], apitest.Figures{Requests: -1, Units: -2 * plan.Unit})
	expect.Equal(t, g.Sent("eth_getBalance"), 5, "requests, of seven upstreams")
	on, _ := g.Pool.Chain(chain.EthMainnet)
	for _, f := range on.Figures() {
		expect.Equal(t, f.Disagreed, int64(0), f.Upstream)
	}
}

func TestVerify_TooFewUpstreamsAreRefusedBeforeTheCharge(t *testing.T) {
	t.Parallel()
	g := voters(t, 1)
	key := g.Unlimited()
	data := balance(g, key, verify, "2").Refused(400, -32602)
	expect.Equal(t, data["upstreams"], any(float64(1)))
	expect.Equal(t, g.Sent("eth_getBalance"), 0, "requests to the only upstream")
	expect.Equal(t, g.Usage(key)["ok"], apitest.Figures{}, "charged")

	g = voters(t, 3)
	key = g.Unlimited()
	on, _ := g.Pool.Chain(chain.EthMainnet)
	s := upstream.Snapshot{Chain: chain.EthMainnet, MeasuredAt: time.Now(), Head: apitest.Head, HeadKnown: true}
	for i := range 3 {
		name := fmt.Sprintf("up-%d", i)
		s.Upstreams = append(s.Upstreams, upstream.UpstreamState{
			Name: name, Fingerprint: on.Fingerprint(name), Usable: i < 2, ChainIDOK: true, Head: apitest.Head,
		})
	}
	on.Apply(s)
	data = balance(g, key, verify, "3").Refused(503, -32020)
	expect.Equal(t, data["upstreams"], any(float64(2)))
	expect.Equal(t, g.Sent("eth_getBalance"), 0, "requests to the two that could be asked")
	expect.Equal(t, g.Usage(key)["ok"], apitest.Figures{}, "charged")
}

func TestVerify_RefusesWhatEachUpstreamAnswersForItself(t *testing.T) {
	t.Parallel()
	g := voters(t, 2)
	key := g.Unlimited()
	for method, params := range map[string]string{
		"eth_gasPrice": `[]`, "eth_blockNumber": `[]`, "eth_estimateGas": `[{}]`, "web3_clientVersion": `[]`,
		"eth_feeHistory": `["0x1","latest",[]]`, "eth_sendRawTransaction": `["0x02"]`,
		"eth_getBalance": `["0xaa","pending"]`,
		"eth_call":       `[{},"pending"]`, "eth_getLogs": `[{"toBlock":"pending"}]`,
	} {
		t.Run(method, func(t *testing.T) {
			g.RPC(key, chain.EthMainnet, apitest.Call(method, params), verify, "2").Refused(400, -32602)
			expect.Equal(t, g.Sent(method), 0, "calls that were relayed")
		})
	}
	expect.Equal(t, g.Usage(key)["ok"], apitest.Figures{}, "charged")
}

func TestVerify_RefusesAnotherValue(t *testing.T) {
	t.Parallel()
	g := voters(t, 2)
	key := g.Unlimited()
	for _, value := range []string{"1", "4", "+2", "02", "2.0", "two", "2, 2"} {
		balance(g, key, verify, value).Refused(400, -32602)
	}
	expect.Equal(t, g.Sent("eth_getBalance"), 0, "calls that were relayed")
	expect.Equal(t, g.Usage(key)["ok"], apitest.Figures{}, "charged")
}

func TestVerify_HoldsForEachItemOfABatch(t *testing.T) {
	t.Parallel()
	g := voters(t, 3)
	key := g.Unlimited()
	g.AllOn("eth_getBalance", testkit.Result("0x5"))
	g.AllOn("eth_getCode", testkit.Result("0x60"))
	g.Ups[0].On("eth_getCode", testkit.Result("0x61"))
	body := `[` + strings.Join([]string{
		apitest.Call("eth_getBalance", `["0xaa","latest"]`), apitest.Call("eth_gasPrice", `[]`),
		apitest.Call("eth_getCode", `["0xaa","latest"]`),
	}, ",") + `]`
	units := charged(g, key, func() {
		a := g.RPC(key, chain.EthMainnet, body, verify, "2")
		items := a.Batch(3)
		expect.Equal(t, string(items[0].Result), `"0x5"`)
		expect.NotEqual(t, items[1].Error, nil, "an item that cannot be verified")
		expect.Equal(t, string(items[2].Result), `"0x60"`)
		expect.Equal(t, a.Header.Get(verified), "2 of 3")
	})
	expect.Equal(t, units, 4*plan.Unit, "units of two calls that two verified")
}

func TestVerify_NeitherReadsTheCacheNorSkipsToFillIt(t *testing.T) {
	t.Parallel()
	g := voters(t, 2)
	key := g.Unlimited()
	g.All(apitest.Node(apitest.Deepest))
	call := apitest.Call("eth_getBlockByHash", fmt.Sprintf(`[%q,false]`, apitest.Hash(7)))
	first := g.RPC(key, chain.EthMainnet, call, verify, "2")
	first.Result()
	expect.Equal(t, first.Header.Get(verified), "2 of 2")
	again := g.RPC(key, chain.EthMainnet, call, verify, "2")
	expect.Equal(t, again.Header.Get(verified), "2 of 2", "a verified read of a cached answer")
	expect.Equal(t, g.Sent("eth_getBlockByHash"), 4, "requests to upstreams")
	expect.Equal(t, g.RPC(key, chain.EthMainnet, call).Hit(), true, "the answer was kept")
}

func TestVerify_ALongAnswerIsComparedWhole(t *testing.T) {
	t.Parallel()
	g := voters(t, 3)
	key := g.Unlimited()
	long := "0x" + strings.Repeat("ab", 300<<10)
	g.AllOn("eth_call", testkit.Result(long))
	g.Ups[0].On("eth_call", testkit.Result(long[:len(long)-2]+"ac"))
	a := g.RPC(key, chain.EthMainnet, apitest.Call("eth_call", `[{},"latest"]`), verify, "2")
	expect.Equal(t, len(a.Result()), len(long)+2)
	expect.Equal(t, strings.HasSuffix(a.Result(), `abab"`), true, "the end that most gave")
	expect.Equal(t, a.Header.Get(verified), "2 of 3")
}

func TestVerify_AnswersOfOneReversionAgree(t *testing.T) {
	t.Parallel()
	g := voters(t, 2)
	key := g.Unlimited()
	g.Ups[0].On("eth_call", testkit.Error(3, "execution reverted"))
	g.Ups[1].On("eth_call", testkit.Error(-32000, "execution reverted: no reason"))
	a := g.RPC(key, chain.EthMainnet, apitest.Call("eth_call", `[{},"latest"]`), verify, "2")
	expect.Equal(t, a.Status, 200)
	expect.NotEqual(t, a.Envelope().Error, nil, "the node's error")
	expect.Equal(t, a.Header.Get(verified), "2 of 2")
}

func TestVerify_TheOperatorsDefaultIsChargedOnce(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) {
		o.Upstreams, o.Verify, o.Chains = 3, map[string]int{"eth_getBalance": 2}, []chain.ID{chain.EthMainnet}
	})
	key := g.Unlimited()
	g.AllOn("eth_getBalance", testkit.Result("0x5"))
	g.AllOn("eth_getCode", testkit.Result("0x60"))
	for _, step := range []struct {
		header, agreed string
		units          plan.Units
	}{{"", "2 of 2", 1}, {"2", "2 of 2", 1}, {"3", "3 of 3", 3}} {
		units := charged(g, key, func() {
			var headers []string
			if step.header != "" {
				headers = []string{verify, step.header}
			}
			expect.Equal(t, balance(g, key, headers...).Header.Get(verified), step.agreed, step.header)
		})
		expect.Equal(t, units, step.units*plan.Unit, "units with the header "+step.header)
	}
	other := g.RPC(key, chain.EthMainnet, apitest.Call("eth_getCode", `["0xaa","latest"]`))
	expect.Equal(t, other.Header.Get(verified), "", "another method")
	pending := g.RPC(key, chain.EthMainnet, apitest.Call("eth_getBalance", `["0xaa","pending"]`))
	expect.Equal(t, pending.Result(), `"0x5"`)
	expect.Equal(t, pending.Header.Get(verified), "", "a pending block, which nobody can verify")
}
