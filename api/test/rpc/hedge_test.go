package rpc_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
)

func TestHedge_ReadIsChargedOnceAndItsAttemptsAreCounted(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	sent := int64(0)
	ask := func() apitest.Answer {
		sent++
		return g.Eth(key, "eth_call", "X-Route-Tier", "fast")
	}
	// The gateway needs enough answers to know the usual latency, which is published ten times a
	// second, and to earn another hedge after those that a slow machine may have used: twenty reads
	// earn one, and one read of twenty may be slow enough to use it.
	known := time.Now().Add(300 * time.Millisecond)
	testkit.Eventually(t, 3*apitest.Timeout, func() bool {
		return ask().Status == http.StatusOK && sent > int64(25+20*hedgeCount(g)) && time.Now().After(known)
	}, "fast reads that earn a hedge")
	first, second, hedges := g.Ups[0].Total(), g.Ups[1].Total(), hedgeCount(g)
	g.All(testkit.Hang(testkit.Result("0xgood")))
	hedged := make(chan apitest.Answer, 1)
	go func() { hedged <- ask() }()
	testkit.Eventually(t, apitest.Timeout, func() bool { return g.Ups[0].Total() > first && g.Ups[1].Total() > second },
		"both are asked")
	for _, u := range g.Ups {
		u.Release()
	}
	a := <-hedged
	if got := a.Result(); got != `"0xgood"` {
		t.Errorf("got %s", got)
	}
	if got := hedgeCount(g) - hedges; got != 1 {
		t.Errorf("it was counted as %d hedges", got)
	}
	if got := g.Usage(key)["ok"]; got.Requests != sent || got.Units != plan.Units(sent)*plan.Cost(1, plan.Fast) {
		t.Errorf("%d reads were charged as %+v", sent, got)
	}
	if calls := g.Calls(a); len(calls) != 1 || calls[0].Attempts != 2 {
		t.Errorf("recorded as %+v", calls)
	}
}

// hedgeCount returns the number of hedged attempts.
func hedgeCount(g *apitest.Gateway) int {
	g.T.Helper()
	sum := 0
	for _, value := range series(g, "gateway_upstream_hedges_total") {
		n, err := strconv.Atoi(value)
		g.Must(err)
		sum += n
	}
	return sum
}

func TestCall_IsFreeWhenEveryUpstreamIsAtItsLimit(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.Upstreams, o.PerSecond = 1, 0.01 })
	key := g.DoorKey()
	if got := g.Eth(key, "eth_call").Result(); got != `"0x1"` {
		t.Fatalf("got %s", got)
	}
	a := g.Eth(key, "eth_call")
	a.Refused(http.StatusServiceUnavailable, -32020)
	if got := a.Header.Get("Retry-After"); got != "1" {
		t.Errorf("Retry-After is %q", got)
	}
	if day, _ := g.Counted(key); day != plan.Cost(1, plan.Balanced) || g.Ups[0].Total() != 1 {
		t.Errorf("%d units were charged, and %d calls sent", day, g.Ups[0].Total())
	}
}
