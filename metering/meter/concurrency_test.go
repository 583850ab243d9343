package meter_test

import (
	"bytes"
	"context"
	"errors"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/meter"
)

// hammer admits calls from many goroutines over several meters until stop returns true, and returns
// how many were admitted.
func hammer(ctx context.Context, t *testing.T, meters []*meter.Meter, c *client, call *meter.Call,
	stop func() bool,
) int64 {
	t.Helper()
	var admitted atomic.Int64
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			for !stop() {
				a, err := meters[i%len(meters)].Admit(ctx, c.Subject, call)
				if err != nil {
					t.Errorf("admit: %v", err)
					return
				}
				if a.Admitted {
					admitted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return admitted.Load()
}

func TestMeters_TwoNeverAdmitMoreThanTheDayAllows(t *testing.T) {
	t.Parallel()
	b, _ := setupRedis(t)
	meters := []*meter.Meter{b.meter, openMeter(b.ctx, t, b.url)}
	const calls = 3000
	c := b.client(t, limits(noWindow, calls*1500+1499, calls*1500+1499))
	var made atomic.Int64
	admitted := hammer(b.ctx, t, meters, c, charge(1500), func() bool { return made.Add(1) > 2*calls })
	if admitted != calls {
		t.Errorf("%d calls admitted, want exactly %d", admitted, calls)
	}
	if day, period := b.usedDay(t, c), b.usedPeriod(t, c); day != calls*1500 || period != calls*1500 {
		t.Errorf("the counters stand at %d and %d, want %d", day, period, calls*1500)
	}
	b.wantUsage(t, c, usage{"ok": {calls, calls * 1500}, "door_key_day": {requests: calls}})
}

func TestMeters_TwoNeverAdmitMoreThanTheWindowAllows(t *testing.T) {
	t.Parallel()
	b, _ := setupRedis(t)
	meters := []*meter.Meter{b.meter, openMeter(b.ctx, t, b.url)}
	const limit = 50
	rate := account.RateWindow{Limit: limit, Per: 500 * time.Millisecond}
	c := b.client(t, limits(rate, unlimited, unlimited))
	from := b.now(t)
	end := from.Add(6 * rate.Per)
	var over atomic.Bool
	admitted := hammer(b.ctx, t, meters, c, hit(), func() bool {
		if !over.Load() && !time.Now().Before(end) {
			over.Store(true)
		}
		return over.Load()
	})
	// The first bucket may be filled at once; each later one gets what its share of the window
	// leaves.
	took := b.now(t).Sub(from)
	upTo := int64(limit*(1+float64(took)/float64(rate.Per))) + 1
	if admitted > upTo || admitted < upTo/2 {
		t.Errorf("%d admitted in %s at %d per %s, want at most %d and not under half of it", admitted, took, limit,
			rate.Per, upTo)
	}
	if got := b.usage(t, c)["hit"].requests; got != admitted {
		t.Errorf("%d usage lines for %d admitted calls", got, admitted)
	}
}

// The goroutines of a meter carry the labels of the goroutine that opened it.
func TestClose_DuringLoadAnswersEveryCallAndLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	b, _ := setupRedis(t)
	c := b.client(t, limits(noWindow, 1<<50, 1<<50))
	var answered, lost atomic.Int64
	pprof.Do(b.ctx, pprof.Labels("meter", t.Name()), func(ctx context.Context) {
		m, err := meter.Open(ctx, b.url)
		if err != nil {
			t.Error(err)
			return
		}
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				for {
					a, err := m.Admit(ctx, c.Subject, charge(1))
					switch {
					case err != nil && strings.Contains(err.Error(), "closed"):
						return
					case err != nil:
						lost.Add(1)
						t.Errorf("admit while closing: %v", err)
						return
					case a.Admitted:
						answered.Add(1)
					}
				}
			})
		}
		testkit.Eventually(t, testTimeout, func() bool { return answered.Load() > 500 }, "calls are under way")
		var closers sync.WaitGroup
		for range 3 {
			closers.Go(func() {
				if err := m.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
		}
		closers.Wait()
		wg.Wait()
		if _, err := m.Admit(ctx, c.Subject, charge(1)); err == nil {
			t.Error("a closed meter admitted a call")
		}
	})
	if day := b.usedDay(t, c); day != answered.Load() {
		t.Errorf("%d charged, %d callers were told so", day, answered.Load())
	}
	testkit.Eventually(t, testTimeout, func() bool { return !running(t, t.Name()) }, "the meter's goroutines end")
}

