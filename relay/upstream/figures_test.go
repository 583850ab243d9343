package upstream

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
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
	require.NoError(t, err)
	require.Len(t, all[chain.EthMainnet], 1)
	require.Empty(t, all[chain.BaseMainnet])
	f := all[chain.EthMainnet][0]
	expect.Equal(t, f.Calls, 103)
	expect.Equal(t, f.Failed, 2)
	expect.Equal(t, f.Throttled, 1)
	expect.Equal(t, f.Processes, 2)
	expect.Equal(t, f.Out, 1)
	// Half of all answers took ten milliseconds, the other half a hundred. No single process has
	// these quantiles.
	q := f.quantiles(standardReads, heavyReads)
	if near := func(got, want time.Duration) bool {
		return got > want*7/8 && got < want*9/8
	}; !near(q.P90, 100*time.Millisecond) {
		t.Errorf("nine of ten take %s", q.P90)
	}
	sum := slices.Sorted(maps.Values(f.Latencies[standardReads]))
	require.Len(t, sum, 2, f.Latencies)
	expect.Equal(t, sum[0], 50, f.Latencies)
	expect.Equal(t, sum[1], 50, f.Latencies)
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
		in := expect.In(t, "%s on an empty board", name)
		expect.Equal(in, o.State, StateUnmeasured)
		expect.Nil(in, o.Score)
		expect.Nil(in, o.P50)
		expect.Nil(in, o.HeadLag)
		expect.Nil(in, o.ErrorRate)
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
		o := rows[name]
		in := expect.In(t, "%s", name)
		expect.Equal(in, o.State, want.state)
		expect.Equal(in, o.Detail, want.detail)
		expect.Equal(in, o.Source, want.source)
	}
	first, second := rows["up-0"], rows["up-1"]
	expect.Equal(t, first.Calls, 100)
	expect.Equal(t, *first.ErrorRate, 0.1)
	expect.Between(t, *first.P50, 17, 23)
	expect.Equal(t, first.Supply, plan.Premium)
	if want := *first.P95 * 1.4; *first.Score < want*0.99 || *first.Score > want*1.01 {
		t.Errorf("score %f with a tenth of failures at %f ms", *first.Score, *first.P95)
	}
	in := expect.In(t, "up-1")
	expect.Equal(in, *second.Score, 30*(1+2.0/5))
	expect.Equal(in, *second.HeadLag, 2)
	expect.Equal(in, *second.P95, 30)
	able, unknown := first.Able()
	in = expect.In(t, "up-0 can")
	expect.EqualSlices(in, able, []string{"debug"})
	expect.False(in, slices.Contains(unknown, "trace"), unknown)
	expect.True(in, slices.Contains(unknown, "archive"), unknown)
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
