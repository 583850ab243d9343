package upstream

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/upstream/internal/latency"
	"github.com/chainaccess/gateway/relay/upstream/internal/ratelimit"
	"github.com/chainaccess/gateway/relay/upstream/internal/transport"
)

// hedged returns Ethereum with scripted upstreams, of which the first usually answers within
// microseconds, and credit for hedges.
func hedged(t *testing.T, n int) (*Chain, []*testkit.UpstreamServer) {
	t.Helper()
	var servers []*testkit.UpstreamServer
	for range n {
		servers = append(servers, testkit.Upstream(t))
	}
	_, c := poolOf(t, time.Now, providers(servers...))
	c.Apply(healthy(c, time.Now()))
	c.endpoints[0].measured(time.Microsecond)
	c.hedges.credit.Store(maxHedgeCredit)
	return c, servers
}

func fast() *Request {
	r := request("eth_call")
	r.Tier = plan.Fast
	return r
}

func TestHedge_SlowFirstAttemptOfAFastReadIsHedged(t *testing.T) {
	t.Parallel()
	c, servers := hedged(t, 2)
	servers[0].Default(testkit.Hang(nil))
	servers[1].Default(testkit.Result("0xgood"))
	r := fast()
	answer, f := c.Read(deadline(t, testTimeout), r)
	if f != nil || string(answer.Result) != `"0xgood"` {
		t.Fatalf("got %+v, %v", answer, f)
	}
	answer.Release()
	if r.Asked != (Asked{Upstream: "up-1", Attempts: 2}) {
		t.Errorf("asked %+v", r.Asked)
	}
	c.hedges.racing.Wait() // the loser is cancelled, although its upstream still hangs
	if s := c.endpoints[0].health.newest(); s.errorRate != 0 || c.endpoints[0].health.inARow != 0 {
		t.Errorf("the loser was blamed: %+v", s)
	}
	if got := c.hedges.credit.Load(); got != maxHedgeCredit-hedgeCost {
		t.Errorf("%d credit is left", got)
	}
}

func TestHedge_FirstAttemptMayStillWin(t *testing.T) {
	t.Parallel()
	c, servers := hedged(t, 2)
	servers[0].Default(testkit.Hang(testkit.Result("0xgood")))
	servers[1].Default(testkit.Hang(nil))
	done := make(chan string, 1)
	r := fast()
	go func() {
		answer, f := c.Read(deadline(t, testTimeout), r)
		if f != nil {
			done <- f.Error()
			return
		}
		defer answer.Release()
		done <- string(answer.Result)
	}()
	testkit.Eventually(t, testTimeout, func() bool { return servers[1].Total() == 1 }, "the second attempt starts")
	servers[0].Release()
	if got := <-done; got != `"0xgood"` || r.Asked != (Asked{Upstream: "up-0", Attempts: 2}) {
		t.Errorf("got %s, asked %+v", got, r.Asked)
	}
	c.hedges.racing.Wait()
	if s := c.endpoints[1].health.newest(); s.calls != 0 {
		t.Errorf("the loser's standing is %+v", s)
	}
}

func TestHedge_RaceGoesOnWhenOneFails(t *testing.T) {
	t.Parallel()
	for name, replies := range map[string][2]testkit.Reply{
		"the hedge": {testkit.Hang(testkit.Result("0xgood")), testkit.HTML(502)},
		"both":      {testkit.Hang(testkit.Error(-32000, "header not found")), testkit.HTML(502)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, servers := hedged(t, 3)
			servers[0].Default(replies[0])
			servers[1].Default(replies[1])
			servers[2].Default(testkit.Result("0xgood"))
			done := make(chan string, 1)
			go func() {
				answer, f := c.Read(deadline(t, testTimeout), fast())
				if f != nil {
					done <- f.Error()
					return
				}
				defer answer.Release()
				done <- string(answer.Result)
			}()
			testkit.Eventually(t, testTimeout, func() bool { return c.endpoints[1].health.newest().calls == 1 },
				"the hedge fails")
			servers[0].Release()
			if got := <-done; got != `"0xgood"` {
				t.Errorf("got %s", got)
			}
			if third := servers[2].Total(); (third == 1) != (name == "both") {
				t.Errorf("the third was asked %d times", third)
			}
		})
	}
}

func TestHedge_StreamedAnswerGoesOnToItsEnd(t *testing.T) {
	t.Parallel()
	c, servers := hedged(t, 2)
	servers[0].Default(testkit.Hang(nil))
	servers[1].Default(testkit.Large(4 << 20))
	answer, f := c.Read(deadline(t, testTimeout), fast())
	if f != nil {
		t.Fatal(f)
	}
	c.hedges.racing.Wait()
	n, err := io.Copy(io.Discard, answer.Rest)
	if err != nil || int(n)+len(answer.Result) != 4<<20+4 {
		t.Errorf("%d bytes, %v", n, err)
	}
	answer.Release()
	if c.endpoints[1].health.newest().errorRate != 0 {
		t.Error("the winner was blamed")
	}
}

