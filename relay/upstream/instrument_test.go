package upstream

import (
	"bytes"
	"context"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/price"
	"github.com/chainaccess/gateway/relay/upstream/internal/rules"
)

// exposed returns the non-zero series of upstreams, by family and labels in the order chain,
// variable label, upstream. It omits sums of durations, which vary.
func exposed(t *testing.T, m *telemetry.Metrics) map[string]string {
	t.Helper()
	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&out, f); err != nil {
			t.Fatal(err)
		}
	}
	found := map[string]string{}
	for line := range strings.Lines(out.String()) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, ours := strings.CutPrefix(name, "gateway_upstream_")
		if ours && value != "0" && !strings.Contains(name, "seconds_") && !strings.Contains(name, "head") {
			found[strings.ReplaceAll(name, `chain="eth_mainnet",`, "")] = value
		}
	}
	return found
}

func wantExposed(t *testing.T, m *telemetry.Metrics, want map[string]string) {
	t.Helper()
	if got := exposed(t, m); !maps.Equal(got, want) {
		t.Errorf("exposed is %v\nwant %v", got, want)
	}
}

// instrumented returns Ethereum with scripted upstreams and metrics.
func instrumented(t *testing.T, change func([]config.Upstream),
	servers ...*testkit.UpstreamServer,
) (*telemetry.Metrics, *Pool, *Chain) {
	t.Helper()
	list := providers(servers...)
	for i := range list {
		list[i].URL += "/canary-path"
		list[i].Headers = map[string]string{"X-Api-Key": "canary-header"}
	}
	if change != nil {
		change(list)
	}
	p, c := poolOf(t, time.Now, list)
	m := telemetry.NewMetrics(nil)
	p.Instrument(m.Upstreams, nil, nil)
	c.Apply(healthy(c, time.Now()))
	return m, p, c
}

func TestMetrics_EveryMeaningHasAWordOfItsOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for place, word := range attemptOutcomes {
		if word == "" || seen[word] {
			t.Errorf("outcome %d is called %q", place, word)
		}
		seen[word] = true
	}
	if len(verdicts) != int(rules.Unreachable)+1 || timedOut != len(verdicts) {
		t.Errorf("there are %d verdicts, and the words for what is none begin at %d", len(verdicts), timedOut)
	}
}

func TestMetrics_AttemptsAreCountedByOutcome(t *testing.T) {
	t.Parallel()
	first, second := testkit.Upstream(t), testkit.Upstream(t)
	m, _, c := instrumented(t, nil, first, second)
	second.Default(testkit.Result("0x1"))
	for method, reply := range map[string]testkit.Reply{
		"eth_call": testkit.Result("0x1"), "eth_getLogs": testkit.Error(-32000, "block range is too wide"),
		"eth_getBalance": testkit.Error(-32000, "missing trie node"),
		"trace_block":    testkit.Error(-32601, "method not found"),
		"eth_getCode":    testkit.Status(http.StatusUnauthorized),
		"eth_gasPrice":   testkit.Status(http.StatusPaymentRequired),
	} {
		t.Run(method, func(t *testing.T) {
			first.On(method, reply)
			answer, f := c.Read(deadline(t, testTimeout), request(method))
			if f != nil {
				t.Fatal(f)
			}
			answer.Release()
		})
	}
	first.On("eth_sendRawTransaction", testkit.Status(http.StatusBadGateway))
	if _, f := c.Submit(deadline(t, testTimeout), request("eth_sendRawTransaction")); f == nil {
		t.Fatal("a submission without an answer succeeded")
	}
	wantExposed(t, m, map[string]string{
		`attempts_total{outcome="answer",upstream="up-0"}`:        "1",
		`attempts_total{outcome="range_refused",upstream="up-0"}`: "1",
		`attempts_total{outcome="missing_data",upstream="up-0"}`:  "1",
		`attempts_total{outcome="method_absent",upstream="up-0"}`: "1",
		`attempts_total{outcome="denied",upstream="up-0"}`:        "1",
		`attempts_total{outcome="billing",upstream="up-0"}`:       "1",
		`attempts_total{outcome="write_lost",upstream="up-0"}`:    "1",
		`attempts_total{outcome="answer",upstream="up-1"}`:        "5", `usable{upstream="up-0"}`: "1",
		`usable{upstream="up-1"}`: "1",
	})
}

