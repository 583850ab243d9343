package meter_test

import (
	"errors"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/meter"
)

// mustLose admits a charge whose reply is lost.
func mustLose(t *testing.T, b *bundle, m *meter.Meter, c *client, call *meter.Call) *account.LostCall {
	t.Helper()
	a, err := m.Admit(b.ctx, c.Subject, call)
	lost, ok := errors.AsType[*meter.LostError](err)
	if !ok {
		t.Fatalf("%+v, %v: want a lost reply", a, err)
	}
	return &lost.Call
}

// reclaimed retries until it is decided what became of a lost call.
func reclaimed(t *testing.T, b *bundle, l *account.LostCall) (what meter.Reclaimed) {
	t.Helper()
	testkit.Eventually(t, testTimeout, func() bool {
		var err error
		if what, err = b.meter.Reclaim(b.ctx, l, "meter_unreachable"); err != nil {
			t.Fatal(err)
		}
		return what != meter.Undecided
	}, "the lost call can no longer run")
	return what
}

func TestAdmit_ChargesNothingOnceItsCallerHasGivenUp(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]time.Duration{
		"steady": 0, "after a step back": -30 * time.Second, "after a step forward": 30 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := testkit.Redis(t, testkit.WithClock())
			b := connect(t, server.URL)
			c := b.client(t, limits(noWindow, unlimited, 1<<50))
			b.mustAdmit(t, c, charge(7))
			server.SetClock(t, off)
			b.mustAdmit(t, c, charge(7)) // late after a step forward: the clock is read again
			const clockIsReadWithin = 1200 * time.Millisecond
			for read := time.Now().Add(clockIsReadWithin); time.Now().Before(read); {
				b.mustAdmit(t, c, charge(0))
			}
			before := b.usedPeriod(t, c)
			server.Pause(t)
			lost := mustLose(t, b, b.meter, c, charge(7))
			for range 3 { // not even sent, because Redis does not return its time
				if a, err := b.meter.Admit(b.ctx, c.Subject, charge(7)); err == nil {
					t.Fatalf("a paused Redis said %+v", a)
				} else if _, ok := errors.AsType[*meter.LostError](err); ok {
					t.Errorf("%v: a call was sent to a Redis that hangs", err)
				}
			}
			server.Resume(t)
			if what := reclaimed(t, b, lost); what != meter.NotCharged {
				t.Errorf("reclaimed with %d, want %d", what, meter.NotCharged)
			}
			if got := b.usedPeriod(t, c); got != before {
				t.Errorf("%d thousandths are charged, want %d: none of the calls that were given up", got, before)
			}
			b.mustAdmit(t, c, charge(7))
		})
	}
}

func TestReclaim_GivesAChargeBackOnceWhoseReplyWasLost(t *testing.T) {
	t.Parallel()
	onBothBehindProxies(t, func(t *testing.T, b *bundle, m *meter.Meter, p proxies) {
		c := b.client(t, limits(wideWindow, 1<<50, 1<<50))
		if a, err := m.Admit(b.ctx, c.Subject, charge(7)); err != nil || !a.Admitted {
			t.Fatalf("%+v, %v", a, err)
		}
		p.swallow(1)
		lost := mustLose(t, b, m, c, charge(7))
		p.swallow(0)
		for range 3 { // later calls do not overwrite the mark
			if a, err := m.Admit(b.ctx, c.Subject, charge(7)); err != nil || !a.Admitted {
				t.Fatalf("%+v, %v", a, err)
			}
		}
		if what := reclaimed(t, b, lost); what != meter.GivenBack {
			t.Errorf("reclaimed with %d, want %d", what, meter.GivenBack)
		}
		if what := reclaimed(t, b, lost); what != meter.NotCharged {
			t.Errorf("reclaimed again with %d, want %d", what, meter.NotCharged)
		}
		if day := b.usedDay(t, c); day != 28 {
			t.Errorf("the day stands at %d, want 28: four charges", day)
		}
		b.wantUsage(t, c, usage{"ok": {5, 35}, "refund": {-1, -7}, "meter_unreachable": {requests: 1}})
	})
}

func TestReclaim_GivesPacksBackWhatWasDrawnFromThem(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	b := connect(t, server.URL)
	p := startProxy(t, server.Addr)
	m := openMeter(b.ctx, t, "redis://"+p.listener.Addr().String()+"/0")
	pack := account.Pack{ID: account.NewPackID(), Units: 10_000, Expires: b.now(t).Add(time.Hour)}
	c := b.client(t, func(a *account.AccountLimits, k *account.KeyLimits) {
		limits(noWindow, unlimited, 10)(a, k)
		a.Packs = []account.Pack{pack}
	})
	if a, err := m.Admit(b.ctx, c.Subject, charge(4)); err != nil || !a.Admitted {
		t.Fatalf("%+v, %v", a, err)
	}
	p.swallow.Store(1)
	lost := mustLose(t, b, m, c, charge(9)) // six of the plan, three of the pack
	if what := reclaimed(t, b, lost); what != meter.GivenBack {
		t.Errorf("reclaimed with %d, want %d", what, meter.GivenBack)
	}
	if got := b.usedPeriod(t, c); got != 4 {
		t.Errorf("%d are drawn from the plan, want 4", got)
	}
	if got := b.rdb.HGet(b.ctx, tagOf(c)+"pk:"+c.Account.String(), pack.ID.String()).Val(); got != "0" {
		t.Errorf("%s are drawn from the pack, want 0", got)
	}
}

func TestReclaim_FindsAMarkForAsLongAsItLives(t *testing.T) {
	t.Parallel()
	const step = 10_000 * time.Second
	for name, row := range map[string]struct {
		later time.Duration
		want  meter.Reclaimed
	}{"two steps": {2*step - time.Minute, meter.GivenBack}, "five steps": {5 * step, meter.Forgotten}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := testkit.Redis(t, testkit.WithClock())
			b := connect(t, server.URL)
			p := startProxy(t, server.Addr)
			m := openMeter(b.ctx, t, "redis://"+p.listener.Addr().String()+"/0")
			c := b.client(t, limits(noWindow, unlimited, 1<<50))
			if a, err := m.Admit(b.ctx, c.Subject, charge(7)); err != nil || !a.Admitted {
				t.Fatalf("%+v, %v", a, err)
			}
			p.swallow.Store(1)
			lost := mustLose(t, b, m, c, charge(7))
			server.SetClock(t, row.later)
			if what := reclaimed(t, b, lost); what != row.want {
				t.Errorf("reclaimed %s later with %d, want %d", row.later, what, row.want)
			}
		})
	}
}
