package upstream

import (
	"fmt"
	"testing"
	"time"

	"github.com/chainaccess/gateway/chain"
	"github.com/chainaccess/gateway/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/plan"
)

// chooser gives a chain with one upstream per supply, named after it and its place, and its healthy snapshot with equal latencies.
func chooser(t *testing.T, supplies ...plan.Supply) (*Chain, *testkit.Clock, Snapshot) {
	t.Helper()
	clock := testkit.NewClock(noon)
	var list []config.Upstream
	for i, s := range supplies {
		list = append(list, config.Upstream{Name: fmt.Sprintf("%s-%d", s, i), URL: "http://127.0.0.1:1", Supply: string(s)})
	}
	_, c := poolOf(t, chain.EthMainnet, clock.Now, list)
	s := healthy(c, noon)
	for i := range s.Upstreams {
		s.Upstreams[i].LatencyMicros = 10_000
	}
	return c, clock, s
}

func (c *Chain) choice(supply plan.Supply, tier plan.Tier, tried uint64) string {
	i, ok := c.choose(&Request{Method: []byte("eth_call"), Supply: supply, Tier: tier}, tried)
	if !ok {
		return "none"
	}
	return c.endpoints[i].Name
}

func TestNoUpstreamIsChosenBeforeItProvedItsChain(t *testing.T) {
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
	s.Upstreams[0].Usable = true // a board that contradicts itself must not open the way
	c.Apply(s)
	if got := c.choice(plan.Public, plan.Balanced, 0); got != "none" {
		t.Errorf("chose %s, which is of another chain", got)
	}
}

func TestSupplyBoundsThePool(t *testing.T) {
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

func TestATierChoosesInsideTheSupply(t *testing.T) {
	t.Parallel()
	c, _, s := chooser(t, plan.Public, plan.Wholesale, plan.Premium)
	c.Apply(s)
	for tier, want := range map[plan.Tier]string{plan.Cheap: "public-0", plan.Fast: "premium-2"} {
		if got := c.choice(plan.Premium, tier, 0); got != want {
			t.Errorf("%s got %s, want %s at equal latencies", tier, got, want)
		}
	}
}

func TestTheFavouriteStaysUntilAnotherIsClearlyBetter(t *testing.T) {
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
		{12_000, 10_000, "public-0"}, // better, not clearly
		{12_600, 10_000, "public-1"}, // more than a quarter
		{10_000, 10_000, "public-1"},
		{10_000, 12_600, "public-0"},
	} {
		if got := measure(step.first, step.second); got != step.want {
			t.Errorf("at %d and %d µs it chose %s, want %s", step.first, step.second, got, step.want)
		}
	}
}

func TestExcludedUpstreamsAreUsedWhenEveryoneIs(t *testing.T) {
	t.Parallel()
	c, clock, s := chooser(t, plan.Public, plan.Public)
	s.Upstreams[1].LatencyMicros = 20_000
	c.Apply(s)
	c.endpoints[0].health.fail(failuresInARow)
	if got := c.choice(plan.Public, plan.Balanced, 0); got != "public-1" {
		t.Errorf("chose %s beside an excluded one", got)
	}
	c.endpoints[1].health.fail(failuresInARow)
	if got := c.choice(plan.Public, plan.Balanced, 0); got == "none" {
		t.Error("when everyone is excluded, everyone is to be used")
	}
	clock.Advance(firstExclusion)
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

func TestAnUpstreamThatLacksAMethodComesLastForItAlone(t *testing.T) {
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
	i, ok := c.choose(&Request{Method: []byte("eth_getBalance"), Supply: plan.Public, Tier: plan.Balanced}, 0)
	if !ok || i != 0 {
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

func TestASnapshotOfAnotherFileNamesNobodyHere(t *testing.T) {
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

func TestAPoolRefusesChainsItDoesNotKnow(t *testing.T) {
	t.Parallel()
	_, err := NewPool(config.Upstreams{Chains: map[string]config.ChainUpstreams{"dogecoin": {}}}, time.Now)
	if err == nil {
		t.Error("an unknown chain must stop the start")
	}
}
