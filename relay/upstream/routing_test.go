package upstream

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/latency"
	"github.com/chainaccess/gateway/relay/upstream/internal/ratelimit"
	"github.com/chainaccess/gateway/relay/upstream/internal/rules"
)

func TestFailover_UpstreamKilledUnderLoadFailsNoRead(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]func(*testkit.UpstreamServer){
		"gone":   func(u *testkit.UpstreamServer) { u.Close() },
		"broken": func(u *testkit.UpstreamServer) { u.Default(testkit.HTML(502)) },
		"resets": func(u *testkit.UpstreamServer) { u.Default(testkit.Reset()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, servers := limited(t, 0, 0)
			const clients, reads = 12, 50
			var done atomic.Int64
			var wg sync.WaitGroup
			for i := range clients {
				wg.Go(func() {
					tier := plan.Tiers()[i%len(plan.Tiers())]
					for range reads {
						r := request("eth_call")
						r.Tier = tier
						answer, f := c.Read(deadline(t, testTimeout), r)
						if f != nil {
							t.Errorf("a read failed: %v", f)
							return
						}
						answer.Release()
						done.Add(1)
					}
				})
			}
			testkit.Eventually(t, testTimeout, func() bool {
				return done.Load() > clients*reads/4
			}, "a quarter of the reads")
			server := slices.MaxFunc(servers, func(a, b *testkit.UpstreamServer) int {
				return cmp.Compare(a.Total(), b.Total())
			})
			kill(server)
			before := server.Total()
			wg.Wait()
			c.hedges.racing.Wait()
			if after := server.Total() - before; before == 0 || after > 8*clients {
				t.Errorf("it had %d calls until it broke, and %d afterwards", before, after)
			}
		})
	}
}

func TestFailover_UpstreamComesBackByTrialsWhileOthersServe(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(time.Now()) // connections have deadlines by the machine's clock
	first, second := testkit.Upstream(t), testkit.Upstream(t)
	_, c := poolOf(t, clock.Now, providers(first, second))
	c.Apply(healthy(c, clock.Now()))
	ask := func(send func(context.Context, *Request) (*Answer, *fault.Error)) {
		t.Helper()
		answer, f := send(WithDeadline(t.Context(), clock.Now().Add(testTimeout), clock.Now), request("eth_call"))
		if f != nil {
			t.Fatal(f)
		}
		answer.Release()
	}
	first.Default(testkit.HTML(502))
	for range minSamples {
		ask(c.Read)
	}
	if first.Total() != minSamples || !c.endpoints[0].health.newest().out {
		t.Fatalf("%d calls reached it", first.Total())
	}
	for range 20 {
		ask(c.Read)
	}
	clock.Advance(firstExclusion)
	ask(c.Submit)
	if first.Total() != minSamples {
		t.Fatal("a call reached it while it was left out, or a submission once it was on trial")
	}
	for range 20 {
		ask(c.Read)
	}
	if first.Total() != minSamples+1 {
		t.Fatalf("%d trials, though the first failed", first.Total()-minSamples)
	}
	first.Default(testkit.Result("0x1"))
	clock.Advance(2 * firstExclusion)
	before := second.Total()
	for range successesToReturn {
		ask(c.Read)
	}
	if c.endpoints[0].health.newest().out || second.Total() != before {
		t.Fatal("three trials that succeed must bring it back")
	}
}

func TestFailover_ProbesDoNotBringBackAnUpstreamWhoseReadsHang(t *testing.T) {
	t.Parallel()
	edge, good := testkit.Upstream(t), testkit.Upstream(t)
	for _, u := range []*testkit.UpstreamServer{edge, good} {
		u.Default(testkit.Error(-32601, "method not found"))
		u.On("eth_chainId", testkit.Result("0x1"))
		u.On("eth_blockNumber", testkit.Result(fmt.Sprintf("0x%x", testHead)))
	}
	edge.On("eth_call", testkit.Hang(testkit.HTML(502)))
	good.On("eth_call", testkit.Result("0xgood"))
	p, c := poolOf(t, time.Now, providers(edge, good))
	c.Apply(probed(t, p))
	c.endpoints[0].health.fail(minSamples)
	testkit.Eventually(t, testTimeout, func() bool { return !c.endpoints[0].health.excluded() }, "its time is over")
	ask := func() {
		answer, f := c.Read(deadline(t, 3*testTimeout), request("eth_call"))
		if f != nil || string(answer.Result) != `"0xgood"` {
			t.Errorf("got %+v, %v", answer, f)
			return
		}
		answer.Release()
	}
	var trial sync.WaitGroup
	trial.Go(ask)
	testkit.Eventually(t, testTimeout, func() bool { return edge.Count("eth_call") == 1 }, "the trial is under way")
	for range 2 * successesToReturn {
		c.Apply(probed(t, p))
		ask()
	}
	if n := edge.Count("eth_call"); n != 1 || !c.endpoints[0].health.newest().out {
		t.Errorf("%d reads reached it while its trial hung", n)
	}
	edge.Release()
	trial.Wait()
	for range 2 * successesToReturn {
		c.Apply(probed(t, p))
	}
	if h := &c.endpoints[0].health; h.exclusion != 2*firstExclusion || h.until.Sub(h.since) != h.exclusion {
		t.Errorf("after the failed trial it is out for %s, want %s", h.until.Sub(h.since), 2*firstExclusion)
	}
}

