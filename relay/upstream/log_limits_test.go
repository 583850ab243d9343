package upstream

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/logrange"
)

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
		p, c := poolOf(t, chain.EthMainnet, clock.Now, providers(up))
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
	_, c := poolOf(t, chain.EthMainnet, clock.Now, providers(up)) // a process that starts
	chains = append(chains, c)
	follow()
	want(300, 300, 300, 300)
}

func TestLogLimits_AnotherAddressHasALimitOfItsOwn(t *testing.T) {
	t.Parallel()
	ctx, board := t.Context(), newBoard(t)
	p, c := poolOf(t, chain.EthMainnet, time.Now, providers(testkit.Upstream(t)))
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
