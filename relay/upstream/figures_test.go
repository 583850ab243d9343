package upstream

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/rules"
)

// seen records calls of one upstream: good ones with a latency, failed and throttled ones.
func (e *Endpoint) seen(good int, took time.Duration, failed, throttled int) {
	for range good {
		e.observe(observation{verdict: verdicts[rules.Answer], took: took})
	}
	for range failed {
		e.observe(observation{verdict: verdicts[rules.Broken], took: took})
	}
	for range throttled {
		e.observe(observation{verdict: verdicts[rules.Throttled], took: took})
	}
}

func TestFigures_OfAllProcessesAddUp(t *testing.T) {
	t.Parallel()
	ctx, board, up := t.Context(), newBoard(t), testkit.Upstream(t)
	var pools []*Pool
	for i, took := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond} {
		p, c := poolOf(t, chain.EthMainnet, time.Now, providers(up))
		c.endpoints[0].seen(50, took, 2*i, i)
		if err := board.putFigures(ctx, p, string(rune('a'+i))); err != nil {
			t.Fatal(err)
		}
		pools = append(pools, p)
	}
	all, err := board.ReadFigures(ctx, chain.EthMainnet, chain.BaseMainnet)
	if err != nil || len(all[chain.EthMainnet]) != 1 || len(all[chain.BaseMainnet]) != 0 {
		t.Fatalf("read %+v, %v", all, err)
	}
	f := all[chain.EthMainnet][0]
	if f.Calls != 103 || f.Failed != 2 || f.Throttled != 1 || f.Processes != 2 || f.Out != 1 {
		t.Errorf("together %+v", f)
	}
	// Half of all answers took ten milliseconds, the other half a hundred. No single process has
	// these quantiles.
	q := f.quantiles(standardReads, heavyReads)
	if near := func(got, want time.Duration) bool {
		return got > want*7/8 && got < want*9/8
	}; !near(q.p90, 100*time.Millisecond) {
		t.Errorf("nine of ten take %s", q.p90)
	}
	if sum := slices.Sorted(maps.Values(f.Latencies[standardReads])); len(sum) != 2 || sum[0] != 50 || sum[1] != 50 {
		t.Errorf("latencies are %v", f.Latencies)
	}
	// The figures of an ended process expire.
	c, _ := pools[0].Chain(chain.EthMainnet)
	if ttl, err := board.rdb.TTL(ctx, figuresKey(chain.EthMainnet, "a")).Result(); err != nil || ttl <= 0 ||
		ttl > figuresLast {
		t.Errorf("figures of %s last %s, %v", c.ID, ttl, err)
	}
	if err := board.rdb.Del(ctx, figuresKey(chain.EthMainnet, "b")).Err(); err != nil {
		t.Fatal(err)
	}
	if all, err = board.ReadFigures(ctx, chain.EthMainnet); err != nil || all[chain.EthMainnet][0].Calls != 50 {
		t.Errorf("after one ended: %+v, %v", all, err)
	}
}

func TestFigures_TrackABoundedNumberOfProcesses(t *testing.T) {
	t.Parallel()
	ctx, board := t.Context(), newBoard(t)
	clock := testkit.NewClock(noon)
	p, _ := poolOf(t, chain.EthMainnet, clock.Now, providers(testkit.Upstream(t)))
	if err := board.putFigures(ctx, p, "old"); err != nil {
		t.Fatal(err)
	}
	clock.Advance(2 * time.Hour)
	if err := board.putFigures(ctx, p, "new"); err != nil {
		t.Fatal(err)
	}
	if got, err := board.rdb.ZRange(ctx, processesKey, 0, -1).Result(); err != nil ||
		!slices.Equal(got, []string{"new"}) {
		t.Errorf("processes %v, %v", got, err)
	}
}

// overviewOf returns the overview by upstream.
func overviewOf(t *testing.T, board *Board, p *Pool) map[string]Overview {
	t.Helper()
	all, err := board.Overview(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]Overview)
	for _, o := range all {
		rows[o.Upstream] = o
	}
	return rows
}

