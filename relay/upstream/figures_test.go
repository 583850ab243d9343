package upstream

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/logrange"
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
		p, c := poolOf(t, time.Now, providers(up))
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
	p, _ := poolOf(t, clock.Now, providers(testkit.Upstream(t)))
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
	p, c := poolOf(t, time.Now, list)
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
		t.Run(name, func(t *testing.T) {
			o := rows[name]
			in := expect.In(t, "%s", name)
			expect.Equal(in, o.State, want.state)
			expect.Equal(in, o.Detail, want.detail)
			expect.Equal(in, o.Source, want.source)
		})
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

func TestFigures_OverviewShowsLimitsOfLogRanges(t *testing.T) {
	t.Parallel()
	ctx, board, clock := t.Context(), newBoard(t), testkit.NewClock(noon)
	list := providers(testkit.Upstream(t), testkit.Upstream(t), testkit.Upstream(t), testkit.Upstream(t))
	list[1].MaxLogBlocks, list[2].MaxLogBlocks = 500, 500
	p, c := poolOf(t, clock.Now, list)
	for i, learned := range map[int]uint64{0: 100, 2: 50} {
		c.endpoints[i].logLimit.refused(clock.Now(), logrange.Refusal{Limit: learned, Stated: true})
	}
	if err := board.shareLogLimits(ctx, p); err != nil {
		t.Fatal(err)
	}
	limits := func() map[string]string {
		seen := make(map[string]string)
		for name, o := range overviewOf(t, board, p) {
			if o.LogBlocks == nil {
				continue
			}
			seen[name] = strconv.FormatUint(*o.LogBlocks, 10)
			if !o.LogBlocksUntil.IsZero() {
				seen[name] += " for " + o.LogBlocksUntil.Sub(clock.Now()).String()
			}
		}
		return seen
	}
	expect.EqualMaps(t, limits(), map[string]string{"up-0": "100 for 1h0m0s", "up-1": "500", "up-2": "50 for 1h0m0s"})
	clock.Advance(statedFor)
	expect.EqualMaps(t, limits(), map[string]string{"up-1": "500", "up-2": "500"})
}

