package upstream

import (
	"context"
	"io"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
)

func TestPace_NoSecondHoldsMoreCalls(t *testing.T) {
	t.Parallel()
	for _, perSecond := range []float64{0.5, 1, 2.5, 10, 100} {
		clock := testkit.NewClock(noon)
		p := newPace(perSecond)
		var sent []time.Time
		for range 4000 {
			if p.take(clock.Now()) == 0 {
				sent = append(sent, clock.Now())
			}
			clock.Advance(1500 * time.Microsecond) // six seconds in all
		}
		for i, t0 := range sent {
			n := 0
			for _, later := range sent[i:] {
				if later.Sub(t0) < time.Second {
					n++
				}
			}
			if n > int(math.Ceil(perSecond)) {
				t.Fatalf("at %v per second a second holds %d", perSecond, n)
			}
		}
		if want := 6 * perSecond; float64(len(sent)) < 0.95*want-1 {
			t.Errorf("at %v per second only %d were let through in six seconds", perSecond, len(sent))
		}
	}
}

func TestPace_SaysWhenThereIsRoomAndSurvivesAClockSetBack(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(noon)
	p := newPace(2)
	p.take(clock.Now())
	p.take(clock.Advance(300 * time.Millisecond))
	if wait := p.take(clock.Advance(200 * time.Millisecond)); wait != 500*time.Millisecond {
		t.Errorf("room in %s", wait)
	}
	clock.Advance(-time.Hour)
	if p.take(clock.Now()) != 0 {
		t.Error("a clock that was set back stops the calls")
	}
	if n := len(newPace(1e6).sent); n > maxRemembered {
		t.Errorf("it remembers %d", n)
	}
}

func TestPace_ProbesCountAgainstItAndAreNotKeptWaiting(t *testing.T) {
	t.Parallel()
	l := newLimits(config.Upstream{MaxPerSecond: 0.01, MaxConcurrent: 1})
	l.waitToProbe(t.Context(), time.Now)
	if l.take(time.Now()) {
		t.Error("the probe did not count")
	}
	started := time.Now()
	l.waitToProbe(t.Context(), time.Now)
	if waited := time.Since(started); waited < probePatience || waited > testTimeout {
		t.Errorf("the next probe waited for %s", waited)
	}
	if counted := time.Unix(0, l.pace.sent[0]); counted.Sub(started) < probePatience {
		t.Error("a probe that was sent before its turn did not count")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	l.waitToProbe(ended, func() time.Time { return time.Now().Add(time.Hour) })
	if l.inFlight.Load() != 0 {
		t.Error("probes take room of calls")
	}
}

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
	_, c := poolOf(t, chain.EthMainnet, time.Now, list)
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
		expect.Equal(in, e.limits.inFlight.Load(), 0)
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
	if !c.endpoints[0].limits.take(time.Now()) {
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
	if !c.endpoints[1].limits.take(time.Now()) {
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
	if c.endpoints[0].limits.inFlight.Load() != 1 {
		t.Error("the room was given back while the answer was still held")
	}
	answer.Release()
	if c.endpoints[0].limits.inFlight.Load() != 0 {
		t.Error("the room was not given back")
	}
}

func TestLimits_RoomComesBackWhateverAnUpstreamDoes(t *testing.T) {
	t.Parallel()
	for name, reply := range failing(testkit.Upstream(t)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, servers := limited(t, 1)
			servers[0].Default(reply)
			for _, ask := range []func(context.Context, *Request) (*Answer, *fault.Error){c.Read, c.Submit} {
				if answer, f := ask(deadline(t, testTimeout), request("eth_call")); f == nil {
					answer.Release()
				}
			}
			if n := c.endpoints[0].limits.inFlight.Load(); n != 0 {
				t.Errorf("%d calls hold room", n)
			}
		})
	}
}
