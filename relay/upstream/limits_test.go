package upstream

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/logrange"
)

// limited returns Ethereum with upstreams that have these concurrency limits.
func limited(t *testing.T, limit ...int) (*Chain, []*testkit.UpstreamServer) {
	t.Helper()
	var servers []*testkit.UpstreamServer
	for range limit {
		servers = append(servers, testkit.Upstream(t))
	}
	list := providers(servers...)
	for i := range list {
		list[i].MaxConcurrent = limit[i]
	}
	_, c := poolOf(t, time.Now, list)
	c.Apply(healthy(c, time.Now()))
	return c, servers
}

func TestLimits_UpstreamAtItsLimitIsPassedOverWithoutBlame(t *testing.T) {
	t.Parallel()
	c, servers := limited(t, 2, 1)
	for _, s := range servers {
		s.Default(testkit.Hang(testkit.Result("0x1")))
	}
	var wg sync.WaitGroup
	hold := func(ask func(context.Context, *Request) (*Answer, *fault.Error)) {
		before := servers[0].Total() + servers[1].Total()
		wg.Go(func() {
			answer, f := ask(deadline(t, testTimeout), request("eth_sendRawTransaction"))
			if f != nil {
				t.Errorf("a call with room got %v", f)
				return
			}
			answer.Release()
		})
		testkit.Eventually(t, testTimeout, func() bool { return servers[0].Total()+servers[1].Total() == before+1 },
			"the call arrives")
	}
	hold(c.Read)
	hold(c.Submit)
	hold(c.Read)
	if servers[0].Total() != 2 || servers[1].Total() != 1 {
		t.Fatalf("%d and %d calls", servers[0].Total(), servers[1].Total())
	}
	for _, ask := range []func(context.Context, *Request) (*Answer, *fault.Error){c.Read, c.Submit} {
		r := request("eth_call")
		_, f := ask(deadline(t, testTimeout), r)
		in := expect.In(t, "with everyone at the limit")
		require.NotNil(in, f)
		require.Equal(in, f.Reason, fault.NoUpstream)
		require.Equal(in, f.RetryAfter, time.Second)
		require.Contains(in, f.Message, "at its limit")
		if r.Asked.Attempts != 0 {
			t.Errorf("asked %+v", r.Asked)
		}
	}
	for _, s := range servers {
		s.Release()
	}
	wg.Wait()
	for _, e := range c.endpoints {
		s := e.health.newest()
		in := expect.In(t, "%s", e.Name)
		expect.Equal(in, held(e), 0)
		expect.Equal(in, s.errorRate, 0)
		expect.False(in, s.out)
	}
	answer, f := c.Read(deadline(t, testTimeout), request("eth_call"))
	if f != nil {
		t.Fatal(f)
	}
	answer.Release()
}

func TestLimits_BusyUpstreamsAreNotReplacedByBadOnes(t *testing.T) {
	t.Parallel()
	c, servers := limited(t, 1, 1)
	s := healthy(c, time.Now())
	s.Upstreams[1].Usable, s.Upstreams[1].Reason = false, ReasonLagging
	c.Apply(s)
	if !c.endpoints[0].limits.Take(time.Now()) {
		t.Fatal("no room")
	}
	_, f := c.Read(deadline(t, testTimeout), request("eth_call"))
	require.NotNil(t, f)
	expect.Equal(t, f.Reason, fault.NoUpstream)
	expect.Equal(t, f.RetryAfter, atLimit)
	expect.Equal(t, servers[1].Total(), 0)
}

func TestLimits_OneThatFailsBesideBusyOnesIsReportedAsBusy(t *testing.T) {
	t.Parallel()
	c, servers := limited(t, 1, 1)
	servers[0].Default(testkit.Error(-32601, "method not found"))
	if !c.endpoints[1].limits.Take(time.Now()) {
		t.Fatal("no room")
	}
	_, f := c.Read(deadline(t, testTimeout), request("eth_call"))
	require.NotNil(t, f)
	expect.Equal(t, f.Reason, fault.NoUpstream)
	expect.Equal(t, f.RetryAfter, atLimit)
}

func TestLimits_StreamedAnswerHoldsItsRoomUntilReleased(t *testing.T) {
	t.Parallel()
	c, servers := limited(t, 1)
	servers[0].Default(testkit.Large(2 << 20))
	answer, f := c.Read(deadline(t, testTimeout), request("eth_call"))
	if f != nil {
		t.Fatal(f)
	}
	if _, err := io.Copy(io.Discard, answer.Rest); err != nil {
		t.Fatal(err)
	}
	if held(c.endpoints[0]) != 1 {
		t.Error("the room was given back while the answer was still held")
	}
	answer.Release()
	if held(c.endpoints[0]) != 0 {
		t.Error("the room was not given back")
	}
}