func TestFigures_AreReportedUntilTheEnd(t *testing.T) {
	t.Parallel()
	board := newBoard(t)
	p, c := poolOf(t, time.Now, providers(testkit.Upstream(t)))
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

// read makes n reads, whatever their outcome.
func (c *Chain) read(t *testing.T, n int) {
	t.Helper()
	for range n {
		if answer, f := c.Read(deadline(t, testTimeout), request("eth_call")); f == nil {
			answer.Release()
		}
	}
}

func running(c *Chain) Slot { return c.Slots()[1] }

func TestTraffic_SlotCountsCallsByOutcome(t *testing.T) {
	t.Parallel()
	now := time.Now()
	clock, begun := testkit.NewClock(now), now.UTC().Truncate(SlotLength)
	first, second := testkit.Upstream(t), testkit.Upstream(t)
	_, c := poolOf(t, clock.Now, providers(first, second))
	c.Apply(healthy(c, now))
	first.Default(testkit.Result("0x1"))
	second.Default(testkit.Result("0x2"))
	c.read(t, 3)
	s := running(c)
	in := expect.In(t, "answered at once")
	expect.Equal(in, s.Calls, 3)
	expect.Equal(in, s.Attempts, 3)
	expect.Equal(in, s.Rerouted, 0)
	expect.Equal(in, s.Lost, 0)
	expect.Equal(in, s.Failed, 0)
	expect.True(in, s.Start.Equal(begun), s.Start, begun)
	broken := testkit.InvalidJSON()
	first.Next(broken)
	c.read(t, 1)
	s = running(c)
	in = expect.In(t, "the second answered after the first")
	expect.Equal(in, s.Calls, 4)
	expect.Equal(in, s.Attempts, 5)
	expect.Equal(in, s.Rerouted, 1)
	expect.Equal(in, s.Lost, 0)
	expect.Equal(in, s.Failed, 1)
	first.Next(broken)
	second.Next(broken)
	c.read(t, 1)
	s = running(c)
	expect.Equal(t, s.Calls, 5)
	expect.Equal(t, s.Attempts, 7)
	expect.Equal(t, s.Rerouted, 1)
	expect.Equal(t, s.Lost, 1)
	expect.Equal(t, s.Failed, 3)
	first.Next(testkit.Error(-32602, "invalid params")) // an answer
	c.read(t, 1)
	s = running(c)
	in = expect.In(t, "an error that is an answer")
	expect.Equal(in, s.Calls, 6)
	expect.Equal(in, s.Lost, 1)
	expect.Equal(in, s.Failed, 3)
	down := healthy(c, now)
	down.Upstreams[0].Usable, down.Upstreams[1].Usable = false, false
	down.Upstreams[0].ChainIDOK, down.Upstreams[1].ChainIDOK = false, false
	c.Apply(down)
	c.read(t, 2)
	s = running(c)
	in = expect.In(t, "nobody to ask")
	expect.Equal(in, s.Calls, 8)
	expect.Equal(in, s.Attempts, 8)
	expect.Equal(in, s.Lost, 3)
	// After the slot ends, it is reported as the previous one; after another slot it is not.
	clock.Advance(SlotLength)
	slots := c.Slots()
	in = expect.In(t, "five minutes later")
	expect.Equal(in, slots[0].Calls, 8)
	expect.Equal(in, slots[0].Lost, 3)
	expect.Equal(in, slots[1].Calls, 0)
	expect.True(in, slots[1].Start.Equal(begun.Add(SlotLength)), slots[1].Start)
	clock.Advance(SlotLength)
	if slots = c.Slots(); slots[0].Calls != 0 || slots[0].Lost != 0 {
		t.Errorf("ten minutes later: %+v", slots)
	}
}

func TestTraffic_ClientThatGoesAwayLosesNoCall(t *testing.T) {
	t.Parallel()
	c, first, _ := twoUpstreams(t)
	first.Default(testkit.Hang(testkit.Result("0x1")))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if answer, f := c.Read(ctx, request("eth_call")); f == nil {
			answer.Release()
		}
	}()
	testkit.Eventually(t, testTimeout, func() bool { return first.Total() == 1 }, "the read is under way")
	cancel()
	<-done
	for _, s := range c.Slots() {
		if s.Lost != 0 || s.Rerouted != 0 {
			t.Errorf("%+v", s)
		}
	}
}

func TestTraffic_ForgivenFailuresStillCount(t *testing.T) {
	t.Parallel()
	_, c := poolOf(t, testkit.NewClock(noon).Now, providers(testkit.Upstream(t)))
	e := c.endpoints[0]
	e.seen(20, time.Millisecond, 5, 1)
	e.health.mu.Lock()
	e.health.comeBack()
	e.health.mu.Unlock()
	e.seen(4, time.Millisecond, 0, 0)
	s := running(c)
	expect.Equal(t, s.Attempts, 30)
	expect.Equal(t, s.Failed, 6)
	expect.Equal(t, s.Calls, 30)
	if f := c.Figures()[0]; f.Calls != 4 || f.Failed != 0 {
		t.Errorf("the figures are %+v", f)
	}
}