func TestFigures_OverviewSaysWhatIsKnownOfEveryUpstream(t *testing.T) {
	t.Parallel()
	ctx, board := t.Context(), newBoard(t)
	list := providers(testkit.Upstream(t), testkit.Upstream(t), testkit.Upstream(t), testkit.Upstream(t),
		testkit.Upstream(t))
	list[0].Supply = string(plan.Premium)
	p, c := poolOf(t, chain.EthMainnet, time.Now, list)
	for name, o := range overviewOf(t, board, p) {
		if o.State != StateUnmeasured || o.Score != nil || o.P50 != nil || o.HeadLag != nil || o.ErrorRate != nil {
			t.Errorf("%s on an empty board is %+v", name, o)
		}
	}
	s := healthy(c, time.Now())
	s.Upstreams[0].Capabilities = measured(map[chain.Capability]bool{chain.Debug: true, chain.Trace: false})
	s.Upstreams[1].Lag, s.Upstreams[1].LatencyMicros = 2, 30_000
	s.Upstreams[2].Usable, s.Upstreams[2].Reason = false, ReasonWrongChain
	s.Upstreams[4].Fingerprint = "of another address"
	if err := board.Publish(ctx, s); err != nil {
		t.Fatal(err)
	}
	by := Cordon{By: "operator@host", At: noon, Reason: "it\nlies"}
	if err := board.Cordon(ctx, chain.EthMainnet, "up-3", by); err != nil {
		t.Fatal(err)
	}
	c.endpoints[0].seen(90, 20*time.Millisecond, 10, 0)
	c.endpoints[1].seen(5, 20*time.Millisecond, 0, 0)
	if err := board.putFigures(ctx, p, "a"); err != nil {
		t.Fatal(err)
	}
	rows := overviewOf(t, board, p)
	for name, want := range map[string]struct{ state, detail, source string }{
		"up-0": {StateExcluded, "by 1 of 1 processes, for its failures or at its wish", "calls"},
		"up-1": {StateUsable, "", "probes"}, // too few calls
		"up-2": {ReasonWrongChain, "", "probes"},
		"up-3": {StateCordoned, "by operator@host at 2026-11-20T12:00:00Z: it lies", "probes"},
		"up-4": {StateUnmeasured, "no probe of this address yet", ""},
	} {
		if o := rows[name]; o.State != want.state || o.Detail != want.detail || o.Source != want.source {
			t.Errorf("%s is %q, %q, from %q, want %+v", name, o.State, o.Detail, o.Source, want)
		}
	}
	first, second := rows["up-0"], rows["up-1"]
	if first.Calls != 100 || *first.ErrorRate != 0.1 || *first.P50 < 17 || *first.P50 > 23 ||
		first.Supply != plan.Premium {
		t.Errorf("up-0 is %+v with %f errors, p50 %f", first, *first.ErrorRate, *first.P50)
	}
	if want := *first.P95 * 1.4; *first.Score < want*0.99 || *first.Score > want*1.01 {
		t.Errorf("score %f with a tenth of failures at %f ms", *first.Score, *first.P95)
	}
	if *second.Score != 30*(1+2.0/5) || *second.HeadLag != 2 || *second.P95 != 30 {
		t.Errorf("up-1: score %f, lag %d, p95 %f", *second.Score, *second.HeadLag, *second.P95)
	}
	able, unknown := first.Able()
	if !slices.Equal(able, []string{"debug"}) || slices.Contains(unknown, "trace") ||
		!slices.Contains(unknown, "archive") {
		t.Errorf("up-0 can %v, and perhaps %v", able, unknown)
	}
}

func TestFigures_AreReportedUntilTheEnd(t *testing.T) {
	t.Parallel()
	board := newBoard(t)
	p, c := poolOf(t, chain.EthMainnet, time.Now, providers(testkit.Upstream(t)))
	c.endpoints[0].seen(3, time.Millisecond, 0, 0)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		board.ReportFigures(ctx, p, "a", slog.New(slog.DiscardHandler))
	}()
	testkit.Eventually(t, testTimeout, func() bool {
		all, err := board.ReadFigures(t.Context(), chain.EthMainnet)
		return err == nil && len(all[chain.EthMainnet]) == 1 && all[chain.EthMainnet][0].Calls == 3
	}, "the figures are on the board")
	cancel()
	<-done
}