func TestLogLimit_TheLowestHoldsUntilItExpires(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(noon)
	l := logLimit{declared: 5000}
	want := func(blocks uint64) {
		t.Helper()
		if got := l.blocks(clock.Now()); got != blocks {
			t.Errorf("the limit is %d, want %d", got, blocks)
		}
	}
	stated := func(blocks uint64) logrange.Refusal {
		return logrange.Refusal{Kind: logrange.Blocks, Limit: blocks, Stated: true}
	}
	want(5000)
	l.refused(clock.Now(), stated(9000))
	want(5000)
	l = logLimit{declared: 5000}
	if !l.refused(clock.Now(), stated(100)) || l.refused(clock.Now(), stated(500)) {
		t.Error("a limit does not count, or a higher one does")
	}
	want(100)
	if !l.refused(clock.Now(), logrange.Refusal{Limit: 50}) {
		t.Error("a guess does not count")
	}
	want(50)
	clock.Advance(guessedFor)
	want(5000)
	if l.refused(clock.Now(), logrange.Refusal{Limit: minGuess - 1}) {
		t.Error("a guess is too low")
	}
	l.learn(clock.Now(), LogLimit{Blocks: 20, Until: clock.Now().Add(24 * time.Hour)})
	want(20)
	clock.Advance(statedFor)
	want(5000)
	if l.learn(clock.Now(), LogLimit{Blocks: 1, Until: clock.Now()}) ||
		l.learn(clock.Now(), LogLimit{0, clock.Now().Add(time.Hour)}) {
		t.Error("an expired limit or none was learned")
	}
}

// Two processes learn different limits of one upstream at the same time, in both orders.
func TestLogLimits_ProcessesAgreeOnTheLowest(t *testing.T) {
	t.Parallel()
	ctx, board, clock := t.Context(), newBoard(t), testkit.NewClock(noon)
	up := testkit.Upstream(t)
	var pools []*Pool
	var chains []*Chain
	for range 3 {
		p, c := poolOf(t, clock.Now, providers(up))
		pools, chains = append(pools, p), append(chains, c)
	}
	follow := func() {
		t.Helper()
		posted, err := board.Read(ctx, chain.EthMainnet)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range chains {
			c.follow(posted)
		}
	}
	learn := func(i int, blocks uint64) {
		t.Helper()
		chains[i].endpoints[0].logLimit.refused(clock.Now(), logrange.Refusal{Limit: blocks, Stated: true})
		if err := board.shareLogLimits(ctx, pools[i]); err != nil {
			t.Fatal(err)
		}
	}
	want := func(limits ...uint64) {
		t.Helper()
		for i, limit := range limits {
			if got := chains[i].endpoints[0].logLimit.blocks(clock.Now()); got != limit {
				t.Errorf("process %d has a limit of %d, want %d", i, got, limit)
			}
		}
	}
	learn(0, 500)
	learn(1, 100)
	want(500, 100, noLogLimit)
	follow()
	want(100, 100, 100)
	learn(0, 40)
	learn(1, 60)
	follow()
	want(40, 40, 40)
	clock.Advance(statedFor / 2)
	follow() // it does not last longer for being heard again
	clock.Advance(statedFor / 2)
	follow()
	want(noLogLimit, noLogLimit, noLogLimit)
	learn(2, 300) // after the lower one has expired
	follow()
	want(300, 300, 300)
	if n, err := board.rdb.HLen(ctx, logLimitKey(chain.EthMainnet)).Result(); err != nil || n != 1 {
		t.Errorf("the board has %d limits, %v", n, err)
	}
	_, c := poolOf(t, clock.Now, providers(up)) // a process that starts
	chains = append(chains, c)
	follow()
	want(300, 300, 300, 300)
}

func TestLogLimits_AnotherAddressHasALimitOfItsOwn(t *testing.T) {
	t.Parallel()
	ctx, board := t.Context(), newBoard(t)
	p, c := poolOf(t, time.Now, providers(testkit.Upstream(t)))
	c.endpoints[0].logLimit.refused(time.Now(), logrange.Refusal{Limit: 10, Stated: true})
	if err := board.shareLogLimits(ctx, p); err != nil {
		t.Fatal(err)
	}
	posted, err := board.Read(ctx, chain.EthMainnet)
	if err != nil {
		t.Fatal(err)
	}
	c.follow(posted)
	if _, err := p.Reload(config.Upstreams{Chains: map[string]config.ChainUpstreams{
		string(chain.EthMainnet): {Upstreams: []config.Upstream{
			{Name: "up-0", URL: c.endpoints[0].configured.URL, Supply: "premium"},
			{Name: "up-1", URL: testkit.Upstream(t).URL, Supply: "public"},
		}},
	}}); err != nil {
		t.Fatal(err)
	}
	c, _ = p.Chain(chain.EthMainnet)
	a, b := c.endpoints[0].logLimit.blocks(time.Now()), c.endpoints[1].logLimit.blocks(time.Now())
	if a != 10 || b != noLogLimit {
		t.Errorf("after a reload the limits are %d and %d", a, b)
	}
}