// running reports whether a goroutine with this label is there.
func running(t *testing.T, label string) bool {
	t.Helper()
	var all bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		t.Fatal(err)
	}
	return strings.Contains(all.String(), `"meter":"`+label+`"`)
}

func TestAdmit_CallerWhoLeftBeforeTheScriptWasSentIsNotCharged(t *testing.T) {
	t.Parallel()
	b, server := setupRedis(t)
	c := b.client(t, limits(noWindow, 1<<50, unlimited))
	const callers = 3000 // more than the pipeliner and its queue hold
	server.Pause(t)
	ctx, cancel := context.WithTimeout(b.ctx, 300*time.Millisecond)
	defer cancel()
	var unsent, unknown, admitted atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for range callers {
		wg.Go(func() {
			a, err := b.meter.Admit(ctx, c.Subject, charge(1))
			switch {
			case errors.Is(err, context.DeadlineExceeded) && strings.Contains(err.Error(), "not sent"):
				unsent.Add(1)
			case err != nil:
				unknown.Add(1)
			case a.Admitted:
				admitted.Add(1)
			}
		})
	}
	wg.Wait()
	took := time.Since(began)
	server.Resume(t)
	if took > 20*time.Second { // their deadlines passed long before, but a busy machine must run three thousand of them
		t.Errorf("the callers of a server that hangs waited %s", took)
	}
	if unsent.Load() < callers/2 || unsent.Load()+unknown.Load() != callers {
		t.Errorf("%d not sent, %d unknown, %d admitted of %d", unsent.Load(), unknown.Load(), admitted.Load(), callers)
	}
	// What was sent may run now; what was not never does.
	testkit.Eventually(t, testTimeout, func() bool {
		a, err := b.meter.Admit(b.ctx, c.Subject, charge(0))
		return err == nil && a.Admitted
	}, "the meter answers again")
	if day := b.usedDay(t, c); day > unknown.Load() {
		t.Errorf("%d charged, though only %d calls may have been sent", day, unknown.Load())
	}
}

func TestAdmit_FailsWhileRedisIsAwayAndGoesOnAfter(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t, testkit.WithAppendOnly())
	b := connect(t, server.URL)
	c := b.client(t, limits(noWindow, 1<<50, 1<<50))
	b.mustAdmit(t, c, charge(5))
	server.Kill(t)
	began := time.Now()
	for range 5 {
		if a, err := b.meter.Admit(b.ctx, c.Subject, charge(5)); err == nil {
			t.Errorf("the meter said %+v without Redis", a)
		}
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("five answers without Redis took %s", took)
	}
	if err := b.meter.PushKey(b.ctx, withVersion(c.key, 2)); err == nil {
		t.Error("a push succeeded without Redis")
	}
	server.Start(t)
	testkit.Eventually(t, testTimeout, func() bool {
		a, err := b.meter.Admit(b.ctx, c.Subject, charge(5))
		return err == nil && a.Admitted
	}, "calls are admitted again, with the counters that were there")
	if day := b.usedDay(t, c); day != 10 {
		t.Errorf("the day stands at %d, want 10", day)
	}
	b.wantUsage(t, c, usage{"ok": {2, 10}})
}

func TestScripts_ForgottenAreSentAgainAndChargeOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, limits(noWindow, 1<<50, 1<<50))
		const callers, calls = 16, 60
		var flushes sync.WaitGroup
		done := make(chan struct{})
		flushes.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					b.rdb.ScriptFlush(b.ctx)
				}
			}
		})
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for range calls {
					if a, err := b.meter.Admit(b.ctx, c.Subject, charge(3)); err != nil || !a.Admitted {
						t.Errorf("admit: %+v, %v", a, err)
					}
				}
			})
		}
		wg.Wait()
		close(done)
		flushes.Wait()
		if day, period := b.usedDay(t, c), b.usedPeriod(t, c); day != 3*callers*calls || period != day {
			t.Errorf("the counters stand at %d and %d, want %d", day, period, 3*callers*calls)
		}
		b.rdb.ScriptFlush(b.ctx)
		b.refund(t, c, charge(3), meter.Receipt{
			Period: c.account.Current.Key(), Sources: "plan", Slot: time64(b.now(t).Truncate(meter.SlotLength)),
		}, "request")
		b.wantUsage(t, c, usage{
			"ok": {callers * calls, 3 * callers * calls}, "refund": {-1, -3}, "upstream_timeout": {requests: 1},
		})
	})
}
