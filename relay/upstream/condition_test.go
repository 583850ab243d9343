package upstream

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/rules"
)

// supplied returns a chain with three upstreams: public, premium and wholesale, whose probes took
// 1, 4 and 16 ms.
func supplied(t *testing.T, now func() time.Time) *Chain {
	t.Helper()
	var list []config.Upstream
	for _, s := range []plan.Supply{plan.Public, plan.Premium, plan.Wholesale} {
		list = append(list, config.Upstream{Name: string(s), URL: "http://127.0.0.1:9", Supply: string(s)})
	}
	_, c := poolOf(t, chain.EthMainnet, now, list)
	return c
}

func TestCondition_CountsUsableUpstreamsOnly(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	c := supplied(t, func() time.Time { return now })
	if got := c.Condition(); got != (Condition{Upstreams: 3}) {
		t.Errorf("before any probe it is %+v", got)
	}
	s := healthy(c, now)
	s.Upstreams[0].Usable, s.Upstreams[0].Reason = false, ReasonLagging
	s.Upstreams[1].Lag = 2
	c.Apply(s)
	want := Condition{
		MeasuredAt: now.UTC(), Head: testHead, Upstreams: 3, Usable: 2, Latency: 4 * time.Millisecond, Behind: 2,
	}
	if got := c.Condition(); got != want {
		t.Errorf("with one that lags it is %+v, want %+v", got, want)
	}
	// Failed calls are counted, and an excluded upstream is not usable.
	for i := range 12 {
		o := observation{verdict: verdicts[rules.Answer], took: time.Millisecond}
		if i >= 9 {
			o.verdict = verdicts[rules.Broken]
		}
		c.endpoints[1].observe(o)
	}
	want.Usable, want.Latency, want.Behind, want.Judged, want.Failed = 1, 16*time.Millisecond, 0, true, 0.25
	if got := c.Condition(); got != want {
		t.Errorf("with one that fails it is %+v, want %+v", got, want)
	}
	c.endpoints[2].cordoned.Store(true)
	if got := c.Condition(); got.Usable != 0 || got.Latency != 0 {
		t.Errorf("with nothing usable it is %+v", got)
	}
}

func TestExpectation_FollowsSupplyAndTier(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	c := supplied(t, func() time.Time { return now })
	call, _ := c.Method([]byte("eth_call"))
	trace, _ := c.Method([]byte("trace_block"))
	if _, ok := c.Expect(call, plan.Premium, plan.Fast); ok {
		t.Error("before any probe something is expected")
	}
	s := healthy(c, now)
	for i := range s.Upstreams { // only the premium one supports trace
		s.Upstreams[i].Capabilities = map[chain.Capability]Verdict{chain.Trace: {Able: i == 1, MeasuredAt: now}}
	}
	c.Apply(s)
	for _, x := range []struct {
		m      *chain.Method
		supply plan.Supply
		tier   plan.Tier
		want   Expectation
	}{
		{call, plan.Public, plan.Fast, Expectation{Supply: plan.Public, Latency: time.Millisecond, Usable: 1}},
		{call, plan.Premium, plan.Cheap, Expectation{Supply: plan.Public, Latency: time.Millisecond, Usable: 3}},
		{call, plan.Premium, plan.Balanced, Expectation{Supply: plan.Public, Latency: time.Millisecond, Usable: 3}},
		{call, plan.Premium, plan.Fast, Expectation{Supply: plan.Premium, Latency: 4 * time.Millisecond, Usable: 3}},
		{call, plan.Wholesale, plan.Fast, Expectation{
			Supply: plan.Wholesale, Latency: 16 * time.Millisecond, Usable: 2,
		}},
		{trace, plan.Premium, plan.Cheap, Expectation{Supply: plan.Premium, Latency: 4 * time.Millisecond, Usable: 1}},
	} {
		if got, ok := c.Expect(x.m, x.supply, x.tier); !ok || got != x.want {
			t.Errorf("%s of %s on %s meets %+v, want %+v", x.m.Name, x.supply, x.tier, got, x.want)
		}
	}
	if got, ok := c.Expect(trace, plan.Wholesale, plan.Fast); ok {
		t.Errorf("a trace without anybody who traces meets %+v", got)
	}
	// Latencies of calls take precedence over those of probes.
	for range 10 {
		c.endpoints[0].observe(observation{verdict: verdicts[rules.Answer], took: 30 * time.Millisecond})
	}
	now = now.Add(staleAfter)
	got, _ := c.Expect(call, plan.Public, plan.Balanced)
	in := expect.In(t, "after calls of 30 ms it meets")
	expect.True(in, got.FromCalls)
	expect.Between(in, got.Latency, 26*time.Millisecond, 34*time.Millisecond)
}
