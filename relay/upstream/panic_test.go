package upstream

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/relay/upstream/internal/ratelimit"
	"github.com/chainaccess/gateway/relay/upstream/internal/transport"
)

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
			expect.Contains(in, line, "panic_test.go")
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
