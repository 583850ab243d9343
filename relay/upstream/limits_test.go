package upstream

import (
	"context"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
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
			if n := held(c.endpoints[0]); n != 0 {
				t.Errorf("%d calls hold room", n)
			}
		})
	}
}