func TestMetrics_ExclusionsAndLimitsAreCounted(t *testing.T) {
	t.Parallel()
	first, second := testkit.Upstream(t), testkit.Upstream(t)
	m, _, c := instrumented(t, func(list []config.Upstream) { list[1].MaxConcurrent = 1 }, first, second)
	first.Default(testkit.Status(http.StatusTooManyRequests))
	answer, f := c.Read(deadline(t, testTimeout), request("eth_call"))
	if f != nil {
		t.Fatal(f)
	}
	answer.Release()
	limited := c.endpoints[1].limits
	if !limited.Take(time.Now()) || limited.Take(time.Now()) {
		t.Fatal("the limit is not kept")
	}
	wantExposed(t, m, map[string]string{
		`attempts_total{outcome="throttled",upstream="up-0"}`: "1",
		`attempts_total{outcome="answer",upstream="up-1"}`:    "1", `exclusions_total{upstream="up-0"}`: "1",
		`excluded{upstream="up-0"}`: "1", `usable{upstream="up-0"}`: "1", `usable{upstream="up-1"}`: "1",
		`limits_reached_total{limit="concurrency",upstream="up-1"}`: "1",
	})
}

func TestMetrics_TimeoutsAreToldFromOtherFailures(t *testing.T) {
	t.Parallel()
	up := testkit.Upstream(t)
	m, _, c := instrumented(t, nil, up)
	up.Default(testkit.Hang(testkit.Result("0x1")))
	if _, f := c.Read(deadline(t, 100*time.Millisecond), request("eth_call")); f == nil {
		t.Fatal("an upstream that hangs answered")
	}
	up.Release()
	wantExposed(t, m, map[string]string{
		`attempts_total{outcome="timeout",upstream="up-0"}`: "1", `usable{upstream="up-0"}`: "1",
	})
}

func TestMetrics_HedgesAreCountedByWhoseAnswerWasUsed(t *testing.T) {
	t.Parallel()
	first, second := testkit.Upstream(t), testkit.Upstream(t)
	m, _, c := instrumented(t, nil, first, second)
	c.endpoints[0].measured(time.Microsecond)
	before := exposed(t, m)[`attempts_total{outcome="answer",upstream="up-0"}`]
	c.hedges.credit.Store(maxHedgeCredit)
	first.Default(testkit.Hang(nil))
	second.Default(testkit.Result("0xgood"))
	answer, f := c.Read(deadline(t, testTimeout), fast())
	if f != nil {
		t.Fatal(f)
	}
	answer.Release()
	c.hedges.racing.Wait()
	got := exposed(t, m)
	for series, want := range map[string]string{
		`hedges_total{result="used",upstream="up-1"}`: "1", `attempts_total{outcome="called_off",upstream="up-0"}`: "1",
		`attempts_total{outcome="answer",upstream="up-1"}`: "1",
		`attempts_total{outcome="answer",upstream="up-0"}`: before, `hedges_total{result="unused",upstream="up-1"}`: "",
	} {
		t.Run(series, func(t *testing.T) {
			if got[series] != want {
				t.Errorf("%s is %q, want %q", series, got[series], want)
			}
		})
	}
}

func TestMetrics_BrokenStreamIsCounted(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics(nil)
	e := &Endpoint{
		health: health{now: time.Now}, metrics: m.Upstreams.Upstream("eth_mainnet", "up-0", attemptOutcomes[:]),
	}
	e.observe(observation{verdict: verdicts[rules.Broken], brokeOff: true})
	wantExposed(t, m, map[string]string{`broken_streams_total{upstream="up-0"}`: "1"})
}

