package rpc_test

import (
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/relay/chain"
)

// traced returns a gateway that sends its traces to a receiver. receive flushes and returns them.
func traced(t *testing.T) (g *apitest.Gateway, receive func() (string, []testkit.Span)) {
	t.Helper()
	receiver := testkit.Traces(t)
	tracer, err := telemetry.NewTracer(t.Context(), telemetry.Tracing{
		Endpoint: receiver.URL, ServiceName: "gateway", Role: "api", Sampler: "always_on",
		Logger: slog.New(slog.DiscardHandler), Headers: map[string]string{"Authorization": "receiver-credential"},
	})
	if err != nil {
		t.Fatal(err)
	}
	g = apitest.Setup(t, func(o *apitest.Options) { o.Tracer = tracer })
	return g, func() (string, []testkit.Span) {
		t.Helper()
		g.Must(tracer.Close(t.Context()))
		g.NoSecretsIn("the traces", receiver.Text())
		return receiver.Text(), receiver.Spans()
	}
}

// named returns the spans of a name within a trace, or within all traces when trace is empty.
func named(spans []testkit.Span, name, trace string) (found []testkit.Span) {
	for _, s := range spans {
		if s.Name == name && (trace == "" || s.TraceID == trace) {
			found = append(found, s)
		}
	}
	return found
}

func attributes(g *apitest.Gateway, s testkit.Span, want map[string]string) {
	g.T.Helper()
	for name, value := range want {
		if s.Attributes[name] != value {
			g.T.Errorf("span %s has %s=%q, want %q", s.Name, name, s.Attributes[name], value)
		}
	}
}

func TestTraces_RequestIsATraceOfAdmissionAndAttempts(t *testing.T) {
	t.Parallel()
	g, receive := traced(t)
	key := g.Unlimited()
	g.Ups[0].On("eth_call", testkit.Status(http.StatusInternalServerError))
	g.Ups[1].On("eth_call", testkit.Result("0x1"))
	a := g.RPC(key, chain.EthMainnet, apitest.Call("eth_call", `[{"data":"0xc11e27"},"latest"]`))
	a.Result()
	g.Ask(http.MethodGet, "/healthz", "", "")

	_, spans := receive()
	roots := named(spans, "POST /rpc/:chain", "")
	if len(roots) != 1 || len(spans) != 4 {
		t.Fatalf("got %d spans with %d of the request, want four and one: %+v", len(spans), len(roots), spans)
	}
	root := roots[0]
	attributes(g, root, map[string]string{
		"gateway.request_id": a.RequestID().String(), "gateway.chain": "eth_mainnet", "rpc.method": "eth_call",
		"gateway.outcome": "ok", "gateway.class": "standard", "gateway.tier": "balanced", "gateway.cache": "miss",
		"gateway.upstream": "up-1", "gateway.attempts": "2", "http.response.status_code": "200",
		"http.route": "/rpc/:chain",
	})
	admissions, attempts := named(spans, "admit", root.TraceID), named(spans, "upstream", root.TraceID)
	if len(admissions) != 1 || len(attempts) != 2 {
		t.Fatalf("got %d admissions and %d attempts, want one and two", len(admissions), len(attempts))
	}
	attributes(g, attempts[0], map[string]string{"gateway.upstream": "up-0", "gateway.outcome": "broken"})
	attributes(g, attempts[1], map[string]string{"gateway.upstream": "up-1", "gateway.outcome": "answer"})
	for _, s := range append(admissions, attempts...) {
		in := expect.In(t, "%s does not lie within its request", s.Name)
		expect.Equal(in, s.Parent, root.ID)
		expect.AtLeast(in, s.StartNano, root.StartNano)
		expect.AtMost(in, s.EndNano, root.EndNano)
	}
}

func TestTraces_BatchItemsHaveSpansOfTheirOwn(t *testing.T) {
	t.Parallel()
	g, receive := traced(t)
	key := g.Unlimited()
	g.All(testkit.Result("0x1"))
	g.RPC(key, chain.EthMainnet, "["+apitest.Call("eth_call", `[{},"latest"]`)+","+apitest.Call("eth_chainId", "[]")+
		","+
		apitest.Call("Zq7client", "[]")+",7]")
	text, spans := receive()
	root := named(spans, "POST /rpc/:chain", "")[0]
	attributes(g, root, map[string]string{"gateway.batch": "4", "rpc.method": ""})
	items := named(spans, "item", root.TraceID)
	if len(items) != 4 {
		t.Fatalf("got %d spans of items, want 4", len(items))
	}
	wants := map[string]map[string]string{
		"0": {"rpc.method": "eth_call", "gateway.outcome": "ok", "gateway.cache": "miss"},
		"1": {"rpc.method": "eth_chainId", "gateway.outcome": "hit", "gateway.cache": "hit"},
		"2": {
			"rpc.method": "", "gateway.outcome": "refused", "gateway.reason": "method_not_served",
			"rpc.jsonrpc.error_code": "-32601",
		},
		"3": {"gateway.reason": "not_a_request"},
	}
	for _, item := range items {
		attributes(g, item, wants[item.Attributes["gateway.index"]])
		if item.Parent != root.ID || len(named(spans, "admit", root.TraceID)) != 4 {
			t.Errorf("item %s does not hang on its request, or was not admitted", item.Attributes["gateway.index"])
		}
	}
	for _, s := range named(spans, "upstream", root.TraceID) {
		if s.Parent != items[0].ID && s.Parent != items[1].ID && s.Parent != items[2].ID && s.Parent != items[3].ID {
			t.Errorf("an attempt hangs on %s, want its item", s.Parent)
		}
	}
	in := expect.In(t, "a span holds what a client sent, or a credential")
	expect.NotContains(in, text, "Zq7client")
	expect.NotContains(in, text, key)
	expect.NotContains(in, text, "receiver-credential")
}

func TestTraces_RefusedRequestsCarryTheirReason(t *testing.T) {
	t.Parallel()
	g, receive := traced(t)
	g.Eth("cag_Zq7client", "eth_chainId").Refused(http.StatusUnauthorized, -32001)
	g.Ask(http.MethodGet, "/Zq7client", "", "")
	g.Ask("Zq7client", "/keys", "", "")
	text, spans := receive()
	attributes(g, named(spans, "POST /rpc/:chain", "")[0], map[string]string{
		"gateway.reason": "key_invalid", "http.response.status_code": "401",
	})
	unknown := named(spans, "unknown route", "")
	if len(unknown) != 2 {
		t.Errorf("got %d spans of unknown routes, want 2", len(unknown))
	}
	if strings.Contains(text, "Zq7client") {
		t.Error("a span holds what a client sent")
	}
}
