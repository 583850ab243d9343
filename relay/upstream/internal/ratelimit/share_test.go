package ratelimit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chainaccess/gateway/internal/config"
)

// bucket is an exchange as share_rate.lua makes it, with the latency of a network.
type bucket struct {
	mu      sync.Mutex
	level   float64
	at      time.Time
	holders map[string]holder
	latency func() time.Duration
	down    bool
}

type holder struct {
	held   int64
	demand float64
	seen   time.Time
}

var errDown = errors.New("redis is down")

func (b *bucket) exchange(_ context.Context, offers []Offer) ([]Grant, error) {
	time.Sleep(b.latency())
	defer func() { time.Sleep(b.latency()) }()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down {
		return nil, errDown
	}
	o, now := offers[0], time.Now()
	process := o.Holder
	room := max(1, o.Rate*leaseTime.Seconds())
	if b.at.IsZero() {
		b.level, b.at = 1, now
	}
	var out float64
	total, processes := o.Demand, 1
	for name, h := range b.holders {
		age := now.Sub(h.seen)
		if age < leaseTime {
			out += float64(h.held)
		}
		if age >= presence {
			delete(b.holders, name)
		} else if name != process {
			processes++
			if age < leaseTime {
				total += h.demand
			}
		}
	}
	b.level = max(0, min(room-out, b.level+o.Rate*now.Sub(b.at).Seconds()))
	b.at = now
	idle := 0.05 * o.Rate / float64(processes)
	total += idle * float64(processes)
	var due float64
	for name, h := range b.holders {
		if age := now.Sub(h.seen); name != process && age < leaseTime {
			due += min(h.demand, o.Rate*h.demand/total) * age.Seconds()
		}
	}
	target := int64(room*(o.Demand+idle)/total + 0.5)
	if target < 1 && (o.Hungry || o.Held > 0 && 2*(o.Demand+idle)*float64(processes) >= total) {
		target = 1
	}
	tokens := target - o.Held
	if tokens > 0 {
		tokens = max(0, min(tokens, int64(b.level)-int64(due)))
	}
	b.level -= float64(tokens)
	b.holders[process] = holder{o.Held + tokens, o.Demand, now}
	return []Grant{{tokens, int64(processes), o.Rate, false}}, nil
}

func (b *bucket) fail(down bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = down
}

// gateway is several processes that share the rate of one upstream.
type gateway struct {
	processes []*process
	running   sync.WaitGroup
}

// process is a process of the gateway.
type process struct {
	limits    *Limits
	perSecond atomic.Uint64 // that its clients call
	mu        sync.Mutex    // guards sent
	sent      []sent
}

// sent is a call that was let through between two times.
type sent struct{ after, before time.Time }

// start has n processes share a rate until ctx ends. Clients call each as often as its perSecond.
func start(ctx context.Context, n int, rate float64, exchange Exchange) *gateway {
	g := new(gateway)
	for i := range n {
		p := &process{limits: New(config.Upstream{MaxPerSecond: rate})}
		g.processes = append(g.processes, p)
		s := NewSharer(exchange, nil, fmt.Sprint("process-", i), time.Now, slog.New(slog.DiscardHandler))
		s.Add(p.limits, key, "")
		g.running.Go(func() { s.Run(ctx, func() []*Limits { return []*Limits{p.limits} }) })
		g.running.Go(func() { p.serve(ctx) })
	}
	return g
}

const key = "{board}:eth_mainnet:rate:0123456789abcdef"

func (p *process) serve(ctx context.Context) {
	for ctx.Err() == nil {
		rate := math.Float64frombits(p.perSecond.Load())
		if rate == 0 {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		time.Sleep(time.Duration(float64(time.Second) / rate))
		if at := time.Now(); p.limits.Take(at) {
			p.mu.Lock()
			p.sent = append(p.sent, sent{at, time.Now()})
			p.mu.Unlock()
			p.limits.Release()
		}
	}
}

// ask sets how many calls a second each process gets.
func (g *gateway) ask(perSecond ...float64) {
	for i, rate := range perSecond {
		g.processes[i].perSecond.Store(math.Float64bits(rate))
	}
}

// calls returns how many calls each process let through in a span from now on.
func (g *gateway) calls(span time.Duration) []float64 {
	count := func() (n []float64) {
		for _, p := range g.processes {
			p.mu.Lock()
			n = append(n, float64(len(p.sent)))
			p.mu.Unlock()
		}
		return n
	}
	before := count()
	time.Sleep(span)
	after := count()
	for i := range after {
		after[i] -= before[i]
	}
	return after
}

// most returns the most calls of all processes in any second, and all of them.
func (g *gateway) most() (inSecond, all int) {
	var calls []sent
	for _, p := range g.processes {
		p.mu.Lock()
		calls = append(calls, p.sent...)
		p.mu.Unlock()
	}
	slices.SortFunc(calls, func(a, b sent) int { return a.after.Compare(b.after) })
	first := 0
	for i, c := range calls {
		for c.before.Sub(calls[first].after) >= time.Second {
			first++
		}
		inSecond = max(inSecond, i-first+1)
	}
	return inSecond, len(calls)
}

// allowed is the most calls that may be in a second: the rate, and what one lease explains.
func allowed(rate float64) int { return int(math.Ceil(rate + max(1, rate*leaseTime.Seconds()))) }

// simulated runs a test of a gateway on a simulated clock and network.
func simulated(t *testing.T, n int, rate float64,
	test func(t *testing.T, g *gateway, b *bucket, some func(float64) float64),
) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(uint64(n), math.Float64bits(rate))) //nolint:gosec // repeatable
		var mu sync.Mutex                                                  // guards random
		some := func(most float64) float64 {
			mu.Lock()
			defer mu.Unlock()
			return random.Float64() * most
		}
		b := &bucket{holders: make(map[string]holder), latency: func() time.Duration {
			if some(100) < 1 {
				return time.Duration(some(float64(200 * time.Millisecond)))
			}
			return time.Duration(some(float64(3 * time.Millisecond)))
		}}
		ctx, stop := context.WithCancel(t.Context())
		g := start(ctx, n, rate, b.exchange)
		defer g.running.Wait()
		defer stop()
		test(t, g, b, some)
	})
}