func TestHedge_AnswerAfterARaceIsReleased(t *testing.T) {
	t.Parallel()
	c, servers := hedged(t, 1)
	c.endpoints[0].limits = ratelimit.New(config.Upstream{MaxConcurrent: 1})
	servers[0].Default(testkit.Large(4 << 20))
	decided := make(chan struct{})
	close(decided)
	to, ok := c.next(&search{r: fast(), list: c.endpoints})
	if !ok {
		t.Fatal("nobody was chosen")
	}
	late := c.start(deadline(t, testTimeout), to, question{body: fast().body(), most: maxAnswer}, 0,
		make(chan attempted), decided)
	c.hedges.racing.Wait()
	late.callOff()
	if n := held(c.endpoints[0]); n != 0 {
		t.Error("it holds its room for ever")
	}
}

func TestHedge_OnlyFastReadsWithRoomAndCredit(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Chain, *Request){
		"cheap":          func(_ *Chain, r *Request) { r.Tier = plan.Cheap },
		"balanced":       func(_ *Chain, r *Request) { r.Tier = plan.Balanced },
		"without credit": func(c *Chain, _ *Request) { c.hedges.credit.Store(hedgeCost - 2) },
		"unmeasured":     func(_ *Chain, r *Request) { r.Heavy = true },
		"no room": func(c *Chain, _ *Request) {
			c.endpoints[1].limits = ratelimit.New(config.Upstream{MaxConcurrent: 1})
			c.endpoints[1].limits.Take(time.Now())
		},
		"not in good standing": func(c *Chain, _ *Request) { c.endpoints[1].health.fail(minSamples) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, servers := hedged(t, 2)
			// Forget the latencies of heavy reads and keep those of standard ones.
			for i := range c.endpoints[0].health.minutes {
				c.endpoints[0].health.minutes[i].latencies[heavyReads] = latency.Histogram{}
			}
			c.endpoints[0].health.newest()
			r := fast()
			change(c, r)
			servers[0].Default(testkit.Drip("0x1", time.Millisecond)) // about forty times its usual latency
			answer, f := c.Read(deadline(t, testTimeout), r)
			if f != nil {
				t.Fatal(f)
			}
			answer.Release()
			if servers[1].Total() != 0 || r.Asked.Attempts != 1 {
				t.Errorf("the other upstream was asked %d times", servers[1].Total())
			}
		})
	}
	c, servers := hedged(t, 2)
	servers[0].Default(testkit.Drip("0x1", time.Millisecond))
	if _, f := c.Submit(deadline(t, testTimeout), fast()); f != nil || servers[1].Total() != 0 {
		t.Errorf("a submission got %v and reached %d others", f, servers[1].Total())
	}
}

func TestHedge_AtMostATwentiethOfFastReads(t *testing.T) {
	t.Parallel()
	c, servers := hedged(t, 2)
	c.hedges.credit.Store(0)
	const reads = 300
	for range reads {
		c.endpoints[0].measured(time.Microsecond) // so that every answer is late
		answer, f := c.Read(deadline(t, testTimeout), fast())
		if f != nil {
			t.Fatal(f)
		}
		answer.Release()
	}
	c.hedges.racing.Wait()
	if n := servers[0].Total() + servers[1].Total() - reads; n > reads/hedgeCost || n == 0 {
		t.Errorf("%d of %d reads were hedged", n, reads)
	}
	for range 2 * maxHedgeCredit {
		c.hedges.earn()
	}
	if got := c.hedges.credit.Load(); got != maxHedgeCredit {
		t.Errorf("%d credit was saved up", got)
	}
	c.hedges.credit.Store(hedgeCost)
	if !c.hedges.spend() || c.hedges.spend() {
		t.Error("credit for one hedge must allow exactly one")
	}
}

func TestHedge_ClientThatLeavesARaceBlamesNobody(t *testing.T) {
	t.Parallel()
	c, servers := hedged(t, 2)
	for i, s := range servers {
		s.Default(testkit.Hang(nil))
		c.endpoints[i].limits = ratelimit.New(config.Upstream{MaxConcurrent: 1})
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan *fault.Error, 1)
	calls := c.endpoints[0].health.newest().calls
	go func() {
		_, f := c.Read(ctx, fast())
		done <- f
	}()
	testkit.Eventually(t, testTimeout, func() bool { return servers[1].Total() == 1 }, "both attempts are under way")
	cancel()
	if f := <-done; f == nil {
		t.Error("there was an answer")
	}
	c.hedges.racing.Wait()
	for i, e := range c.endpoints {
		want := int64(0)
		if i == 0 {
			want = calls
		}
		if got := e.health.newest().calls; got != want || held(e) != 0 {
			t.Errorf("%s: %d calls counted, want %d; %d hold room", e.Name, got, want, held(e))
		}
	}
}

// panicking is a reader with a bug.
type panicking struct{ transport.Reader }

