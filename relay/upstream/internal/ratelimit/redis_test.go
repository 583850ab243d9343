package ratelimit

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/internal/testkit"
)

// overRedis returns a gateway of n processes that share a rate through a server.
func overRedis(t *testing.T, server *testkit.RedisServer, n int, rate float64) *gateway {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1, ContextTimeoutEnabled: true})
	ctx, stop := context.WithCancel(context.Background())
	g := start(ctx, n, rate, Redis(rdb))
	t.Cleanup(func() {
		stop()
		g.running.Wait()
		_ = rdb.Close()
	})
	return g
}

// total returns how many calls all processes let through in three seconds from now on.
func (g *gateway) total() (all float64) {
	for _, n := range g.calls(3 * time.Second) {
		all += n
	}
	return all
}

func TestRedis_ProcessesShareARate(t *testing.T) {
	t.Parallel()
	const rate = 40
	g := overRedis(t, testkit.Redis(t), 3, rate)
	g.ask(100, 100, 100)
	g.calls(time.Second)
	if got := g.total(); got < 3*0.8*rate {
		t.Errorf("three processes let through %v calls in three seconds, want about %v", got, 3*rate)
	}
	g.ask(100, 0, 0)
	g.calls(2 * leaseTime)
	if got := g.total(); got < 3*0.8*rate {
		t.Errorf("alone, a process lets through %v calls in three seconds, want about %v", got, 3*rate)
	}
	if inSecond, _ := g.most(); inSecond > allowed(rate) {
		t.Errorf("a second holds %d calls, want at most %d", inSecond, allowed(rate))
	}
}

func TestRedis_AnOutageKeepsEachToItsPart(t *testing.T) {
	t.Parallel()
	const rate = 40
	server := testkit.Redis(t)
	g := overRedis(t, server, 2, rate)
	g.ask(100, 0)
	g.calls(time.Second)
	server.Pause(t)
	testkit.Eventually(t, patience, g.processes[0].limits.Alone, "the process notices")
	if got := g.total(); got < 3*0.7*rate/2 || got > 3*1.2*rate/2+1 {
		t.Errorf("while Redis hangs, %v calls are let through in three seconds, want about %v", got, 3*rate/2)
	}
	server.Resume(t)
	testkit.Eventually(t, patience, func() bool { return !g.processes[0].limits.Alone() }, "Redis is back")
	server.Restart(t) // without its data
	testkit.Eventually(t, patience, func() bool { return !g.processes[0].limits.Alone() }, "Redis is back")
	g.calls(2 * leaseTime)
	if got := g.total(); got < 3*0.8*rate {
		t.Errorf("once Redis is back, %v calls are let through in three seconds, want about %v", got, 3*rate)
	}
}

const patience = 30 * time.Second

func TestRedis_SurvivesAClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	const rate = 40
	server := testkit.Redis(t, testkit.WithClock())
	g := overRedis(t, server, 2, rate)
	g.ask(100, 100)
	g.calls(time.Second)
	server.SetClock(t, -time.Hour)
	g.calls(2 * leaseTime)
	if got := g.total(); got < 3*0.8*rate || got > 3*1.2*rate {
		t.Errorf("%v calls are let through in three seconds, want about %v", got, 3*rate)
	}
}