func TestLimits_RateIsThatOfAllProcesses(t *testing.T) {
	t.Parallel()
	const rate, span = 40, 3 * time.Second
	board, server := newBoard(t), testkit.Upstream(t)
	list := providers(server)
	list[0].MaxPerSecond = rate
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	var chains []*Chain
	for _, name := range []string{"a", "b"} {
		p, _ := poolOf(t, time.Now, list)
		share := board.ShareRates(p, name, slog.New(slog.DiscardHandler))
		running.Go(func() { share(ctx) })
		again := providers(server, testkit.Upstream(t))
		again[0].MaxPerSecond, again[0].MaxConcurrent = rate, 1000
		if _, err := p.Reload(config.Upstreams{
			Chains: map[string]config.ChainUpstreams{string(chain.EthMainnet): {Upstreams: again}},
		}); err != nil {
			t.Fatal(err)
		}
		c, _ := p.Chain(chain.EthMainnet)
		chains = append(chains, c)
	}
	taken := 0
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < span; <-tick.C {
		for _, c := range chains {
			if c.endpoints[0].limits.Take(time.Now()) {
				taken++
			}
		}
	}
	if want := rate * int(span.Seconds()); taken > want+rate/2 || taken < want/2 {
		t.Errorf("two processes took %d calls in %s at %d a second", taken, span, rate)
	}
}

func TestLimits_ProvidersRefusalLowersTheRateOfAllProcesses(t *testing.T) {
	t.Parallel()
	board, server := newBoard(t), testkit.Upstream(t)
	server.Default(testkit.Status(http.StatusTooManyRequests))
	list := providers(server)
	list[0].MaxPerSecond = 100
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	var pools []*Pool
	var chains []*Chain
	for _, name := range []string{"a", "b"} {
		p, c := poolOf(t, time.Now, list)
		c.Apply(healthy(c, time.Now()))
		share := board.ShareRates(p, name, slog.New(slog.DiscardHandler))
		running.Go(func() { share(ctx) })
		pools, chains = append(pools, p), append(chains, c)
	}
	testkit.Eventually(t, testTimeout, func() bool {
		_, _ = chains[0].Read(deadline(t, testTimeout), request("eth_call"))
		return server.Total() > 0
	}, "a call is sent")
	testkit.Eventually(t, testTimeout, func() bool { return chains[1].endpoints[0].limits.Rate() < 100 },
		"the other process hears of the refusal")
	all, err := board.Overview(t.Context(), pools[1])
	if err != nil {
		t.Fatal(err)
	}
	require.NotNil(t, all[0].Rate)
	expect.True(t, all[0].Lowered)
	expect.True(t, *all[0].Rate < 100)
}

func TestBudget_SpentMeansNoMoreCallsUntilItIsRaised(t *testing.T) {
	t.Parallel()
	board, server, lagging := newBoard(t), testkit.Upstream(t), testkit.Upstream(t)
	list := providers(server, lagging)
	list[0].Budget = &config.Budget{Units: 5, Day: 1} // of requests, as it has no price
	p, c := poolOf(t, time.Now, list)
	s := healthy(c, time.Now())
	s.Upstreams[1].Usable, s.Upstreams[1].Reason = false, ReasonLagging
	c.Apply(s)
	share := board.ShareRates(p, "a", slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { share(ctx) })
	// Redis lost what was spent, and PostgreSQL has it.
	testkit.Eventually(t, testTimeout, func() bool {
		err := p.RecoverBudgets(ctx, func(_ context.Context, on, name string, _ time.Time) (int64, error) {
			if on != "eth_mainnet" || name != "up-0" {
				t.Errorf("asked for %s of %s", name, on)
			}
			return 2, nil
		})
		if err != nil {
			t.Error(err)
		}
		_, spent, _ := c.endpoints[0].limits.Budget()
		return spent == 2
	}, "Redis takes over what PostgreSQL has")
	for range 3 {
		answer, f := c.Read(deadline(t, testTimeout), request("eth_call"))
		if f != nil {
			t.Fatal(f)
		}
		answer.Release()
	}
	testkit.Eventually(t, testTimeout, c.endpoints[0].limits.Exhausted, "the budget is spent")
	asked := server.Count("eth_call")
	answer, f := c.Read(deadline(t, testTimeout), request("eth_call"))
	require.True(t, f == nil)
	answer.Release()
	expect.Equal(t, server.Count("eth_call"), asked, "calls beyond the budget")
	expect.Equal(t, lagging.Count("eth_call"), 1, "calls of an upstream that is only behind")
	expect.False(t, c.endpoints[0].health.newest().out)
	all, err := board.Overview(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	require.NotNil(t, all[0].Spent)
	expect.Equal(t, *all[0].Budget, 5)
	expect.True(t, *all[0].Spent >= 5)
}
