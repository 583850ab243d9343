package telemetry_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
)

func tracer(t testing.TB, change func(*telemetry.Tracing)) (*telemetry.Tracer, *testkit.TraceReceiver) {
	t.Helper()
	receiver := testkit.Traces(t)
	o := telemetry.Tracing{
		Endpoint: receiver.URL, ServiceName: "gateway-test", Role: "api", Sampler: "parentbased_always_on", Ratio: 1,
		Headers: map[string]string{"X-Tenant": "seven"}, Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	tr, err := telemetry.NewTracer(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return tr, receiver
}

const clientTrace = "0af7651916cd43dd8448eb211c80319c"

// request makes a traced request with one step in it.
func request(t testing.TB, tr *telemetry.Tracer, sampledByClient bool) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/rpc/eth_mainnet", http.NoBody)
	r.Header.Set("Traceparent", "00-"+clientTrace+"-b7ad6b7169203331-"+map[bool]string{
		true: "01", false: "00",
	}[sampledByClient])
	r.Header.Set("Tracestate", "vendor=Zq7client")
	ctx, span := tr.Request(r, "/rpc/:chain", "request-1")
	_, step := tr.Start(ctx, "admit")
	step.Set("gateway.outcome", "ok")
	step.SetInt("gateway.attempts", 2)
	step.End()
	span.End()
}

func TestSpans_ArriveAtTheReceiverAsATree(t *testing.T) {
	t.Parallel()
	tr, receiver := tracer(t, nil)
	request(t, tr, true)
	if err := tr.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	spans := receiver.Spans()
	if len(spans) != 2 {
		t.Fatalf("got %d spans, want 2: %+v", len(spans), spans)
	}
	step, root := spans[0], spans[1]
	in := expect.In(t, "the request's span")
	expect.Equal(in, root.Name, "POST /rpc/:chain")
	expect.Equal(in, root.Parent, "")
	expect.Equal(in, root.Attributes["gateway.request_id"], "request-1")
	expect.Equal(in, root.Resource["service.name"], "gateway-test")
	expect.Equal(in, root.Resource["gateway.role"], "api")
	in = expect.In(t, "the step's span")
	expect.Equal(in, step.Name, "admit")
	expect.Equal(in, step.Parent, root.ID)
	expect.Equal(in, step.TraceID, root.TraceID)
	expect.Equal(in, step.Attributes["gateway.attempts"], "2")
	if receiver.Headers()[0].Get("X-Tenant") != "seven" {
		t.Error("the configured header did not come along")
	}
}

// A client's traceparent becomes a link and does not affect sampling, unless the operator
// configured that clients are followed.
func TestTraces_ClientsDecideNothingUnlessFollowed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		follow, sampled bool
		spans           int
		trace           bool // the client's
	}{
		{false, true, 2, false}, {false, false, 2, false}, {true, true, 2, true}, {true, false, 0, true},
	} {
		t.Run(strconv.Itoa(tc.spans), func(t *testing.T) {
			tr, receiver := tracer(t, func(o *telemetry.Tracing) { o.FollowClients = tc.follow })
			request(t, tr, tc.sampled)
			if err := tr.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(receiver.Text(), "Zq7client") {
				t.Errorf("follow %v: a client's trace state was passed on", tc.follow)
			}
			spans := receiver.Spans()
			if len(spans) != tc.spans {
				t.Fatalf("follow %v, sampled %v: got %d spans, want %d", tc.follow, tc.sampled, len(spans), tc.spans)
			}
			for _, s := range spans {
				if (s.TraceID == clientTrace) != tc.trace {
					t.Errorf("follow %v: %s belongs to trace %s", tc.follow, s.Name, s.TraceID)
				}
				if linked := len(s.Links) == 1 && s.Links[0] == clientTrace; linked != (!tc.follow && s.Parent == "") {
					t.Errorf("follow %v: %s has links %v", tc.follow, s.Name, s.Links)
				}
			}
		})
	}
}

