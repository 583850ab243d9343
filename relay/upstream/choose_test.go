package upstream

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/upstream/internal/rules"
)

// chooser returns a chain with one upstream per supply, named after its supply and position, and
// its healthy snapshot with equal latencies.
func chooser(t *testing.T, supplies ...plan.Supply) (*Chain, *testkit.Clock, Snapshot) {
	t.Helper()
	clock := testkit.NewClock(noon)
	var list []config.Upstream
	for i, s := range supplies {
		list = append(list, config.Upstream{
			Name: fmt.Sprintf("%s-%d", s, i), URL: "http://127.0.0.1:1", Supply: string(s),
		})
	}
	_, c := poolOf(t, clock.Now, list)
	s := healthy(c, noon)
	for i := range s.Upstreams {
		s.Upstreams[i].LatencyMicros = 10_000
	}
	return c, clock, s
}

func (c *Chain) choice(supply plan.Supply, tier plan.Tier, tried uint64) string {
	return c.choiceFor(&Request{Method: []byte("eth_call"), Supply: supply, Tier: tier}, tried)
}

func (c *Chain) choiceFor(r *Request, tried uint64) string {
	to, ok := c.next(&search{r: r, list: c.endpoints, tried: tried})
	if !ok {
		return "none"
	}
	to.limits.Release()
	if to.trial {
		to.health.endTrial()
	}
	return to.Name
}

func TestChoose_NoUpstreamBeforeItProvedItsChain(t *testing.T) {
	t.Parallel()
	c, _, s := chooser(t, plan.Public)
	if got := c.choice(plan.Public, plan.Balanced, 0); got != "none" {
		t.Errorf("chose %s before the first probe", got)
	}
	s.Upstreams[0].ChainIDOK, s.Upstreams[0].Usable, s.Upstreams[0].Reason = false, false, ReasonWrongChain
	c.Apply(s)
	if got := c.choice(plan.Public, plan.Balanced, 0); got != "none" {
		t.Errorf("chose %s, which is of another chain", got)
	}
	s.Upstreams[0].Usable = true // a contradictory snapshot must not make it eligible
	c.Apply(s)
	if got := c.choice(plan.Public, plan.Balanced, 0); got != "none" {
		t.Errorf("chose %s, which is of another chain", got)
	}
}

func TestChoose_SupplyBoundsThePool(t *testing.T) {
	t.Parallel()
	c, _, s := chooser(t, plan.Premium, plan.Wholesale, plan.Public)
	s.Upstreams[0].LatencyMicros, s.Upstreams[1].LatencyMicros = 10, 100
	c.Apply(s)
	for _, tier := range plan.Tiers() {
		if got := c.choice(plan.Public, tier, 0); got != "public-2" {
			t.Errorf("a public caller on %s got %s", tier, got)
		}
		if got := c.choice(plan.Public, tier, 1<<2); got != "none" {
			t.Errorf("a public caller on %s got %s once its own supply was used up", tier, got)
		}
	}
	if got := c.choice(plan.Wholesale, plan.Balanced, 0); got != "wholesale-1" {
		t.Errorf("a wholesale caller got %s", got)
	}
	if got := c.choice(plan.Premium, plan.Balanced, 0); got != "premium-0" {
		t.Errorf("a premium caller got %s", got)
	}
}

func TestChoose_TierChoosesInsideTheSupply(t *testing.T) {
	t.Parallel()
	c, _, s := chooser(t, plan.Public, plan.Wholesale, plan.Premium)
	c.Apply(s)
	for tier, want := range map[plan.Tier]string{plan.Cheap: "public-0", plan.Fast: "premium-2"} {
		if got := c.choice(plan.Premium, tier, 0); got != want {
			t.Errorf("%s got %s, want %s at equal latencies", tier, got, want)
		}
	}
}