func TestTraffic_SlotsOfAllProcessesAddUp(t *testing.T) {
	t.Parallel()
	ctx, board, clock := t.Context(), newBoard(t), testkit.NewClock(noon)
	for i, took := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond} {
		p, c := poolOf(t, clock.Now, providers(testkit.Upstream(t)))
		c.endpoints[0].seen(50, took, i, 0)
		c.traffic.note(clock.Now(), 2, true, false)
		for range 2 { // a process's second report replaces its first
			if err := board.putFigures(ctx, p, string(rune('a'+i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	all, err := board.ReadSlots(ctx, chain.EthMainnet, chain.BaseMainnet)
	require.NoError(t, err)
	require.Len(t, all[chain.EthMainnet], 2)
	require.Empty(t, all[chain.BaseMainnet])
	s := all[chain.EthMainnet][1]
	expect.Equal(t, s.Attempts, 101)
	expect.Equal(t, s.Failed, 1)
	expect.Equal(t, s.Calls, 99)
	expect.Equal(t, s.Rerouted, 2)
	expect.True(t, s.Start.Equal(noon), s.Start)
	var l account.Latency
	for bucket, n := range s.Latencies {
		l[bucket] += n
	}
	p50, _ := l.Quantile(0.5)
	expect.Equal(t, l.Calls(), 100)
	expect.Between(t, p50, 8*time.Millisecond, 13*time.Millisecond)
	ttl, err := board.rdb.TTL(ctx, slotsKey(chain.EthMainnet, "a")).Result()
	in := expect.In(t, "slots last")
	require.NoError(in, err)
	expect.Greater(in, ttl, SlotLength)
	expect.AtMost(in, ttl, slotsLast)
}

func TestTraffic_StateOfAChainFollowsFromProbesAndCalls(t *testing.T) {
	t.Parallel()
	_, c := poolOf(t, testkit.NewClock(noon).Now, providers(testkit.Upstream(t), testkit.Upstream(t),
		testkit.Upstream(t)))
	quiet, bad, few := Slot{Calls: 100, Lost: 10}, Slot{Calls: 100, Lost: 11}, Slot{Calls: 19, Lost: 19}
	for name, x := range map[string]struct {
		change func(p *Posted)
		slots  []Slot
		state  chain.State
		why    string
	}{
		"all well":          {func(*Posted) {}, nil, chain.Up, ""},
		"never measured":    {func(p *Posted) { p.Known = false }, nil, chain.Unknown, ""},
		"one of three away": {func(p *Posted) { p.Snapshot.Upstreams[0].Usable = false }, nil, chain.Up, ""},
		"one of three left": {func(p *Posted) {
			p.Snapshot.Upstreams[0].Usable, p.Snapshot.Upstreams[1].Usable = false, false
		}, nil, chain.Degraded, WhyOneLeft},
		"one is all there is": {
			func(p *Posted) { p.Snapshot.Upstreams = p.Snapshot.Upstreams[:1] }, nil, chain.Up, "",
		},
		"two out of rotation": {
			func(p *Posted) { p.Cordons = map[string]Cordon{"up-0": {}, "up-1": {}} }, nil, chain.Degraded, WhyOneLeft,
		},
		"all out of rotation": {func(p *Posted) {
			p.Cordons = map[string]Cordon{"up-0": {}, "up-1": {}, "up-2": {}}
		}, nil, chain.Down, WhyNoUpstream},
		"none usable": {
			func(p *Posted) { clear(p.Snapshot.Upstreams) }, []Slot{quiet}, chain.Down, WhyNoUpstream,
		},
		"the head stands": {
			func(p *Posted) { p.Snapshot.HeadAt = noon.Add(-headStandsAt - time.Second) }, nil,
			chain.Degraded, WhyHeadStands,
		},
		"a tenth is lost":        {func(*Posted) {}, []Slot{bad, quiet}, chain.Up, ""},
		"more is lost":           {func(*Posted) {}, []Slot{quiet, bad}, chain.Degraded, WhyCallsLost},
		"too few to tell of now": {func(*Posted) {}, []Slot{bad, few}, chain.Degraded, WhyCallsLost},
		"too few to tell":        {func(*Posted) {}, []Slot{few, few}, chain.Up, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := Posted{Known: true, Snapshot: healthy(c, noon)}
			p.Snapshot.HeadAt = noon.Add(-20 * time.Second)
			x.change(&p)
			if state, why := p.State(nil, x.slots); state != x.state || why != x.why {
				t.Errorf("%s, %q, want %s, %q", state, why, x.state, x.why)
			}
		})
	}
}