func TestDeadline_SlowUpstreamDoesNotUseItUp(t *testing.T) {
	t.Parallel()
	c, first, second := twoUpstreams(t)
	c.endpoints[0].measured(time.Microsecond)
	first.Default(testkit.Hang(nil))
	second.Default(testkit.Result("0xgood"))
	started := time.Now()
	answer, f := c.Read(deadline(t, time.Minute), request("eth_call"))
	if f != nil || string(answer.Result) != `"0xgood"` {
		t.Fatalf("got %+v, %v", answer, f)
	}
	answer.Release()
	if took := time.Since(started); took < minAttemptTime || took > 15*time.Second {
		t.Errorf("it took %s; the first may have a second, and half a minute was its share", took)
	}
	if c.endpoints[0].health.inARow != 1 {
		t.Error("the other answered at once, so the slow one is to blame")
	}
}

func TestDeadline_CallThatTakesLongEverywhereBlamesNobody(t *testing.T) {
	t.Parallel()
	c, first, second := twoUpstreams(t)
	c.endpoints[0].measured(time.Microsecond)
	first.Default(testkit.Hang(nil))
	second.Default(testkit.Hang(testkit.Result("0xgood")))
	done := make(chan *fault.Error, 1)
	go func() {
		answer, f := c.Read(deadline(t, time.Minute), request("eth_call"))
		if f == nil {
			answer.Release()
		}
		done <- f
	}()
	testkit.Eventually(t, testTimeout, func() bool { return second.Total() == 1 }, "the second is asked")
	asked := time.Now()
	testkit.Eventually(t, testTimeout, func() bool { return time.Since(asked) > minAttemptTime+100*time.Millisecond },
		"the second takes longer too")
	second.Release()
	if f := <-done; f != nil {
		t.Fatal(f)
	}
	s := c.endpoints[0].health.newest()
	expect.Equal(t, s.errorRate, 0)
	expect.Equal(t, c.endpoints[0].health.inARow, 0)
	expect.Equal(t, s.calls, 4*minSamples+1)
}

func TestDeadline_AttemptGetsAMultipleOfTheUsualTimeWithinItsShare(t *testing.T) {
	t.Parallel()
	known := func(p99 time.Duration) *latency.Quantiles { return &latency.Quantiles{Known: true, P99: p99} }
	for name, row := range map[string]struct {
		usual  *latency.Quantiles
		left   int
		within time.Duration // of the deadline
		want   time.Duration
		given  bool
	}{
		"unmeasured":              {&latency.Quantiles{}, 2, 30 * time.Second, 10 * time.Second, false},
		"fast":                    {known(time.Millisecond), 2, 30 * time.Second, minAttemptTime, true},
		"slow":                    {known(time.Second), 2, 30 * time.Second, 4 * time.Second, true},
		"slower than its share":   {known(3 * time.Second), 2, 30 * time.Second, 10 * time.Second, false},
		"little time left":        {known(time.Millisecond), 1, time.Second, 500 * time.Millisecond, false},
		"the last":                {known(time.Millisecond), 0, 30 * time.Second, 30 * time.Second, false},
		"no deadline":             {known(time.Second), 1, 0, 4 * time.Second, true},
		"no deadline, unmeasured": {&latency.Quantiles{}, 1, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			var by time.Time
			if row.within > 0 {
				by = noon.Add(row.within)
			}
			until, given := allow(noon, by, row.left, row.usual)
			switch {
			case row.want == 0:
				if !until.IsZero() || given != 0 {
					t.Errorf("until %s", until)
				}
			case until.Sub(noon) != row.want || (given == row.want) != row.given || (given == 0) == row.given:
				t.Errorf("given %s (%s), want %s", until.Sub(noon), given, row.want)
			}
		})
	}
}

// sharing counts the attempts that a caller's supply allows.
func TestDeadline_LastAttemptOfASupplyGetsAllThatIsLeft(t *testing.T) {
	t.Parallel()
	c, _, s := chooser(t, plan.Public, plan.Public, plan.Premium, plan.Premium)
	c.Apply(s)
	search := search{r: request("eth_call"), list: c.endpoints}
	for _, want := range []int{1, 0} {
		to, ok := c.next(&search)
		if !ok || to.more != want {
			t.Errorf("after %s there are %d more, want %d", to.Name, to.more, want)
		}
	}
}

// goroutinesOf returns the goroutines with a label, which goroutines inherit from their creator.
func goroutinesOf(label string) string {
	var b bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&b, 1)
	var found []string
	for block := range strings.SplitSeq(b.String(), "\n\n") {
		if strings.Contains(block, label) {
			found = append(found, block)
		}
	}
	return strings.Join(found, "\n\n")
}

