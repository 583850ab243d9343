package telemetry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

// busy returns metrics in which every family has a series.
func busy(t testing.TB) *telemetry.Metrics {
	t.Helper()
	m := telemetry.NewMetrics(nil)
	m.Calls.Expect(chain.EthMainnet)
	m.Upstreams.Upstream("eth_mainnet", "provider-a", []string{"answer", "unreachable"})
	m.Upstreams.Watch(func() []telemetry.ChainState {
		return []telemetry.ChainState{{
			Chain: "eth_mainnet", Head: 100, MeasuredAt: time.Unix(1_800_000_000, 0),
			Upstreams: []telemetry.UpstreamState{
				{Name: "provider-a", Usable: true, Head: 97, Lag: 3, LagTime: 36 * time.Second},
				{Name: "provider-b", Excluded: true},
			},
		}}
	})
	m.Pipelines.End(m.Pipelines.Begin(), 3, false)
	m.WatchMails([]string{"sign_in"}, []string{"sent"}).Ended("sign_in", "sent")
	m.WatchCache(func() telemetry.CacheFigures {
		return telemetry.CacheFigures{
			Local: 1, Short: 2, Memory: 3, Redis: 4, Misses: 5, Shared: 6, Stores: 7, Evictions: 8, Bytes: 9,
			Entries: 10, RedisErrors: 11, Corrupt: 12, DroppedWrites: 13,
		}
	})
	return m
}

func TestMetrics_NamesAndHelpFollowPrometheusConventions(t *testing.T) {
	t.Parallel()
	families, err := busy(t).Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	ours := 0
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "gateway_") {
			ours++
			if !strings.HasSuffix(f.GetHelp(), ".") {
				t.Errorf("%s: %q, want a sentence", f.GetName(), f.GetHelp())
			}
		}
	}
	if ours < 20 {
		t.Errorf("%d families of the gateway have a series", ours)
	}
}

// value returns the value of a series, which must exist in the exposition.
func value(t *testing.T, exposition, series string) string {
	t.Helper()
	_, rest, ok := strings.Cut("\n"+exposition, "\n"+series+" ")
	if !ok {
		t.Errorf("there is no series %s", series)
	}
	v, _, _ := strings.Cut(rest, "\n")
	return v
}

func TestMetrics_CallsAreCountedByChainClassAndOutcome(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics(nil)
	m.Calls.Done(chain.EthMainnet, &telemetry.Call{
		Class: telemetry.Heavy, Outcome: telemetry.OK, Tier: plan.Cheap, Units: 1000, Asked: true, Streamed: true,
		Gate: 2 * time.Millisecond, Route: time.Millisecond, Upstream: 20 * time.Millisecond,
		Total: 24 * time.Millisecond, RequestBytes: 10, AnswerBytes: 300,
	})
	m.Calls.Done(chain.EthMainnet, &telemetry.Call{
		Class: telemetry.Standard, Outcome: telemetry.Refused, Tier: plan.Fast, Reason: fault.RateWindow,
	})
	m.Calls.Done("no_such_chain", &telemetry.Call{
		Outcome: telemetry.Refused, Reason: fault.UnknownChain, Tier: plan.Balanced,
	})
	m.Calls.Refused(fault.KeyInvalid)
	m.Calls.Refunded(true)
	m.Calls.Refunded(false)
	got := scrape(t, m)
	for series, want := range map[string]string{
		`gateway_requests_total{chain="eth_mainnet",class="heavy",outcome="ok"}`:            "1",
		`gateway_requests_total{chain="eth_mainnet",class="standard",outcome="refused"}`:    "1",
		`gateway_requests_total{chain="eth_mainnet",class="standard",outcome="ok"}`:         "0",
		`gateway_requests_total{chain="none",class="none",outcome="refused"}`:               "1",
		`gateway_charged_units_total{chain="eth_mainnet",class="heavy",tier="cheap"}`:       "1",
		`gateway_charged_units_total{chain="eth_mainnet",class="standard",tier="fast"}`:     "0",
		`gateway_refusals_total{code="-32005",reason="rate_window"}`:                        "1",
		`gateway_refusals_total{code="-32600",reason="unknown_chain"}`:                      "1",
		`gateway_refusals_total{code="-32001",reason="key_invalid"}`:                        "1",
		`gateway_refusals_total{code="-32017",reason="outcome_unknown"}`:                    "0",
		`gateway_refunds_total{result="given_back"}`:                                        "1",
		`gateway_refunds_total{result="failed"}`:                                            "1",
		`gateway_streamed_answers_total{chain="eth_mainnet"}`:                               "1",
		`gateway_request_params_bytes_total{chain="eth_mainnet"}`:                           "10",
		`gateway_answer_bytes_total{chain="eth_mainnet"}`:                                   "300",
		`gateway_call_duration_seconds_count{chain="eth_mainnet",part="gate"}`:              "2",
		`gateway_call_duration_seconds_count{chain="eth_mainnet",part="upstream"}`:          "1",
		`gateway_call_duration_seconds_sum{chain="eth_mainnet",part="upstream"}`:            "0.02",
		`gateway_call_duration_seconds_sum{chain="eth_mainnet",part="route"}`:               "0.001",
		`gateway_call_duration_seconds_bucket{chain="eth_mainnet",part="total",le="0.025"}`: "2",
	} {
		t.Run(series, func(t *testing.T) {
			if v := value(t, got, series); v != want {
				t.Errorf("%s is %s, want %s", series, v, want)
			}
		})
	}
	if strings.Contains(got, "no_such_chain") || strings.Contains(got, `chain="polygon_pos"`) {
		t.Error("a chain that is not of the catalog, or that nobody asked for, has series")
	}
}

