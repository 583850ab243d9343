package rpc_test

import (
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

func TestWeight_IsTheSameOnEveryPlan(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	g.AllOn("eth_getLogs", testkit.Result([]string{}))
	keys := map[string]string{"an anonymous key": g.DoorKey()}
	for _, p := range plan.All() {
		keys[p.Key] = g.AccountKey(p.Key)
	}
	for name, key := range keys {
		var want plan.Units
		for _, row := range []struct {
			method, params string
			units          plan.Units
		}{
			{"eth_call", `[]`, 1000},
			{"debug_traceCall", `[]`, 2000},
			{"eth_getLogs", `[{"fromBlock":"0xf4100","toBlock":"0xf4180"}]`, 2000},
			{"eth_getBalance", `["0x0","earliest"]`, 2000},
		} {
			g.RPC(key, chain.EthMainnet, apitest.Call(row.method, row.params)).Result()
			want += row.units
		}
		over := g.RPC(key, chain.EthMainnet, apitest.Call("eth_getLogs", `[{"fromBlock":"0x1","toBlock":"0x3e9"}]`))
		over.Refused(400, -32602)
		if got := g.Usage(key)["ok"].Units; got != want {
			t.Errorf("on %s the calls cost %d, want %d", name, got, want)
		}
	}
}

func TestLogRange_APlanMayHaveALargerCap(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.LogBlocks = map[string]uint64{plan.Growth: 2000} })
	g.AllOn("eth_getLogs", testkit.Result([]string{}))
	const (
		within = `[{"fromBlock":"0x1","toBlock":"0x7d0"}]` // 2,000 blocks
		beyond = `[{"fromBlock":"0x1","toBlock":"0x7d1"}]`
	)
	key := g.AccountKey(plan.Growth)
	expect.Equal(t, g.RPC(key, chain.EthMainnet, apitest.Call("eth_getLogs", within)).Result(), "[]")
	data := g.RPC(key, chain.EthMainnet, apitest.Call("eth_getLogs", beyond)).Refused(400, -32602)
	expect.Equal(t, data["max_blocks"], any(float64(2000)), "the cap that the refusal names")
	expect.Equal(t, g.Usage(key)["ok"], apitest.Figures{Requests: 1, Units: 2000}, "charged")
	other := g.AccountKey(plan.Pro)
	data = g.RPC(other, chain.EthMainnet, apitest.Call("eth_getLogs", within)).Refused(400, -32602)
	expect.Equal(t, data["max_blocks"], any(float64(1000)), "the cap of another plan")
}

func TestWeight_OfSafeAndFinalizedIsThatOfTheirBlocks(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	g.AllOn("eth_getLogs", testkit.Result([]string{}))
	on, _ := g.Pool.Chain(chain.EthMainnet)
	apply := func(safe, finalized uint64) {
		at := time.Now()
		on.Apply(upstream.Snapshot{
			Chain: chain.EthMainnet, MeasuredAt: at, Head: apitest.Head, HeadKnown: true,
			Safe:      upstream.DeepHead{Number: safe, VouchedAt: at},
			Finalized: upstream.DeepHead{Number: finalized, VouchedAt: at},
		})
	}
	const fromFinalized = `[{"fromBlock":"finalized","toBlock":"latest"}]`
	charged := func(method, params string) plan.Units {
		before := g.Usage(key)["ok"].Units
		g.RPC(key, chain.EthMainnet, apitest.Call(method, params)).Result()
		return g.Usage(key)["ok"].Units - before
	}
	check := func(when string, want plan.Units) {
		t.Helper()
		for method, params := range map[string]string{
			"eth_getBalance": `["0x0","finalized"]`, "eth_getLogs": fromFinalized,
		} {
			if got := charged(method, params); got != want {
				t.Errorf("%s: %s costs %d, want %d", when, method, got, want)
			}
		}
	}
	check("while it is not known", 1000)
	apply(apitest.Head-128, apitest.Head-1000)
	before := g.Usage(key)["ok"].Units
	over := g.RPC(key, chain.EthMainnet, apitest.Call("eth_getLogs", fromFinalized))
	over.Refused(400, -32602)
	if !strings.Contains(over.Body, "999000 to 1000000 are more") {
		t.Errorf("the refusal does not name the blocks: %s", over.Body)
	}
	if after := g.Usage(key)["ok"].Units; after != before {
		t.Errorf("the refusal cost %d", after-before)
	}
	apply(apitest.Head-128, apitest.Head-500)
	check("500 blocks below the head", 2000)
	if got := charged("eth_getBalance", `["0x0","safe"]`); got != 1000 {
		t.Errorf("128 blocks below the head, it costs %d", got)
	}
}
