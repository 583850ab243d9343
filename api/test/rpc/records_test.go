package rpc_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store/usagedb"
)

func TestCallRecord_EveryCallLeavesOne(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	id := g.Identity(key)
	g.Ups[0].On("eth_getBalance", testkit.HTML(http.StatusBadGateway))
	g.Ups[1].On("eth_getBalance", testkit.Result("0x2"))
	g.Ups[0].On("eth_getCode", testkit.Error(3, "execution reverted"))
	for _, u := range g.Ups {
		u.On("eth_estimateGas", testkit.HTML(http.StatusBadGateway))
	}
	g.Ups[0].On("eth_sendRawTransaction", testkit.Reset())
	g.Ups[1].On("eth_sendRawTransaction", testkit.Reset())
	want := []struct {
		chain          chain.ID
		method, params string
		tier           string
		record         usagedb.Call
	}{
		{chain.EthMainnet, "eth_call", "[]", "fast", usagedb.Call{
			Outcome: "ok", HTTPStatus: 200, Units: 2000, Upstream: "up-0", Attempts: 1, Class: "standard",
		}},
		{chain.EthMainnet, "eth_getBalance", "[]", "", usagedb.Call{
			Outcome: "ok", HTTPStatus: 200, Units: 1000, Upstream: "up-1", Attempts: 2, Class: "standard",
		}},
		{chain.EthMainnet, "eth_getCode", "[]", "", usagedb.Call{
			Outcome: "ok", HTTPStatus: 200, Units: 1000, Attempts: 1, Class: "standard",
		}},
		{chain.EthMainnet, "debug_traceCall", "[]", "cheap", usagedb.Call{
			Outcome: "ok", HTTPStatus: 200, Units: 1000, Attempts: 1, Class: "heavy",
		}},
		{chain.EthMainnet, "eth_chainId", "[]", "", usagedb.Call{Outcome: "hit", HTTPStatus: 200, Class: "standard"}},
		{chain.EthMainnet, "eth_estimateGas", "[]", "", usagedb.Call{
			Outcome: "upstream_failed", HTTPStatus: 502, Attempts: 2, Class: "standard",
		}},
		{chain.EthMainnet, "eth_sendRawTransaction", "[]", "", usagedb.Call{
			Outcome: "outcome_unknown", HTTPStatus: 409, Attempts: 1, Class: "standard",
		}},
		{
			chain.EthMainnet, "eth_getLogs", `[{"fromBlock":"0x0","toBlock":"0xffff"}]`, "",
			usagedb.Call{Outcome: "range_too_large", HTTPStatus: 400, Class: "standard"},
		},
		{
			chain.SolanaMainnet, "getBalance", `["11111111111111111111111111111111"]`, "",
			usagedb.Call{Outcome: "ok", HTTPStatus: 200, Units: 1000, Attempts: 1, Class: "standard"},
		},
	}
	answers := make([]apitest.Answer, len(want))
	for i, w := range want {
		answers[i] = g.RPC(key, w.chain, apitest.Call(w.method, w.params), "X-Route-Tier", w.tier)
	}
	unknownMethod := g.Eth(key, "eth_nothing-"+strings.Repeat("x", 50))
	notJSON := g.RPC(key, chain.EthMainnet, "not json")
	unknownKey := g.Eth("cag_nothing", "eth_call")
	for i, w := range want {
		t.Run(string(w.chain), func(t *testing.T) {
			calls := g.Calls(answers[i])
			if len(calls) != 1 {
				t.Fatalf("%s: %d records", w.method, len(calls))
			}
			got := calls[0]
			tier := w.tier
			if tier == "" {
				tier = string(plan.Balanced)
			}
			in := expect.In(t, "%s", w.method)
			expect.Equal(in, got.Account, id.Account)
			expect.Equal(in, got.Key, id.Key)
			expect.Equal(in, got.Chain, w.chain)
			expect.Equal(in, got.Method, w.method)
			expect.Equal(in, got.Tier, tier)
			expect.Equal(in, got.Service, "rpc")
			expect.Equal(in, got.Outcome, w.record.Outcome)
			expect.Equal(in, got.HTTPStatus, w.record.HTTPStatus)
			expect.Equal(in, got.Units, w.record.Units)
			expect.Equal(in, got.Attempts, w.record.Attempts)
			if w.record.Upstream != "" && got.Upstream != w.record.Upstream ||
				(w.record.Attempts > 0) != (got.Upstream != "") {
				t.Errorf("%s: the upstream is %q, want %q", w.method, got.Upstream, w.record.Upstream)
			}
			expect.Equal(in, got.Class, w.record.Class)
			expect.Equal(in, got.ResponseBytes, int64(len(answers[i].Body)))
			expect.Equal(in, got.RequestBytes, int64(len(w.params)))
		})
	}
	for a, outcome := range map[*apitest.Answer]string{&unknownMethod: "method_not_served", &notJSON: "not_json"} {
		calls := g.Calls(*a)
		in := expect.In(t, "%s", outcome)
		require.Len(in, calls, 1)
		expect.Equal(in, calls[0].Outcome, outcome)
		expect.Equal(in, calls[0].Method, "")
		expect.Equal(in, calls[0].Units, 0)
	}
	if calls := g.Calls(unknownKey); len(calls) != 0 {
		t.Errorf("a caller nobody knows left %+v", calls)
	}
}

