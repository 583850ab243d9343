package rpc_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

// series returns the non-zero values of a metric family, by labels.
func series(g *apitest.Gateway, family string) map[string]string {
	g.T.Helper()
	found := map[string]string{}
	for line := range strings.Lines(g.Scrape()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if labels, ok := strings.CutPrefix(name, family+"{"); ok && value != "0" {
			found[strings.TrimSuffix(labels, "}")] = value
		}
	}
	return found
}

func wantSeries(g *apitest.Gateway, family string, want map[string]string) {
	g.T.Helper()
	got := series(g, family)
	for labels, value := range want {
		if got[labels] != value {
			g.T.Errorf("%s{%s} is %q, want %q", family, labels, got[labels], value)
		}
		delete(got, labels)
	}
	for labels, value := range got {
		g.T.Errorf("%s{%s} is %s, want none", family, labels, value)
	}
}

// After traffic, a scrape shows exactly that traffic: each call once, by class and outcome, with
// the units that it was charged.
func TestMetrics_CountEveryCallOnceWithItsCharge(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	g.All(testkit.Result("0x1"))
	for _, u := range g.Ups {
		u.On("eth_getCode", testkit.Error(3, "execution reverted"))
		u.On("eth_getBalance", testkit.Status(http.StatusInternalServerError))
		u.On("eth_sendRawTransaction", testkit.Status(http.StatusBadGateway))
		u.On("debug_traceTransaction", testkit.Result(strings.Repeat("ab", 400_000)))
	}
	g.RPC(key, chain.EthMainnet, apitest.Call("eth_call", `[{},"latest"]`)).Result()
	g.RPC(key, chain.EthMainnet, apitest.Call("eth_call", `[{},"latest"]`), "X-Route-Tier", "fast").Result()
	g.RPC(key, chain.EthMainnet, apitest.Call("eth_call", `[{},"latest"]`), "X-Route-Tier", "cheap").Result()
	g.RPC(key, chain.EthMainnet, apitest.Call("eth_getCode", `["0x0000000000000000000000000000000000000001","latest"]`))
	g.RPC(key, chain.EthMainnet, apitest.Call("debug_traceTransaction", `["0x01"]`)).Result()
	g.Eth(key, "eth_chainId").Result()
	g.Eth(key, "eth_accounts").Refused(http.StatusNotFound, -32601)
	g.RPC(key, chain.EthMainnet,
		apitest.Call("eth_getBalance", `["0x0000000000000000000000000000000000000001","latest"]`)).Refused(
		http.StatusBadGateway, -32022)
	g.RPC(key, chain.EthMainnet, apitest.Call("eth_sendRawTransaction",
		`["0x02f86b010780"]`)).Refused(http.StatusConflict,
		-32017)
	g.RPC(key, chain.EthMainnet, "["+apitest.Call("eth_call", `[{},"latest"]`)+","+apitest.Call("eth_chainId", "[]")+
		","+apitest.Call("no_such",
		"[]")+"]")
	g.RPC(key, chain.SolanaMainnet, apitest.Call("getBalance", `["11111111111111111111111111111111"]`)).Result()
	g.RPC(key, "no_such_chain", apitest.Call("eth_call", "[]")).Refused(http.StatusNotFound, -32600)
	g.Eth("", "eth_chainId").Refused(http.StatusUnauthorized, -32001)

	wantSeries(g, "gateway_requests_total", map[string]string{
		`chain="eth_mainnet",class="standard",outcome="ok"`:             "4",
		`chain="eth_mainnet",class="standard",outcome="upstream_error"`: "1",
		`chain="eth_mainnet",class="standard",outcome="hit"`:            "2",
		`chain="eth_mainnet",class="standard",outcome="failed"`:         "1",
		`chain="eth_mainnet",class="heavy",outcome="ok"`:                "1",
		`chain="eth_mainnet",class="write",outcome="outcome_unknown"`:   "1",
		`chain="eth_mainnet",class="none",outcome="refused"`:            "2",
		`chain="solana_mainnet",class="standard",outcome="ok"`:          "1",
		`chain="none",class="none",outcome="refused"`:                   "1",
	})
	wantSeries(g, "gateway_charged_units_total", map[string]string{
		`chain="eth_mainnet",class="standard",tier="balanced"`:    "3",
		`chain="eth_mainnet",class="standard",tier="fast"`:        "2",
		`chain="eth_mainnet",class="standard",tier="cheap"`:       "0.5",
		`chain="eth_mainnet",class="heavy",tier="balanced"`:       "2",
		`chain="solana_mainnet",class="standard",tier="balanced"`: "1",
	})
	wantSeries(g, "gateway_refusals_total", map[string]string{
		`code="-32601",reason="method_not_served"`: "2",
		`code="-32022",reason="upstream_failed"`:   "1",
		`code="-32017",reason="outcome_unknown"`:   "1",
		`code="-32600",reason="unknown_chain"`:     "1",
		`code="-32001",reason="key_invalid"`:       "1",
	})
	const up0, up1, eth, sol = `upstream="up-0"`, `upstream="up-1"`, `chain="eth_mainnet",`, `chain="solana_mainnet",`
	wantSeries(g, "gateway_upstream_attempts_total", map[string]string{
		eth + `outcome="answer",` + up0: "6", sol + `outcome="answer",` + up0: "1",
		eth + `outcome="broken",` + up0: "1", eth + `outcome="broken",` + up1: "1",
		eth + `outcome="write_lost",` + up0: "1",
	})
	wantSeries(g, "gateway_upstream_attempt_duration_seconds_count", map[string]string{
		eth + `result="answered",` + up0: "6", sol + `result="answered",` + up0: "1",
		eth + `result="failed",` + up0: "2", eth + `result="failed",` + up1: "1",
	})
	wantSeries(g, "gateway_upstream_usable", map[string]string{
		eth + up0: "1", eth + up1: "1", sol + up0: "1", sol + up1: "1",
	})
	wantSeries(g, "gateway_chain_head_block", map[string]string{
		`chain="eth_mainnet"`: "1e+06", `chain="solana_mainnet"`: "1e+06",
	})
	wantSeries(g, "gateway_refunds_total", map[string]string{`result="given_back"`: "2"})
	wantSeries(g, "gateway_streamed_answers_total", map[string]string{`chain="eth_mainnet"`: "1"})
	wantSeries(g, "gateway_call_duration_seconds_count", map[string]string{
		`chain="eth_mainnet",part="gate"`: "12", `chain="eth_mainnet",part="total"`: "12",
		`chain="eth_mainnet",part="route"`: "8", `chain="eth_mainnet",part="upstream"`: "8",
		`chain="solana_mainnet",part="gate"`: "1", `chain="solana_mainnet",part="total"`: "1",
		`chain="solana_mainnet",part="route"`: "1", `chain="solana_mainnet",part="upstream"`: "1",
		`chain="none",part="gate"`: "1", `chain="none",part="total"`: "1",
	})
}