func TestMetrics_ReloadBeginsAndEndsSeriesWithTheUpstreams(t *testing.T) {
	t.Parallel()
	kept, gone, added := testkit.Upstream(t), testkit.Upstream(t), testkit.Upstream(t)
	m, p, c := instrumented(t, nil, kept, gone)
	answer, f := c.Read(deadline(t, testTimeout), request("eth_call"))
	if f != nil {
		t.Fatal(f)
	}
	answer.Release()
	removed := c.endpoints[1]
	list := providers(kept, added)
	list[0].MaxConcurrent = 9 // other settings, the same name
	list[1].Name = "new"
	c = reload(t, p, fileOf(map[chain.ID][]config.Upstream{chain.EthMainnet: list}),
		Reloaded{Chains: 1, Added: 2, Removed: 2})
	c.Apply(healthy(c, time.Now()))
	removed.observe(observation{verdict: verdicts[rules.Answer]}) // of a call in flight
	if answer, f = c.Read(deadline(t, testTimeout), request("eth_call")); f != nil {
		t.Fatal(f)
	}
	answer.Release()
	wantExposed(t, m, map[string]string{
		`attempts_total{outcome="answer",upstream="up-0"}`: "2", `usable{upstream="up-0"}`: "1",
		`usable{upstream="new"}`: "1",
	})
	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if strings.Contains(f.String(), "up-1") {
			t.Errorf("%s has a series of the upstream that was removed", f.GetName())
		}
		if strings.Contains(f.String(), "canary") {
			t.Errorf("%s shows a credential", f.GetName())
		}
	}
	if _, err := p.Reload(fileOf(map[chain.ID][]config.Upstream{
		chain.EthMainnet: {{Name: "bad", URL: "http://a\x7f/"}},
	})); err == nil {
		t.Fatal("a bad file was taken")
	}
	if got := exposed(t, m); got[`usable{upstream="new"}`] != "1" || strings.Contains(strings.Join(keysOf(got), " "),
		"bad") {
		t.Errorf("a reload that failed changed the series: %v", got)
	}
}

func keysOf(m map[string]string) (names []string) {
	for name := range maps.Keys(m) {
		names = append(names, name)
	}
	return names
}

// TestMetrics_CountingAnAttemptAllocatesNothing checks the path of every attempt, including
// disabled tracing.
func TestMetrics_CountingAnAttemptAllocatesNothing(t *testing.T) { //nolint:paralleltest // allocations are counted per process
	e := &Endpoint{metrics: telemetry.NewMetrics(nil).Upstreams.Upstream("eth_mainnet", "up-0", attemptOutcomes[:])}
	var c Chain
	o := observation{verdict: verdicts[rules.Answer], took: time.Millisecond}
	ctx := context.Background()
	if n := testing.AllocsPerRun(1000, func() {
		_, span := c.tracer.Start(ctx, "upstream")
		e.metrics.Attempt(o.counted(), true, o.took)
		e.mark(span, &o)
		span.End()
	}); n != 0 {
		t.Errorf("an attempt allocates %v times to be counted", n)
	}
}

// priced sets a price for the upstreams of a chain: eth_call counts 10 units of 100 nanodollars.
func priced(list []config.Upstream) {
	for i := range list {
		list[i].Price = &price.Setting{USDPerMillion: 0.1, Default: 1, Methods: map[string]int64{"eth_call": 10}}
	}
}

const callCost = 1000 // nanodollars of an eth_call

// spentOn returns the requests in the ledger by upstream and method.
func spentOn(l *price.Ledger) map[string]int64 {
	requests := map[string]int64{}
	for _, s := range l.Totals() {
		requests[s.Upstream+" "+s.Method] = s.Requests
	}
	return requests
}

// costed returns Ethereum with two scripted upstreams that have a price.
func costed(t *testing.T) (c *Chain, ledger *price.Ledger, servers []*testkit.UpstreamServer) {
	t.Helper()
	servers = []*testkit.UpstreamServer{testkit.Upstream(t), testkit.Upstream(t)}
	list := providers(servers...)
	priced(list)
	p, c := poolOf(t, time.Now, list)
	ledger = price.NewLedger()
	p.CountCosts(ledger)
	p.Instrument(nil, nil, nil)
	c.Apply(healthy(c, time.Now()))
	return c, ledger, servers
}