// TestUpstreamCredentials_NeverLeaveTheGateway makes upstreams reveal their URL in every way. The
// harness puts a canary into each part of the URL and of the headers, and searches every body,
// header and log line for it.
func TestUpstreamCredentials_NeverLeaveTheGateway(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.Chains, o.Apply = []chain.ID{chain.EthMainnet}, false })
	key := g.Unlimited()
	told := func(x *testkit.Exchange) string {
		r := x.Request
		return fmt.Sprintf("http://canaryuser:canarypass@%s%s %v", strings.TrimPrefix(g.Ups[0].URL, "http://"), r.Path,
			r.Header)
	}
	if g.Ups[0].Total() != 0 {
		t.Fatal("an upstream was asked before")
	}
	ways := map[string]testkit.Reply{
		"error": func(x *testkit.Exchange) { testkit.Error(-32000, told(x))(x) },
		"data": func(x *testkit.Exchange) {
			testkit.ErrorWithData(3, "execution reverted", map[string]any{"url": told(x)})(x)
		},
		"range":      func(x *testkit.Exchange) { testkit.Error(-32000, "too many results for "+told(x))(x) },
		"absent":     func(x *testkit.Exchange) { testkit.Error(-32601, told(x))(x) },
		"throttled":  func(x *testkit.Exchange) { testkit.Error(-32005, "rate limit of "+told(x))(x) },
		"html":       func(x *testkit.Exchange) { testkit.Raw(502, "text/html", "<p>"+told(x))(x) },
		"html 200":   func(x *testkit.Exchange) { testkit.Raw(200, "text/html", told(x))(x) },
		"redirect":   func(x *testkit.Exchange) { testkit.Redirect(g.Ups[1].URL + x.Request.Path)(x) },
		"header":     func(x *testkit.Exchange) { testkit.WithHeader("X-Upstream", told(x), testkit.Result("0x1"))(x) },
		"status 401": func(x *testkit.Exchange) { testkit.ErrorWithStatus(401, -32000, "invalid api key "+told(x))(x) },
		"id": func(x *testkit.Exchange) {
			testkit.Raw(200, "application/json", fmt.Sprintf(`{"id":%q,"result":1}`, told(x)))(x)
		},
		"member": func(x *testkit.Exchange) {
			testkit.Raw(200, "application/json", fmt.Sprintf(`{"id":$id,%q:1,"result":{},"error":{"code":1}}`,
				told(x)))(x)
		},
		"no HTTP": func(x *testkit.Exchange) {
			conn, _, err := http.NewResponseController(x.W).Hijack()
			if err == nil {
				_, _ = fmt.Fprintf(conn, "HTTP/1.1 %s\r\n\r\n", told(x))
				_ = conn.Close()
			}
		},
		"bad header": func(x *testkit.Exchange) {
			conn, _, err := http.NewResponseController(x.W).Hijack()
			if err == nil {
				_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: %s\r\n\r\n", told(x))
				_ = conn.Close()
			}
		},
		"reset": testkit.Reset(),
	}
	var asked []apitest.Answer
	for name, reply := range ways {
		t.Run(name, func(t *testing.T) {
			g.All(reply)
			snapshot, err := g.Pool.Probe(t.Context(), chain.EthMainnet) // the probes get the same answers
			g.Must(err)
			g.Must(g.Board.Publish(t.Context(), snapshot))
			apitest.ApplyHealthy(g.Pool, chain.EthMainnet, snapshot.MeasuredAt, 2)
			for _, method := range []string{"eth_call", "eth_sendRawTransaction", "eth_blockNumber"} {
				a := g.Eth(key, method)
				asked = append(asked, a)
				if name == "error" && method == "eth_call" && !strings.Contains(a.Body, "[redacted]") {
					t.Errorf("the upstream's words are missing: %s", a.Body)
				}
			}
			g.RPC(key, chain.EthMainnet, apitest.BatchOf(3, "eth_getBalance")).Batch(3)
		})
	}
	for _, u := range g.Ups {
		u.Close()
	}
	g.Eth(key, "eth_call").Refused(http.StatusBadGateway, -32022)
	for _, r := range g.Ups[0].Requests()[:1] {
		in := expect.In(t, "the canary is not where it should be: %s", r.Path)
		require.Contains(in, r.Path, apitest.Canary)
		require.Contains(in, r.Header.Get("X-Api-Key"), apitest.Canary)
		require.NotEqual(in, r.Header.Get("Authorization"), "")
	}
	names, err := g.Meter.Client().Keys(t.Context(), "*").Result()
	g.Must(err)
	for _, name := range names {
		dump, err := g.Meter.Client().Dump(t.Context(), name).Result()
		g.Must(err)
		g.NoSecretsIn("Redis", name+dump)
	}
	board, err := g.Board.Read(t.Context(), chain.EthMainnet)
	if g.Must(err); !board.Known {
		t.Error("the board is empty")
	}
	g.NoSecretsIn("the board", fmt.Sprintf("%+v", board))
	for _, a := range asked {
		g.NoSecretsIn("a record", fmt.Sprintf("%+v", g.Calls(a)))
	}
	if !strings.Contains(g.Logs.String(), "call failed") {
		t.Error("nothing was logged, so nothing was shown")
	}
}
