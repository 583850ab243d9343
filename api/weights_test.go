package api_test

import (
	"testing"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

func TestWeight_IsTheSameOnEveryPlan(t *testing.T) {
	t.Parallel()
	g := setup(t)
	keys := map[string]string{"an anonymous key": g.doorKey()}
	for _, p := range plan.All() {
		keys[p.Key] = g.accountKey(p.Key)
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
			g.rpc(key, chain.EthMainnet, call(row.method, row.params)).result()
			want += row.units
		}
		over := g.rpc(key, chain.EthMainnet, call("eth_getLogs", `[{"fromBlock":"0x1","toBlock":"0x3e9"}]`))
		over.refused(400, -32602)
		if got := g.usage(key)["ok"].units; got != want {
			t.Errorf("on %s the calls cost %d, want %d", name, got, want)
		}
	}
}
