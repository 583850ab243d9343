package main

import (
	"testing"
	"time"
)

func TestTool_IsComparedWithTheRoundBesideIt(t *testing.T) {
	t.Parallel()
	round := func(rate, gateway, redis float64) figures {
		return figures{rate: rate, cpu: spent{"gateway": gateway, "redis-server": redis, "wrk": 1000}}
	}
	// The second round was taken on a busy machine, which slowed both down.
	cost, rate := againstRelay([][]figures{
		{round(900, 33, 22), round(200, 66, 44), round(800, 40, 20)},
		{round(1000, 30, 20), round(250, 60, 40), round(1000, 30, 20)},
	})
	if cost != 1.1 || rate != 0.8 {
		t.Errorf("cost %v and rate %v, want 1.1 and 0.8", cost, rate)
	}
}

func TestCPUTime_IsSharedOutBetweenCalls(t *testing.T) {
	t.Parallel()
	before := map[string]time.Duration{"gateway": time.Second, "redis-server": time.Second, "postgres": time.Second}
	after := map[string]time.Duration{
		"gateway": 3 * time.Second, "redis-server": 1500 * time.Millisecond,
		"postgres": time.Second, "bench": time.Second,
	}
	s := perCall(before, after, 100_000)
	if want := "gateway 20 µs, redis-server 5 µs, upstream 10 µs"; s.String() != want || s.ours() != 25 {
		t.Errorf("%s, ours %v, want %s", s, s.ours(), want)
	}
	if s := perCall(before, after, 0); s.String() != "" {
		t.Errorf("no calls, but %s", s)
	}
}