func (panicking) Do(context.Context, []byte, time.Time) (*http.Response, error) { panic("a mistake") }

func TestPanic_InARaceIsABrokenAttempt(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]int{"the first": 0, "the hedge": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, servers := hedged(t, 3)
			var logged bytes.Buffer
			c.panics = &panicLog{
				slog.New(slog.NewTextHandler(&logged, nil)), telemetry.NewLogLimit[panicKind](1, time.Hour, time.Now),
			}
			for i, s := range servers {
				c.endpoints[i].limits = ratelimit.New(config.Upstream{MaxConcurrent: 1})
				s.Default(testkit.Result("0xgood"))
			}
			// No upstream answers before the panic: a cancelled attempt would not reach it.
			servers[0].Default(testkit.Hang(testkit.HTML(502)))
			servers[1].Default(testkit.Hang(testkit.Result("0xgood")))
			c.endpoints[place].reads = panicking{c.endpoints[place].reads}
			done := make(chan string, 1)
			go func() {
				answer, f := c.Read(deadline(t, testTimeout), fast())
				if f != nil {
					done <- f.Error()
					return
				}
				defer answer.Release()
				done <- string(answer.Result)
			}()
			testkit.Eventually(t, testTimeout, func() bool { return c.endpoints[place].health.newest().calls%10 == 1 },
				"it panicked")
			servers[0].Release()
			servers[1].Release()
			if got := <-done; got != `"0xgood"` {
				t.Errorf("got %s", got)
			}
			c.hedges.racing.Wait()
			line := logged.String()
			in := expect.In(t, "the mistake is not told, nor")
			expect.Contains(in, line, "a mistake")
			expect.Contains(in, line, "hedge_test.go")
			expect.Contains(in, line, c.endpoints[place].Name)
			c.panics.write(c.ID, c.endpoints[place].Name, "again", nil)
			if strings.Contains(logged.String(), "again") {
				t.Error("panics are logged without a bound")
			}
			for _, e := range c.endpoints {
				if n := held(e); n != 0 {
					t.Errorf("%s: %d calls hold room", e.Name, n)
				}
			}
		})
	}
}

// panicsIn runs a call that must panic.
func panicsIn(t *testing.T, call func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("the mistake was not told")
		}
	}()
	call()
}

func TestPanic_ReturnsRoomAndTrial(t *testing.T) {
	t.Parallel()
	c, _ := limited(t, 1, 1)
	e := c.endpoints[0]
	e.reads = panicking{e.reads}
	if !e.limits.Take(time.Now()) || !e.health.beginTrial() {
		t.Fatal("no room, or no trial")
	}
	panicsIn(t, func() {
		c.attempt(deadline(t, testTimeout), choice{e, true, 1}, question{body: []byte(`{}`), most: maxAnswer}, 1)
	})
	if held(e) != 0 || e.health.trial.Load() {
		t.Error("a read that panicked holds room, or its trial is under way for ever")
	}
	e.template = nil
	panicsIn(t, func() { _, _ = c.Submit(deadline(t, testTimeout), request("eth_sendRawTransaction")) })
	if held(e) != 0 {
		t.Error("a submission that panicked holds room")
	}
}

func TestPanic_OfAVoterCostsItsVoteOnly(t *testing.T) {
	t.Parallel()
	c, servers := hedged(t, 3)
	for i, s := range servers {
		s.Default(testkit.Result("0xgood"))
		c.endpoints[i].limits = ratelimit.New(config.Upstream{MaxConcurrent: 1})
	}
	c.endpoints[0].reads = panicking{c.endpoints[0].reads}
	answer, agreement, f := c.ReadVerified(deadline(t, testTimeout), request("eth_call"), 2)
	if f != nil {
		t.Fatal(f)
	}
	answer.Release()
	expect.Equal(t, agreement, Agreement{Agreed: 2, Asked: 3})
	for _, e := range c.endpoints {
		expect.Equal(t, held(e), int64(0), e.Name)
	}
}

func TestCompared_AnUpstreamThatLiesIsChosenLast(t *testing.T) {
	t.Parallel()
	c, _ := hedged(t, 2)
	score := func() float64 {
		e := c.endpoints[0]
		return e.score(e.health.snapshot(time.Now()), e.state.Load(), request("eth_call"), 1)
	}
	honest := score()
	c.endpoints[0].compared(false)
	if lied := score(); lied <= honest {
		t.Errorf("after a lie the score is %v, before it was %v", lied, honest)
	}
	expect.Equal(t, c.voters(request("eth_call"))[0], c.endpoints[0], "after a lie by the far faster upstream")
	for range liesToDistrust - 1 {
		c.endpoints[0].compared(false)
	}
	expect.Equal(t, c.voters(request("eth_call"))[0], c.endpoints[1], "after several lies")
	for range 100 {
		c.endpoints[0].compared(true)
	}
	c.endpoints[0].health.newest()
	expect.Equal(t, c.endpoints[0].health.newest().lies, false, "a few forks are no lies")
}