func TestCost_CountsWhatProvidersChargeFor(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]struct {
		reply   testkit.Reply
		charged int64 // requests to the first upstream that it charges for
	}{
		"rate limited":         {testkit.TooMany(time.Second), 0},
		"rate limited in band": {testkit.Error(-32005, "rate limit reached"), 0},
		"plan exhausted":       {testkit.Error(-32000, "monthly capacity limit exceeded"), 0},
		"server error":         {testkit.Status(http.StatusInternalServerError), 0},
		"reset":                {testkit.Reset(), 0},
		"pruned":               {testkit.Error(-32000, "missing trie node"), 1},
		"broken answer":        {testkit.InvalidJSON(), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, ledger, servers := costed(t)
			servers[0].Default(first.reply)
			servers[1].Default(testkit.Result("0x1"))
			r := request("eth_call")
			answer, f := c.Read(deadline(t, testTimeout), r)
			if f != nil {
				t.Fatal(f)
			}
			answer.Release()
			got := spentOn(ledger)
			if got["up-0 eth_call"] != first.charged {
				t.Errorf("%d requests to the first upstream, want %d", got["up-0 eth_call"], first.charged)
			}
			if got["up-1 eth_call"] != 1 {
				t.Errorf("%d requests to the second upstream, want 1", got["up-1 eth_call"])
			}
			if want := price.Nanos(callCost * (first.charged + 1)); r.Asked.Cost != want {
				t.Errorf("the call cost %d nanodollars, want %d", r.Asked.Cost, want)
			}
		})
	}
}

func TestCost_IncludesTheAttemptThatLostARace(t *testing.T) {
	t.Parallel()
	c, ledger, servers := costed(t)
	c.endpoints[0].measured(time.Microsecond)
	c.hedges.credit.Store(maxHedgeCredit)
	servers[0].Default(testkit.Hang(nil))
	servers[1].Default(testkit.Result("0x1"))
	r := fast()
	answer, f := c.Read(deadline(t, testTimeout), r)
	if f != nil {
		t.Fatal(f)
	}
	answer.Release()
	c.hedges.racing.Wait()
	if r.Asked.Cost != 2*callCost {
		t.Errorf("the call cost %d nanodollars, want %d", r.Asked.Cost, 2*callCost)
	}
	want := map[string]int64{"up-0 eth_call": 1, "up-1 eth_call": 1}
	if got := spentOn(ledger); !maps.Equal(got, want) {
		t.Errorf("requests are %v, want %v", got, want)
	}
}

func TestCost_OfASubmissionCountsOnceItWasSent(t *testing.T) {
	t.Parallel()
	c, ledger, servers := costed(t)
	servers[0].Default(testkit.Result("0xhash"))
	servers[1].Default(testkit.Result("0xhash"))
	r := request("eth_sendRawTransaction")
	answer, f := c.Submit(deadline(t, testTimeout), r)
	if f != nil {
		t.Fatal(f)
	}
	answer.Release()
	if r.Asked.Cost != 100 {
		t.Errorf("the submission cost %d nanodollars, want 100", r.Asked.Cost)
	}
	if got := spentOn(ledger); got["up-0 eth_sendRawTransaction"]+got["up-1 eth_sendRawTransaction"] != 1 {
		t.Errorf("requests are %v, want one submission", got)
	}
}

func TestCost_IncludesProbes(t *testing.T) {
	t.Parallel()
	c, ledger, servers := costed(t)
	servers[0].Default(testkit.Result("0x10"))
	if _, reason := c.endpoints[0].ask(deadline(t, testTimeout), "eth_blockNumber", "[]"); reason != "" {
		t.Fatal(reason)
	}
	if got := spentOn(ledger)["up-0 eth_blockNumber"]; got != 1 {
		t.Errorf("%d requests, want the probe", got)
	}
}