func TestSampler_KeepsItsShare(t *testing.T) {
	t.Parallel()
	const requests = 200
	for _, tc := range []struct {
		sampler     string
		ratio       float64
		least, most int
	}{
		{"always_on", 0, requests, requests},
		{"always_off", 1, 0, 0},
		{"traceidratio", 0, 0, 0},
		{"traceidratio", 1, requests, requests},
		{"parentbased_always_on", 0, requests, requests},
		{"parentbased_always_off", 1, 0, 0},
		{"parentbased_traceidratio", 0.5, requests / 5, requests * 4 / 5},
	} {
		t.Run(tc.sampler, func(t *testing.T) {
			tr, receiver := tracer(t, func(o *telemetry.Tracing) { o.Sampler, o.Ratio = tc.sampler, tc.ratio })
			for range requests {
				request(t, tr, true)
			}
			if err := tr.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n := len(receiver.Spans()) / 2; n < tc.least || n > tc.most {
				t.Errorf("%s %v kept %d of %d", tc.sampler, tc.ratio, n, requests)
			}
		})
	}
	if _, err := telemetry.NewTracer(t.Context(), telemetry.Tracing{
		Endpoint: "http://127.0.0.1:1", Sampler: "some",
	}); err == nil {
		t.Error("an unknown sampler is taken")
	}
}

//nolint:paralleltest // the library's error handler is global
func TestReceiver_UnreachableIsReportedWithoutItsAddress(t *testing.T) {
	var out bytes.Buffer
	address := testkit.ClosedAddress(t)
	tr, _ := tracer(t, func(o *telemetry.Tracing) {
		o.Endpoint = "http://user:canary-password@" + address + "/canary-path"
		o.Headers = map[string]string{"Authorization": "canary-header"}
		o.Logger = telemetry.NewLogger(&out, "json", slog.LevelDebug)
	})
	request(t, tr, true)
	err := tr.Close(t.Context())
	all := out.String() + errorText(err)
	if strings.Contains(all, "canary") || strings.Contains(all, address+"/") {
		t.Errorf("a credential is told: %s", all)
	}
	if !strings.Contains(all, "traces not delivered") && !strings.Contains(all, "send the last traces") {
		t.Errorf("nothing is told of the receiver: %q", all)
	}
}

func TestReceiver_RefusalIsReportedByItsStatusAlone(t *testing.T) { //nolint:paralleltest // as above
	for status, want := range map[int]string{
		http.StatusUnauthorized: "HTTP 401", http.StatusForbidden: "HTTP 403",
		http.StatusTooManyRequests: "cannot take them now",
	} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "3600")
				http.Error(w, "canary-answer: 200 OK (body: )", status)
			}))
			var out bytes.Buffer
			tr, _ := tracer(t, func(o *telemetry.Tracing) {
				o.Endpoint = receiver.URL + "/canary-token/v1/traces"
				o.Headers = map[string]string{"Authorization": "canary-header"}
				o.Logger = telemetry.NewLogger(&out, "json", slog.LevelDebug)
			})
			request(t, tr, true)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			err := tr.Close(ctx)
			cancel()
			receiver.Close()
			all := out.String() + errorText(err)
			if strings.Contains(all, "canary") || !strings.Contains(all, want) {
				t.Errorf("HTTP %d is told as %s", status, all)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// work makes the tracer calls of a relayed call.
func work(tr *telemetry.Tracer, r *http.Request) {
	ctx, span := tr.Request(r, "/rpc/:chain", "request-1")
	for _, name := range []string{"admit", "upstream"} {
		_, step := tr.Start(ctx, name)
		step.Set("gateway.outcome", "ok")
		step.SetInt("gateway.attempts", 1)
		step.End()
	}
	//nolint:contextcheck // the span is found in the context of the request
	tr.Current(ctx).Set("gateway.chain", "eth_mainnet")
	span.End()
}

func TestTracing_OffAllocatesNothing(t *testing.T) { //nolint:paralleltest // allocations are counted per process
	off, err := telemetry.NewTracer(t.Context(), telemetry.Tracing{Sampler: "always_on"})
	if err != nil || off != nil {
		t.Fatalf("without an endpoint: %v, %v", off, err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/rpc/eth_mainnet", http.NoBody)
	if n := testing.AllocsPerRun(1000, func() { work(off, r) }); n != 0 {
		t.Errorf("a call that is not traced allocates %v times for it", n)
	}
	if err := off.Close(t.Context()); err != nil || off.Provider() != nil {
		t.Error("a tracer that is off does something")
	}
}

func BenchmarkTracing(b *testing.B) {
	r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/rpc/eth_mainnet", http.NoBody)
	on, _ := tracer(b, func(o *telemetry.Tracing) { o.Sampler, o.Ratio = "parentbased_traceidratio", 0.01 })
	defer func() { _ = on.Close(b.Context()) }()
	for name, tr := range map[string]*telemetry.Tracer{"off": nil, "one in a hundred": on} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				work(tr, r)
			}
		})
	}
}