func TestChoose_FavoriteStaysUntilAnotherIsClearlyBetter(t *testing.T) {
	t.Parallel()
	c, _, s := chooser(t, plan.Public, plan.Public)
	measure := func(first, second int64) string {
		s.Upstreams[0].LatencyMicros, s.Upstreams[1].LatencyMicros = first, second
		c.Apply(s)
		return c.choice(plan.Public, plan.Balanced, 0)
	}
	for _, step := range []struct {
		first, second int64
		want          string
	}{
		{10_000, 11_000, "public-0"},
		{12_000, 10_000, "public-0"}, // better, but not clearly
		{12_600, 10_000, "public-1"}, // more than a quarter
		{10_000, 10_000, "public-1"},
		{10_000, 12_600, "public-0"},
	} {
		if got := measure(step.first, step.second); got != step.want {
			t.Errorf("at %d and %d µs it chose %s, want %s", step.first, step.second, got, step.want)
		}
	}
}

func TestChoose_ExcludedUpstreamsAreUsedWhenAllAre(t *testing.T) {
	t.Parallel()
	c, clock, s := chooser(t, plan.Public, plan.Public)
	s.Upstreams[1].LatencyMicros = 20_000
	c.Apply(s)
	c.endpoints[0].health.fail(minSamples)
	if got := c.choice(plan.Public, plan.Balanced, 0); got != "public-1" {
		t.Errorf("chose %s beside an excluded one", got)
	}
	c.endpoints[1].health.fail(minSamples)
	first := c.choice(plan.Public, plan.Balanced, 0)
	second := c.choice(plan.Public, plan.Balanced, 1<<place(c, first))
	expect.NotEqual(t, first, "none")
	expect.NotEqual(t, second, "none")
	expect.NotEqual(t, first, second)
	clock.Advance(firstExclusion)
	for _, e := range c.endpoints {
		e.health.succeed(successesToReturn)
	}
	if got := c.choice(plan.Public, plan.Balanced, 0); got != "public-0" {
		t.Errorf("chose %s after both were back", got)
	}
	s.Upstreams[0].Usable, s.Upstreams[0].Reason = false, ReasonLagging
	c.Apply(s)
	if got := c.choice(plan.Public, plan.Balanced, 0); got != "public-1" {
		t.Errorf("chose %s, want the one that does not lag", got)
	}
	if got := c.choice(plan.Public, plan.Balanced, 1<<1); got != "public-0" {
		t.Errorf("chose %s, want the lagging one rather than none", got)
	}
}

func place(c *Chain, name string) int {
	return slices.IndexFunc(c.endpoints, func(e *Endpoint) bool { return e.Name == name })
}

func TestChoose_UpstreamWithoutAMethodComesLastForThatMethodOnly(t *testing.T) {
	t.Parallel()
	c, clock, s := chooser(t, plan.Public, plan.Public)
	s.Upstreams[1].LatencyMicros = 20_000
	c.Apply(s)
	if got := c.choice(plan.Public, plan.Balanced, 0); got != "public-0" {
		t.Fatalf("chose %s", got)
	}
	c.endpoints[0].lacking.note([]byte("eth_call"))
	if got := c.choice(plan.Public, plan.Balanced, 0); got != "public-1" {
		t.Errorf("chose %s for a method that it lacks", got)
	}
	if c.choiceFor(&Request{Method: []byte("eth_getBalance"), Supply: plan.Public, Tier: plan.Balanced},
		0) != "public-0" {
		t.Error("it stays the favourite for every other method")
	}
	if got := c.choice(plan.Public, plan.Balanced, 1<<1); got != "public-0" {
		t.Errorf("chose %s, want the lacking one rather than none", got)
	}
	clock.Advance(lackingFor)
	if got := c.choice(plan.Public, plan.Balanced, 0); got != "public-0" {
		t.Errorf("chose %s after its word had expired", got)
	}
}

func TestChoose_SnapshotOfAnotherFileNamesNobodyHere(t *testing.T) {
	t.Parallel()
	c, _, s := chooser(t, plan.Public)
	s.Upstreams[0].Name = "somebody-else"
	c.Apply(s)
	if got := c.choice(plan.Public, plan.Balanced, 0); got != "none" {
		t.Errorf("chose %s on another's verdict", got)
	}
	if head, known := c.Head(); !known || head != testHead {
		t.Error("the head of the snapshot holds all the same")
	}
}

