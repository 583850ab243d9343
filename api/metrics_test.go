package api_test

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

// scrape returns the gateway's metrics in the exposition format.
func (g *gateway) scrape() string {
	g.t.Helper()
	families, err := g.metrics.Registry.Gather()
	g.must(err)
	var out bytes.Buffer
	for _, f := range families {
		_, err := expfmt.MetricFamilyToText(&out, f)
		g.must(err)
	}
	return out.String()
}

// series returns the non-zero values of a metric family, by labels.
func (g *gateway) series(family string) map[string]string {
	g.t.Helper()
	found := map[string]string{}
	for line := range strings.Lines(g.scrape()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		if labels, ok := strings.CutPrefix(name, family+"{"); ok && value != "0" {
			found[strings.TrimSuffix(labels, "}")] = value
		}
	}
	return found
}

func (g *gateway) expect(family string, want map[string]string) {
	g.t.Helper()
	got := g.series(family)
	for labels, value := range want {
		if got[labels] != value {
			g.t.Errorf("%s{%s} is %q, want %q", family, labels, got[labels], value)
		}
		delete(got, labels)
	}
	for labels, value := range got {
		g.t.Errorf("%s{%s} is %s, want none", family, labels, value)
	}
}

// After traffic, a scrape shows exactly that traffic: each call once, by class and outcome, with
// the units that it was charged.
func TestMetrics_CountEveryCallOnceWithItsCharge(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	g.all(testkit.Result("0x1"))
	for _, u := range g.ups {
		u.On("eth_getCode", testkit.Error(3, "execution reverted"))
		u.On("eth_getBalance", testkit.Status(http.StatusInternalServerError))
		u.On("eth_sendRawTransaction", testkit.Status(http.StatusBadGateway))
		u.On("debug_traceTransaction", testkit.Result(strings.Repeat("ab", 400_000)))
	}
	g.rpc(key, chain.EthMainnet, call("eth_call", `[{},"latest"]`)).result()
	g.rpc(key, chain.EthMainnet, call("eth_call", `[{},"latest"]`), "X-Route-Tier", "fast").result()
	g.rpc(key, chain.EthMainnet, call("eth_call", `[{},"latest"]`), "X-Route-Tier", "cheap").result()
	g.rpc(key, chain.EthMainnet, call("eth_getCode", `["0x0000000000000000000000000000000000000001","latest"]`))
	g.rpc(key, chain.EthMainnet, call("debug_traceTransaction", `["0x01"]`)).result()
	g.eth(key, "eth_chainId").result()
	g.eth(key, "eth_accounts").refused(http.StatusNotFound, -32601)
	g.rpc(key, chain.EthMainnet,
		call("eth_getBalance", `["0x0000000000000000000000000000000000000001","latest"]`)).refused(
		http.StatusBadGateway, -32022)
	g.rpc(key, chain.EthMainnet, call("eth_sendRawTransaction", `["0x02f86b010780"]`)).refused(http.StatusConflict,
		-32017)
	g.rpc(key, chain.EthMainnet, "["+call("eth_call", `[{},"latest"]`)+","+call("eth_chainId", "[]")+","+call("no_such",
		"[]")+"]")
	g.rpc(key, chain.SolanaMainnet, call("getBalance", `["11111111111111111111111111111111"]`)).result()
	g.rpc(key, "no_such_chain", call("eth_call", "[]")).refused(http.StatusNotFound, -32600)
	g.eth("", "eth_chainId").refused(http.StatusUnauthorized, -32001)

	g.expect("gateway_requests_total", map[string]string{
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
	g.expect("gateway_charged_units_total", map[string]string{
		`chain="eth_mainnet",class="standard",tier="balanced"`:    "3",
		`chain="eth_mainnet",class="standard",tier="fast"`:        "2",
		`chain="eth_mainnet",class="standard",tier="cheap"`:       "0.5",
		`chain="eth_mainnet",class="heavy",tier="balanced"`:       "2",
		`chain="solana_mainnet",class="standard",tier="balanced"`: "1",
	})
	g.expect("gateway_refusals_total", map[string]string{
		`code="-32601",reason="method_not_served"`: "2",
		`code="-32022",reason="upstream_failed"`:   "1",
		`code="-32017",reason="outcome_unknown"`:   "1",
		`code="-32600",reason="unknown_chain"`:     "1",
		`code="-32001",reason="key_invalid"`:       "1",
	})
	const up0, up1, eth, sol = `upstream="up-0"`, `upstream="up-1"`, `chain="eth_mainnet",`, `chain="solana_mainnet",`
	g.expect("gateway_upstream_attempts_total", map[string]string{
		eth + `outcome="answer",` + up0: "6", sol + `outcome="answer",` + up0: "1",
		eth + `outcome="broken",` + up0: "1", eth + `outcome="broken",` + up1: "1",
		eth + `outcome="write_lost",` + up0: "1",
	})
	g.expect("gateway_upstream_attempt_duration_seconds_count", map[string]string{
		eth + `result="answered",` + up0: "6", sol + `result="answered",` + up0: "1",
		eth + `result="failed",` + up0: "2", eth + `result="failed",` + up1: "1",
	})
	g.expect("gateway_upstream_usable", map[string]string{
		eth + up0: "1", eth + up1: "1", sol + up0: "1", sol + up1: "1",
	})
	g.expect("gateway_chain_head_block", map[string]string{
		`chain="eth_mainnet"`: "1e+06", `chain="solana_mainnet"`: "1e+06",
	})
	g.expect("gateway_refunds_total", map[string]string{`result="given_back"`: "2"})
	g.expect("gateway_streamed_answers_total", map[string]string{`chain="eth_mainnet"`: "1"})
	g.expect("gateway_call_duration_seconds_count", map[string]string{
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
	g := setup(t)
	key := g.unlimited()
	const mark = "Zq7client"
	g.rpc(key, chain.ID(mark), call("eth_call", "[]"))
	g.rpc(key, chain.EthMainnet, call(mark, "[]"), "X-Route-Tier", "fast", "User-Agent", mark, "X-Request-Id", mark,
		"Traceparent", mark)
	g.rpc(key, chain.EthMainnet, call("eth_call", `["`+mark+`"]`), "X-Route-Tier", mark)
	g.rpc(key, chain.EthMainnet, `{"jsonrpc":"2.0","id":"`+mark+`","method":"eth_chainId"}`)
	g.rpc("cag_"+mark, chain.EthMainnet, call("eth_chainId", "[]"))
	g.ask(http.MethodPost, "/"+mark, key, mark)
	g.ask(mark, "/rpc/eth_mainnet", key, mark)
	if strings.Contains(g.scrape(), mark) {
		t.Error("a label holds what a client sent")
	}
	var chains, reasons []string
	for _, c := range chain.All() {
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
	families, err := g.metrics.Registry.Gather()
	g.must(err)
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