func TestMetrics_UpstreamsAreCountedByNameAndGoneWhenRemoved(t *testing.T) {
	t.Parallel()
	m := busy(t)
	outcomes := []string{"answer", "unreachable"}
	a := m.Upstreams.Upstream("eth_mainnet", "provider-a", outcomes)
	b := m.Upstreams.Upstream("base_mainnet", "provider-a", outcomes)
	a.Attempt(0, true, 30*time.Millisecond)
	a.Attempt(1, false, time.Second)
	b.Attempt(0, true, time.Millisecond)
	a.BrokeOff()
	a.Hedged(true)
	a.Hedged(false)
	a.Excluded()
	a.Limited(telemetry.RateLimit)
	a.Stray(telemetry.AnotherID)
	const of = `chain="eth_mainnet"`
	got := scrape(t, m)
	for series, want := range map[string]string{
		`gateway_upstream_attempts_total{` + of + `,outcome="answer",upstream="provider-a"}`:                "1",
		`gateway_upstream_attempts_total{` + of + `,outcome="unreachable",upstream="provider-a"}`:           "1",
		`gateway_upstream_attempt_duration_seconds_sum{` + of + `,result="answered",upstream="provider-a"}`: "0.03",
		`gateway_upstream_attempt_duration_seconds_count{` + of + `,result="failed",upstream="provider-a"}`: "1",
		`gateway_upstream_broken_streams_total{` + of + `,upstream="provider-a"}`:                           "1",
		`gateway_upstream_hedges_total{` + of + `,result="used",upstream="provider-a"}`:                     "1",
		`gateway_upstream_hedges_total{` + of + `,result="unused",upstream="provider-a"}`:                   "1",
		`gateway_upstream_exclusions_total{` + of + `,upstream="provider-a"}`:                               "1",
		`gateway_upstream_limits_reached_total{` + of + `,limit="rate",upstream="provider-a"}`:              "1",
		`gateway_upstream_limits_reached_total{` + of + `,limit="concurrency",upstream="provider-a"}`:       "0",
		`gateway_upstream_stray_answers_total{` + of + `,kind="another_id",upstream="provider-a"}`:          "1",
		`gateway_upstream_stray_answers_total{` + of + `,kind="unasked",upstream="provider-a"}`:             "0",
		`gateway_upstream_usable{` + of + `,upstream="provider-a"}`:                                         "1",
		`gateway_upstream_usable{` + of + `,upstream="provider-b"}`:                                         "0",
		`gateway_upstream_excluded{` + of + `,upstream="provider-b"}`:                                       "1",
		`gateway_upstream_head_block{` + of + `,upstream="provider-a"}`:                                     "97",
		`gateway_upstream_head_lag_blocks{` + of + `,upstream="provider-a"}`:                                "3",
		`gateway_upstream_head_lag_seconds{` + of + `,upstream="provider-a"}`:                               "36",
		`gateway_chain_head_block{` + of + `}`:                                                              "100",
		`gateway_chain_probed_timestamp_seconds{` + of + `}`:                                                "1.8e+09",
	} {
		t.Run(series, func(t *testing.T) {
			if v := value(t, got, series); v != want {
				t.Errorf("%s is %s, want %s", series, v, want)
			}
		})
	}
	m.Upstreams.Remove("eth_mainnet", "provider-a")
	m.Upstreams.Watch(func() []telemetry.ChainState { return nil })
	a.Attempt(0, true, time.Millisecond) // of a call that was in flight
	left := scrape(t, m)
	in := expect.In(t, "series of an upstream that is configured no more are left")
	expect.NotContains(in, left, of+`,outcome`)
	expect.NotContains(in, left, of+`,result`)
	expect.NotContains(in, left, of+`,upstream`)
	expect.NotContains(in, left, of+`,limit`)
	if value(t, left,
		`gateway_upstream_attempts_total{chain="base_mainnet",outcome="answer",upstream="provider-a"}`) != "1" {
		t.Error("the upstream of that name on another chain was removed too")
	}
}

