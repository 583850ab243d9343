package upstream

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
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
	_, c := poolOf(t, now, list)
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
		t.Run(string(x.supply), func(t *testing.T) {
			if got, ok := c.Expect(x.m, x.supply, x.tier); !ok || got != x.want {
				t.Errorf("%s of %s on %s meets %+v, want %+v", x.m.Name, x.supply, x.tier, got, x.want)
			}
		})
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

func TestStanding_TellsWhetherAChainHasACapabilityNow(t *testing.T) {
	t.Parallel()
	able, unable := measured(map[chain.Capability]bool{chain.Data: true}),
		measured(map[chain.Capability]bool{chain.Data: false})
	old := map[chain.Capability]Verdict{chain.Data: {Able: true, MeasuredAt: time.Now().Add(-verdictLasts)}}
	var (
		has     = UpstreamState{ChainIDOK: true, Usable: true, Capabilities: able}
		lacks   = UpstreamState{ChainIDOK: true, Usable: true, Capabilities: unable}
		unasked = UpstreamState{ChainIDOK: true, Usable: true}
		expired = UpstreamState{ChainIDOK: true, Usable: true, Capabilities: old}
		down    = UpstreamState{ChainIDOK: true, Reason: ReasonUnreachable, Capabilities: able}
		other   = UpstreamState{Reason: ReasonWrongChain, Capabilities: able}
	)
	for name, test := range map[string]struct {
		first, second UpstreamState
		cordoned      bool // the first upstream
		want          Availability
	}{
		"one has it":                               {has, lacks, false, Live},
		"one has it, the other was not asked":      {unasked, has, false, Live},
		"one has it and is down":                   {down, lacks, false, Away},
		"one has it and is down, other not asked":  {down, unasked, false, Away},
		"one has it and is cordoned":               {has, lacks, true, Away},
		"two have it, one is cordoned":             {has, has, true, Live},
		"none has it":                              {lacks, lacks, false, Absent},
		"one lacks it, the other was not asked":    {lacks, unasked, false, Unmeasured},
		"one lacks it, the other's verdict is old": {lacks, expired, false, Unmeasured},
		"nobody was asked":                         {unasked, unasked, false, Unmeasured},
		"who has it is of another chain":           {other, lacks, false, Absent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, c := poolOf(t, time.Now, providers(testkit.Upstream(t), testkit.Upstream(t)))
			if got := c.Availability(chain.Data); got != Unmeasured {
				t.Errorf("before any probe it is %d", got)
			}
			s := Snapshot{
				Chain: c.ID, ChainID: c.ChainID, MeasuredAt: time.Now(), Upstreams: []UpstreamState{
					test.first, test.second,
				},
			}
			for i, e := range c.endpoints {
				s.Upstreams[i].Name, s.Upstreams[i].Fingerprint = e.Name, e.fingerprint
			}
			c.Apply(s)
			c.endpoints[0].cordoned.Store(test.cordoned)
			if got := c.Availability(chain.Data); got != test.want {
				t.Errorf("it is %d, want %d", got, test.want)
			}
		})
	}
}

func TestHead_IsReadStrictly(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{`"0x10"`: 16, `"0x0"`: 0, `17`: 17, `"0x7fffffffffffffff"`: 1<<63 - 1} {
		t.Run(text, func(t *testing.T) {
			if got, ok := parseHead([]byte(text)); !ok || got != want {
				t.Errorf("%s reads as %d (%v)", text, got, ok)
			}
		})
	}
	for _, text := range []string{
		`null`, `""`, `"0x"`, `"16"`, `-1`, `1.5`, `"0xzz"`, `{}`, `"0xffffffffffffffffff"`, `true`, ``,
	} {
		if got, ok := parseHead([]byte(text)); ok {
			t.Errorf("%s reads as %d", text, got)
		}
	}
}