func TestChoose_PoolRefusesUnknownChains(t *testing.T) {
	t.Parallel()
	_, err := NewPool(config.Upstreams{Chains: map[string]config.ChainUpstreams{"dogecoin": {}}}, time.Now)
	if err == nil {
		t.Error("an unknown chain must stop the start")
	}
}

// measured makes an upstream appear as if all its calls had taken this long.
func (e *Endpoint) measured(took time.Duration) {
	for range 2 * minSamples {
		e.observe(observation{verdict: verdicts[rules.Answer], took: took})
		e.observe(observation{verdict: verdicts[rules.Answer], took: took, heavy: true})
	}
	e.health.newest()
}

func TestChoose_CheapPrefersCheapSupplyAndHealthAfterAFailure(t *testing.T) {
	t.Parallel()
	c, _, s := chooser(t, plan.Premium, plan.Wholesale, plan.Public, plan.Public)
	c.Apply(s)
	for i, took := range []time.Duration{time.Millisecond, 2 * time.Millisecond, time.Second, 2 * time.Second} {
		c.endpoints[i].measured(took)
	}
	if got := c.choice(plan.Premium, plan.Cheap, 0); got != "public-2" {
		t.Errorf("cheap got %s, want the better one of the cheapest supply, however slow", got)
	}
	if got := c.choice(plan.Premium, plan.Cheap, 1<<2); got != "premium-0" {
		t.Errorf("after a failure cheap got %s, want the healthiest", got)
	}
	if got := c.choice(plan.Wholesale, plan.Cheap, 1<<2); got != "wholesale-1" {
		t.Errorf("after a failure a wholesale caller got %s", got)
	}
}

func TestChoose_FastTakesTheLowestLatencyOfTheBestSupply(t *testing.T) {
	t.Parallel()
	c, _, s := chooser(t, plan.Public, plan.Premium, plan.Premium, plan.Wholesale)
	s.Upstreams[2].Lag = 3 // in blocks, which fast ignores
	c.Apply(s)
	for i, took := range []time.Duration{
		time.Millisecond, 300 * time.Millisecond, 200 * time.Millisecond, 2 * time.Millisecond,
	} {
		c.endpoints[i].measured(took)
	}
	for supply, want := range map[plan.Supply]string{
		plan.Premium: "premium-2", plan.Wholesale: "wholesale-3", plan.Public: "public-0",
	} {
		t.Run(string(supply), func(t *testing.T) {
			if got := c.choice(supply, plan.Fast, 0); got != want {
				t.Errorf("a %s caller on fast got %s, want %s", supply, got, want)
			}
		})
	}
	if got := c.choice(plan.Premium, plan.Fast, 1<<1|1<<2); got != "wholesale-3" {
		t.Errorf("when the best supply is used up fast got %s, want the next", got)
	}
}

func TestChoose_BalancedBlendsLatencyFailuresThrottlingAndLag(t *testing.T) {
	t.Parallel()
	for name, worsen := range map[string]func(*Endpoint, *UpstreamState){
		"latency": func(e *Endpoint, _ *UpstreamState) {
			e.measured(60 * time.Millisecond)
			e.measured(60 * time.Millisecond)
		},
		"failures":   func(e *Endpoint, _ *UpstreamState) { e.failEvery(8) },
		"throttling": func(e *Endpoint, _ *UpstreamState) { e.throttleEvery(8) },
		"lag":        func(_ *Endpoint, s *UpstreamState) { s.Lag = 3 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _, s := chooser(t, plan.Premium, plan.Public)
			c.Apply(s)
			for _, e := range c.endpoints {
				e.measured(20 * time.Millisecond)
			}
			if got := c.choice(plan.Premium, plan.Balanced, 0); got != "premium-0" {
				t.Fatalf("chose %s", got)
			}
			worsen(c.endpoints[0], &s.Upstreams[0])
			c.Apply(s)
			c.endpoints[0].health.newest()
			if got := c.choice(plan.Premium, plan.Balanced, 0); got != "public-1" {
				t.Errorf("balanced stays with %s, %+v", got, c.endpoints[0].health.newest())
			}
		})
	}
}