func TestMetrics_CacheIsReadAtEachScrape(t *testing.T) {
	t.Parallel()
	got := scrape(t, busy(t))
	for series, want := range map[string]string{
		`gateway_cache_hits_total{place="local"}`: "1", `gateway_cache_hits_total{place="short"}`: "2",
		`gateway_cache_hits_total{place="memory"}`: "3", `gateway_cache_hits_total{place="redis"}`: "4",
		"gateway_cache_misses_total": "5", "gateway_cache_coalesced_calls_total": "6",
		"gateway_cache_stores_total": "7", "gateway_cache_evictions_total": "8", "gateway_cache_size_bytes": "9",
		"gateway_cache_entries": "10", `gateway_cache_redis_faults_total{fault="failed"}`: "11",
		`gateway_cache_redis_faults_total{fault="corrupt"}`:       "12",
		`gateway_cache_redis_faults_total{fault="dropped_write"}`: "13",
	} {
		t.Run(series, func(t *testing.T) {
			if v := value(t, got, series); v != want {
				t.Errorf("%s is %s, want %s", series, v, want)
			}
		})
	}
}

func TestMetrics_RoundTripsToTheMeterAreMeasured(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics(nil)
	m.Pipelines.End(m.Pipelines.Begin(), 5, true)
	got := scrape(t, m)
	for series, want := range map[string]string{
		"gateway_meter_round_trip_duration_seconds_count": "1",
		"gateway_meter_pipeline_commands_sum":             "5",
		"gateway_meter_errors_total":                      "1",
	} {
		t.Run(series, func(t *testing.T) {
			if v := value(t, got, series); v != want {
				t.Errorf("%s is %s, want %s", series, v, want)
			}
		})
	}
}

func TestMetrics_NilCountsNothing(t *testing.T) {
	t.Parallel()
	var calls *telemetry.Calls
	calls.Done(chain.EthMainnet, &telemetry.Call{Reason: fault.RateWindow})
	calls.Refused(fault.RateWindow)
	calls.Refunded(true)
	var upstreams *telemetry.Upstreams
	u := upstreams.Upstream("eth_mainnet", "a", []string{"answer"})
	u.Attempt(7, true, 0)
	u.BrokeOff()
	u.Hedged(true)
	u.Excluded()
	u.Limited(telemetry.RateLimit)
	upstreams.Remove("eth_mainnet", "a")
	var pipelines *telemetry.Pipelines
	pipelines.End(pipelines.Begin(), 1, true)
}

// TestMetrics_CountingAllocatesNothing covers what every call counts.
func TestMetrics_CountingAllocatesNothing(t *testing.T) { //nolint:paralleltest // allocations are counted per process
	m := telemetry.NewMetrics(nil)
	step := recordStep(m)
	step()
	if n := testing.AllocsPerRun(1000, step); n != 0 {
		t.Errorf("counting a call allocates %v times", n)
	}
}

// recordStep returns a function that counts one call with one upstream.
func recordStep(m *telemetry.Metrics) func() {
	up := m.Upstreams.Upstream("eth_mainnet", "provider-a", []string{"answer"})
	return func() {
		up.Attempt(0, true, 800*time.Microsecond)
		m.Calls.Done(chain.EthMainnet, &telemetry.Call{
			Class: telemetry.Standard, Outcome: telemetry.OK, Tier: plan.Balanced, Units: 1000, Asked: true,
			Gate: 300 * time.Microsecond, Route: 20 * time.Microsecond, Upstream: 800 * time.Microsecond,
			Total: 1200 * time.Microsecond, RequestBytes: 80, AnswerBytes: 200,
		})
	}
}

func BenchmarkCounting(b *testing.B) {
	b.ReportAllocs()
	step := recordStep(telemetry.NewMetrics(nil))
	for b.Loop() {
		step()
	}
}
