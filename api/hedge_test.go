package api_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
)

func TestHedge_ReadIsChargedOnceAndItsAttemptsAreCounted(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	sent := int64(0)
	ask := func() answer {
		sent++
		return g.eth(key, "eth_call", "X-Route-Tier", "fast")
	}
	// The gateway needs enough answers to know the usual latency, which is published ten times a
	// second, and to earn another hedge after those that a slow machine may have used: twenty reads
	// earn one, and one read of twenty may be slow enough to use it.
	known := time.Now().Add(300 * time.Millisecond)
	testkit.Eventually(t, 3*testTimeout, func() bool {
		return ask().status == http.StatusOK && sent > int64(25+20*g.hedges()) && time.Now().After(known)
	}, "fast reads that earn a hedge")
	first, second, hedges := g.ups[0].Total(), g.ups[1].Total(), g.hedges()
	g.all(testkit.Hang(testkit.Result("0xgood")))
	hedged := make(chan answer, 1)
	go func() { hedged <- ask() }()
	testkit.Eventually(t, testTimeout, func() bool { return g.ups[0].Total() > first && g.ups[1].Total() > second },
		"both are asked")
	for _, u := range g.ups {
		u.Release()
	}
	a := <-hedged
	if got := a.result(); got != `"0xgood"` {
		t.Errorf("got %s", got)
	}
	if got := g.hedges() - hedges; got != 1 {
		t.Errorf("it was counted as %d hedges", got)
	}
	if got := g.usage(key)["ok"]; got.requests != sent || got.units != plan.Units(sent)*plan.Cost(1, plan.Fast) {
		t.Errorf("%d reads were charged as %+v", sent, got)
	}
	if calls := g.calls(a); len(calls) != 1 || calls[0].Attempts != 2 {
		t.Errorf("recorded as %+v", calls)
	}
}

// hedges returns the number of hedged attempts.
func (g *gateway) hedges() int {
	g.t.Helper()
	sum := 0
	for _, value := range g.series("gateway_upstream_hedges_total") {
		n, err := strconv.Atoi(value)
		g.must(err)
		sum += n
	}
	return sum
}

func TestCall_IsFreeWhenEveryUpstreamIsAtItsLimit(t *testing.T) {
	t.Parallel()
	g := setup(t, func(o *options) { o.upstreams, o.perSecond = 1, 0.01 })
	key := g.doorKey()
	if got := g.eth(key, "eth_call").result(); got != `"0x1"` {
		t.Fatalf("got %s", got)
	}
	a := g.eth(key, "eth_call")
	a.refused(http.StatusServiceUnavailable, -32020)
	if got := a.header.Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After is %q", got)
	}
	if day, _ := g.counted(key); day != plan.Cost(1, plan.Balanced) || g.ups[0].Total() != 1 {
		t.Errorf("%d units were charged, and %d calls sent", day, g.ups[0].Total())
	}
}