// failEvery makes one of n calls fail, and throttleEvery one of n throttled, without excluding the
// upstream.
func (e *Endpoint) failEvery(n int) {
	for range 2 * minSamples {
		e.health.fail(1)
		e.health.succeed(n - 1)
	}
}

func (e *Endpoint) throttleEvery(n int) {
	for range 2 * minSamples {
		e.health.mu.Lock()
		e.health.minute(e.health.now()).calls++
		e.health.minute(e.health.now()).throttled++
		e.health.mu.Unlock()
		e.health.succeed(n - 1)
	}
}

func TestChoose_HeavyReadsGoByTheirOwnLatency(t *testing.T) {
	t.Parallel()
	c, _, s := chooser(t, plan.Public, plan.Public)
	c.Apply(s)
	for range 2 * minSamples {
		for i, e := range c.endpoints {
			standard, heavy := 10*time.Millisecond, time.Second
			if i == 1 {
				standard, heavy = heavy/2, heavy/2
			}
			e.observe(observation{verdict: verdicts[rules.Answer], took: standard})
			e.observe(observation{verdict: verdicts[rules.Answer], took: heavy, heavy: true})
		}
	}
	c.endpoints[0].health.newest()
	c.endpoints[1].health.newest()
	if got := c.choice(plan.Public, plan.Balanced, 0); got != "public-0" {
		t.Errorf("a standard read went to %s", got)
	}
	if got := c.choiceFor(&Request{Method: []byte("eth_call"), Supply: plan.Public, Tier: plan.Balanced, Heavy: true},
		0); got != "public-1" {
		t.Errorf("a heavy read went to %s", got)
	}
}

func TestChoose_UpstreamOnTrialGetsOneCheapReadAtATime(t *testing.T) {
	t.Parallel()
	c, clock, s := chooser(t, plan.Public, plan.Public)
	s.Upstreams[1].LatencyMicros = 20_000
	c.Apply(s)
	c.endpoints[0].health.fail(minSamples)
	take := func(change func(*search)) choice {
		s := &search{
			r: &Request{Method: []byte("eth_call"), Supply: plan.Public, Tier: plan.Balanced}, list: c.endpoints,
		}
		change(s)
		to, ok := c.next(s)
		if !ok {
			t.Fatal("nobody was chosen")
		}
		return to
	}
	plain := func(*search) {}
	if to := take(plain); to.Name != "public-1" || to.trial {
		t.Fatalf("chose %s before its time was over", to.Name)
	}
	clock.Advance(firstExclusion)
	for name, change := range map[string]func(*search){
		"a submission":     func(s *search) { s.write = true },
		"a fast read":      func(s *search) { s.r.Tier = plan.Fast },
		"a heavy read":     func(s *search) { s.r.Heavy = true },
		"a second attempt": func(s *search) { s.tried = 1 << 5 },
	} {
		t.Run(name, func(t *testing.T) {
			if to := take(change); to.Name != "public-1" || to.trial {
				t.Errorf("%s went to %s", name, to.Name)
			}
		})
	}
	trial := take(plain)
	in := expect.In(t, "the first read went")
	require.Equal(in, trial.Name, "public-0")
	require.True(in, trial.trial)
	require.Equal(in, trial.more, 1)
	if to := take(plain); to.Name != "public-1" || to.trial {
		t.Error("while one trial is under way there must be no other")
	}
	trial.health.endTrial()
	if to := take(plain); !to.trial {
		t.Error("the next trial must be possible")
	}
}

func TestChoose_NoTrialWithoutAnotherInGoodStanding(t *testing.T) {
	t.Parallel()
	c, clock, s := chooser(t, plan.Public, plan.Public)
	c.Apply(s)
	c.endpoints[0].health.fail(minSamples)
	clock.Advance(firstExclusion)
	c.endpoints[1].health.fail(minSamples)
	for range 3 { // all calls, not one at a time
		if to, ok := c.next(&search{r: request("eth_call"), list: c.endpoints}); !ok || to.trial {
			t.Fatalf("chose %+v", to)
		}
	}
}