// TestSharer_NoSecondHoldsMoreThanTheRateAndOneLease has clients call processes at random, over a
// slow network.
func TestSharer_NoSecondHoldsMoreThanTheRateAndOneLease(t *testing.T) {
	t.Parallel()
	for _, rate := range []float64{0.5, 1, 3, 5, 20, 250} {
		for _, n := range []int{1, 2, 5} {
			t.Run(fmt.Sprintf("%v a second, %d processes", rate, n), func(t *testing.T) {
				t.Parallel()
				simulated(t, n, rate, func(t *testing.T, g *gateway, _ *bucket, some func(float64) float64) {
					const span = time.Minute
					for until := time.Now().Add(span); time.Now().Before(until); {
						g.ask(rate * (0.8 + some(3)))
						for i := range g.processes[1:] {
							g.processes[i+1].perSecond.Store(math.Float64bits(max(0, rate*(some(6)-3))))
						}
						time.Sleep(time.Duration(some(float64(time.Second))))
					}
					inSecond, all := g.most()
					if inSecond > allowed(rate) {
						t.Errorf("a second holds %d calls, want at most %d", inSecond, allowed(rate))
					}
					least := 0.4 // a bucket of one token does not fill while that waits for a call
					if rate >= 20 {
						least = 0.8
					}
					if want := least * rate * span.Seconds(); float64(all) < want {
						t.Errorf("%d calls were let through, want at least %v", all, want)
					}
				})
			})
		}
	}
}

func TestSharer_SharesFollowDemand(t *testing.T) {
	t.Parallel()
	const rate = 100
	simulated(t, 3, rate, func(t *testing.T, g *gateway, _ *bucket, _ func(float64) float64) {
		for _, step := range []struct {
			name      string
			asked     []float64
			low, high []float64
		}{
			{"one alone gets all", []float64{300, 0, 0}, []float64{95, 0, 0}, []float64{130, 0, 0}},
			{"two get a half each", []float64{300, 300, 0}, []float64{40, 40, 0}, []float64{65, 65, 0}},
			{"by what they are asked", []float64{300, 100, 0}, []float64{55, 15, 0}, []float64{90, 40, 0}},
			{"each call has the same chance", []float64{300, 300, 10}, []float64{40, 40, 0.5}, []float64{65, 65, 6}},
			{"below the rate nobody is refused", []float64{30, 40, 5}, []float64{28, 38, 4}, []float64{31, 41, 6}},
			{"an idle one costs nothing", []float64{0, 0, 300}, []float64{0, 0, 95}, []float64{0, 0, 130}},
		} {
			g.ask(step.asked...)
			time.Sleep(2 * leaseTime) // until shares have followed
			got := g.calls(10 * time.Second)
			for i := range got {
				if got[i] < 10*step.low[i] || got[i] > 10*step.high[i] {
					t.Errorf("%s: process %d let through %v calls in ten seconds, want %v to %v", step.name, i, got[i],
						10*step.low[i], 10*step.high[i])
				}
			}
		}
	})
}

func TestSharer_WithoutRedisEachKeepsToItsPart(t *testing.T) {
	t.Parallel()
	const rate = 100
	simulated(t, 4, rate, func(t *testing.T, g *gateway, b *bucket, _ func(float64) float64) {
		g.ask(300, 0, 0, 300)
		time.Sleep(2 * time.Second)
		b.fail(true)
		time.Sleep(2 * leaseTime)
		got := g.calls(10 * time.Second)
		for i, want := range []float64{10 * rate / 4, 0, 0, 10 * rate / 4} {
			if math.Abs(got[i]-want) > want/10 {
				t.Errorf("process %d let through %v calls in ten seconds, want about %v", i, got[i], want)
			}
			if !g.processes[i].limits.Alone() {
				t.Errorf("process %d does not report that it is on its own", i)
			}
		}
		b.fail(false)
		time.Sleep(2 * leaseTime)
		if got := g.calls(10 * time.Second); got[0]+got[3] < 9.5*rate {
			t.Errorf("once Redis is back, %v calls are let through in ten seconds, want about %v", got, 10*rate)
		}
		if g.processes[0].limits.Alone() {
			t.Error("a process reports that it is on its own although Redis is back")
		}
		if inSecond, _ := g.most(); inSecond > allowed(rate) {
			t.Errorf("a second holds %d calls, want at most %d", inSecond, allowed(rate))
		}
	})
}

func TestSharer_TakesWithoutAllocating(t *testing.T) { //nolint:paralleltest // AllocsPerRun forbids it
	l := New(config.Upstream{MaxPerSecond: 1000})
	s := NewSharer(nil, nil, "a", time.Now, nil)
	s.Add(l, key, "")
	now := time.Now()
	l.lease.adopt(now, Grant{Tokens: 100, Processes: 1, Rate: 1000})
	allocated := testing.AllocsPerRun(200, func() { l.Take(now) }) // of which 100 are refused
	if allocated != 0 {
		t.Errorf("%v allocations, want none", allocated)
	}
}