func TestRead_ClientThatLeavesMidAnswerLeaksNothing(t *testing.T) {
	t.Parallel()
	for _, tier := range []plan.Tier{plan.Balanced, plan.Fast} {
		t.Run(string(tier), func(t *testing.T) {
			t.Parallel()
			c, servers := hedged(t, 2)
			ended := make(chan struct{}, 2)
			for i, s := range servers {
				c.endpoints[i].limits = ratelimit.New(config.Upstream{MaxConcurrent: 4})
				s.Default(func(x *testkit.Exchange) {
					testkit.Large(1 << 40)(x) // until the connection breaks
					ended <- struct{}{}
				})
			}
			label := fmt.Sprintf("reader of %s", t.Name())
			var gone error
			pprof.Do(t.Context(), pprof.Labels("test", label), func(ctx context.Context) {
				client, leave := context.WithCancel(ctx)
				r := request("eth_call")
				r.Tier = tier
				r.MaxAnswer = 1 << 50
				answer, f := c.Read(WithDeadline(client, time.Now().Add(testTimeout), time.Now), r)
				if f != nil {
					t.Error(f)
					leave()
					return
				}
				chunk := make([]byte, 64<<10)
				for range 20 {
					if _, err := answer.Rest.Read(chunk); err != nil {
						t.Error(err)
					}
				}
				leave()
				for gone == nil {
					_, gone = answer.Rest.Read(chunk)
				}
				answer.Release()
			})
			if !errors.Is(gone, context.Canceled) {
				t.Errorf("reading on gave %v", gone)
			}
			<-ended // the upstream's side: its connection was closed
			c.hedges.racing.Wait()
			for _, e := range c.endpoints {
				if s := e.health.newest(); s.errorRate != 0 || held(e) != 0 {
					t.Errorf("%s: standing %+v, %d calls hold room", e.Name, s, held(e))
				}
			}
			testkit.Eventually(t, testTimeout, func() bool { return goroutinesOf(label) == "" }, "its goroutines end")
		})
	}
}

func isNull(result []byte) bool { return string(result) == "null" }

func TestEmptyResult_IsAskedForElsewhereOnlyWhenTheCallSaysSo(t *testing.T) {
	t.Parallel()
	null, known := testkit.Result(nil), testkit.Result("0x1")
	for name, tc := range map[string]struct {
		empty         func([]byte) bool
		first, second testkit.Reply
		want          string
		asked         [2]int
	}{
		"another one knows":   {isNull, null, known, `"0x1"`, [2]int{1, 1}},
		"the first one knows": {isNull, known, null, `"0x1"`, [2]int{1, 0}},
		"nobody knows":        {isNull, null, null, "null", [2]int{1, 1}},
		"the other one is down": {
			isNull, null, testkit.Status(http.StatusInternalServerError), "null", [2]int{1, 1},
		},
		"the other one lacks it": {isNull, null, testkit.Error(-32601, "method not found"), "null", [2]int{1, 1}},
		"the first one is down": {
			isNull, testkit.Status(http.StatusInternalServerError), null, "null", [2]int{1, 1},
		},
		"every result is an answer":   {nil, null, known, "null", [2]int{1, 0}},
		"an error is no empty result": {isNull, testkit.Error(3, "execution reverted"), known, "", [2]int{1, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, first, second := twoUpstreams(t)
			first.On("eth_getTransactionByHash", tc.first)
			second.On("eth_getTransactionByHash", tc.second)
			r := request("eth_getTransactionByHash")
			r.Empty = tc.empty
			answer, refusal := c.Read(deadline(t, testTimeout), r)
			if refusal != nil {
				t.Fatal(refusal)
			}
			defer answer.Release()
			if string(answer.Result) != tc.want {
				t.Errorf("answered %s %s, want %s", answer.Result, answer.Error, tc.want)
			}
			if asked := [2]int{first.Total(), second.Total()}; asked != tc.asked {
				t.Errorf("asked %v, want %v", asked, tc.asked)
			}
		})
	}
}

func TestEmptyResult_BlamesNobodyAndThreeAreEnough(t *testing.T) {
	t.Parallel()
	servers := make([]*testkit.UpstreamServer, 4)
	for i := range servers {
		servers[i] = testkit.Upstream(t)
		servers[i].On("eth_getTransactionByHash", testkit.Result(nil))
	}
	_, c := poolOf(t, time.Now, providers(servers...))
	c.Apply(healthy(c, time.Now()))
	for range 20 {
		r := request("eth_getTransactionByHash")
		r.Empty = isNull
		answer, refusal := c.Read(deadline(t, testTimeout), r)
		require.Nil(t, refusal)
		require.Equal(t, string(answer.Result), "null")
		require.Equal(t, r.Asked.Attempts, maxAttempts)
		answer.Release()
	}
	for _, e := range c.endpoints {
		if s := e.health.snapshot(time.Now()); s.out || s.errorRate > 0 {
			t.Errorf("%s is blamed: %+v", e.Name, s)
		}
	}
}

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