func TestChoose_BoardDecidesWhenAllAreExcluded(t *testing.T) {
	t.Parallel()
	c, _, s := chooser(t, plan.Public, plan.Public)
	s.Upstreams[0].Usable, s.Upstreams[0].LatencyMicros = false, 1
	c.Apply(s)
	for _, e := range c.endpoints {
		e.health.fail(minSamples)
	}
	if got := c.choice(plan.Public, plan.Balanced, 0); got != "public-1" {
		t.Errorf("chose %s, which neither calls nor probes find well", got)
	}
}

func TestChoose_OnlyUpstreamsThatMayBeAsked(t *testing.T) {
	t.Parallel()
	c, _, s := chooser(t, plan.Public, plan.Public)
	c.Apply(s)
	held := c.choice(plan.Public, plan.Balanced, 0)
	not := func(name string) *Request {
		return &Request{Method: []byte("eth_call"), Supply: plan.Public, Tier: plan.Balanced, May: func(n string) bool {
			return n != name
		}}
	}
	if got := c.choiceFor(not(held), 0); got == held || got == "none" {
		t.Errorf("without %s: chose %s", held, got)
	}
	if again := c.choice(plan.Public, plan.Balanced, 0); again != held {
		t.Errorf("the favourite of all others became %s", again)
	}
	s.Upstreams[1].Usable, s.Upstreams[1].Reason = false, ReasonLagging
	c.Apply(s)
	if got := c.choiceFor(not("public-1"), 0); got != "public-0" {
		t.Errorf("without the one that lags: chose %s", got)
	}
	if got := c.choiceFor(&Request{
		Method: []byte("eth_call"), Supply: plan.Public, May: func(string) bool { return false },
	}, 0); got != "none" {
		t.Errorf("chose %s of none", got)
	}
}

// shareOfSecond returns which part of a thousand calls the second upstream is asked first.
func (c *Chain) shareOfSecond(s search) float64 {
	chosen := 0
	for range 1000 {
		try := s
		try.list = c.endpoints
		if to, ok := c.next(&try); ok {
			to.limits.Release()
			if to.Endpoint == c.endpoints[1] {
				chosen++
			}
		}
	}
	return float64(chosen) / 1000
}

func TestCanary_GetsItsShareAndLessWhileItFails(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(noon)
	list := []config.Upstream{
		{Name: "old", URL: "http://127.0.0.1:1", Supply: string(plan.Public)},
		{Name: "new", URL: "http://127.0.0.1:1", Supply: string(plan.Public), Canary: "20%"},
	}
	_, c := poolOf(t, clock.Now, list)
	c.Apply(healthy(c, noon))
	canary := &c.endpoints[1].health
	read := search{r: &Request{Method: []byte("eth_call"), Supply: plan.Public, Tier: plan.Balanced}}
	between := func(got, least, most float64, when string) {
		t.Helper()
		if got < least || got > most {
			t.Errorf("%s the canary gets %.3f of the calls, want %.3f to %.3f", when, got, least, most)
		}
	}
	failing := func(n int) { // never in a row
		for range n {
			canary.fail(1)
			canary.succeed(1)
		}
		canary.newest()
	}
	between(c.shareOfSecond(read), 0.14, 0.26, "at first")
	submission := read
	submission.write = true
	expect.Equal(t, c.shareOfSecond(submission), 0.0, "submissions")
	canary.succeed(90)
	failing(10) // of 110: the share is 0.2 * (1 - 4/11)
	between(c.shareOfSecond(read), 0.07, 0.19, "while some calls fail")
	failing(60) // of 230
	expect.Equal(t, c.shareOfSecond(read), 0.0, "while more than a quarter fails")
	again := read
	again.tried = 1 // the other upstream failed
	expect.Equal(t, c.shareOfSecond(again), 1.0, "when there is no other")
}