// Nothing that a client sends becomes a label: not its chain, method, tier, id, address, headers or
// key.
func TestMetrics_NoLabelComesFromAClient(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	const mark = "Zq7client"
	g.RPC(key, chain.ID(mark), apitest.Call("eth_call", "[]"))
	g.RPC(key, chain.EthMainnet, apitest.Call(mark, "[]"), "X-Route-Tier", "fast", "User-Agent", mark, "X-Request-Id",
		mark,
		"Traceparent", mark)
	g.RPC(key, chain.EthMainnet, apitest.Call("eth_call", `["`+mark+`"]`), "X-Route-Tier", mark)
	g.RPC(key, chain.EthMainnet, `{"jsonrpc":"2.0","id":"`+mark+`","method":"eth_chainId"}`)
	g.RPC("cag_"+mark, chain.EthMainnet, apitest.Call("eth_chainId", "[]"))
	g.Ask(http.MethodPost, "/"+mark, key, mark)
	g.Ask(mark, "/rpc/eth_mainnet", key, mark)
	if strings.Contains(g.Scrape(), mark) {
		t.Error("a label holds what a client sent")
	}
	var chains, reasons []string
	for _, c := range chain.BuiltIn().All() {
		chains = append(chains, string(c.ID))
	}
	for _, e := range fault.Table() {
		reasons = append(reasons, e.Name)
	}
	allowed := map[string][]string{
		"chain": append(chains, "none"), "class": {"standard", "heavy", "write", "none"}, "reason": reasons,
		"outcome": {"ok", "upstream_error", "hit", "refused", "failed", "outcome_unknown", "client_gone"},
	}
	for _, tier := range plan.Tiers() {
		allowed["tier"] = append(allowed["tier"], string(tier))
	}
	families, err := g.Metrics.Registry.Gather()
	g.Must(err)
	for _, f := range families {
		if f.GetName() == "gateway_upstream_attempts_total" {
			continue // its outcomes are the upstreams' own
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if words, bounded := allowed[l.GetName()]; bounded && !slices.Contains(words, l.GetValue()) {
					t.Errorf("%s has %s=%q, which is no word of ours", f.GetName(), l.GetName(), l.GetValue())
				}
			}
		}
	}
}
