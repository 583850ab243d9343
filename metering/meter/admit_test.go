package meter_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
)

func limits(rate account.RateWindow, daily, monthly plan.Units) func(*account.AccountLimits, *account.KeyLimits) {
	return func(a *account.AccountLimits, k *account.KeyLimits) {
		a.Rate, a.Current.Quota, a.Next.Quota, k.Daily = rate, monthly, monthly, daily
	}
}

var (
	noWindow   = account.RateWindow{Limit: -1, Per: time.Second}
	wideWindow = account.RateWindow{Limit: 1000, Per: time.Hour}
)

func TestAdmit_MovesCountersAndUsageTogether(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, limits(wideWindow, 10_000, 100_000))
		r := b.mustAdmit(t, c, charge(1500))
		b.mustAdmit(t, c, charge(500))
		want := meter.Receipt{
			Period: c.account.Current.Key(), Sources: "plan", Slot: time64(b.now(t).Truncate(meter.SlotLength)),
		}
		if r != want {
			t.Errorf("receipt is %+v, want %+v", r, want)
		}
		if day, period := b.usedDay(t, c), b.usedPeriod(t, c); day != 2000 || period != 2000 {
			t.Errorf("the counters stand at %d and %d, want 2000", day, period)
		}
		buckets := b.buckets(t, c)
		var lines []account.UsageLine
		for _, bucket := range buckets {
			lines = append(lines, bucket.Lines...)
		}
		merged := lines[0]
		for _, l := range lines[1:] { // two when a slot ended in between
			merged.Requests += l.Requests
			merged.Units += l.Units
		}
		wantLine := account.UsageLine{
			Period: c.account.Current.Key(), Key: c.Key, Chain: "eth_mainnet", Service: "rpc", Method: "eth_call",
			Class: "standard", Outcome: "ok", Source: "plan", Tier: "balanced", Requests: 2, Units: 2000,
		}
		if merged != wantLine {
			t.Errorf("usage line is %+v, want %+v", merged, wantLine)
		}
	})
}

// Each step lifts the limit that refused, and the next in order refuses: key, account, window, day,
// quota.
func TestAdmit_RefusalsComeInTheOrderOfTheirRank(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, limits(account.RateWindow{Limit: 0, Per: time.Hour}, 0, 0))
		b.change(t, c, func(a *account.AccountLimits, k *account.KeyLimits) {
			a.Status, k.Status = account.Suspended, account.Revoked
		})
		modes := []*meter.Call{charge(1000), hit(), windowOnly("method_unknown")}
		for _, call := range modes {
			b.mustRefuse(t, c, call, "key_invalid")
		}
		b.change(t, c, func(_ *account.AccountLimits, k *account.KeyLimits) { k.Status = account.Active })
		for _, call := range modes {
			b.mustRefuse(t, c, call, "account_suspended")
		}
		b.change(t, c, func(a *account.AccountLimits, _ *account.KeyLimits) { a.Status = account.Active })
		for _, call := range modes {
			b.mustRefuse(t, c, call, "rate_window")
		}
		b.change(t, c, func(a *account.AccountLimits, _ *account.KeyLimits) { a.Rate.Limit = 1000 })
		b.mustAdmit(t, c, windowOnly("method_unknown"))
		b.mustAdmit(t, c, hit())
		if a := b.mustRefuse(t, c, charge(1000), "door_key_day"); !slices.Equal(a.Also,
			[]meter.Refusal{{Reason: "plan_quota"}}) {
			t.Errorf("also names %v, want plan_quota", a.Also)
		}
		b.change(t, c, func(_ *account.AccountLimits, k *account.KeyLimits) { k.Daily = 5000 })
		if a := b.mustRefuse(t, c, charge(1000), "plan_quota"); len(a.Also) != 0 {
			t.Errorf("also names %v, want nothing", a.Also)
		}
		b.change(t, c, func(a *account.AccountLimits, _ *account.KeyLimits) { a.Current.Quota = 5000 })
		b.mustAdmit(t, c, charge(1000))
		b.wantUsage(t, c, usage{
			"key_invalid": {requests: 3}, "account_suspended": {requests: 3}, "rate_window": {requests: 3},
			"method_unknown": {requests: 1}, "hit": {requests: 1}, "door_key_day": {requests: 1},
			"plan_quota": {requests: 1}, "ok": {1, 1000},
		})
	})
}

func TestAdmit_RefusalChangesOnlyTheWindowAndItsLine(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, limits(wideWindow, 1000, unlimited))
		b.mustAdmit(t, c, charge(600))
		before := b.snapshot(t, c, "win:", "b:", "dirty")
		window := b.windowOf(c)
		b.mustRefuse(t, c, charge(600), "door_key_day")
		if after := b.snapshot(t, c, "win:", "b:", "dirty"); !maps.Equal(before, after) {
			t.Errorf("a refusal changed the meter from\n%v to\n%v", before, after)
		}
		if b.windowOf(c) == window {
			t.Error("a refusal of the day did not count in the window")
		}
		b.change(t, c, func(_ *account.AccountLimits, k *account.KeyLimits) { k.Status = account.Revoked })
		before = b.snapshot(t, c, "b:", "dirty")
		b.mustRefuse(t, c, charge(100), "key_invalid")
		if after := b.snapshot(t, c, "b:", "dirty"); !maps.Equal(before, after) {
			t.Errorf("a refusal of the key changed the meter from\n%v to\n%v", before, after)
		}
		b.wantUsage(t, c, usage{"ok": {1, 600}, "door_key_day": {requests: 1}, "key_invalid": {requests: 1}})
	})
}

func TestAdmit_RefusalByTheWindowDoesNotCountInIt(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, limits(account.RateWindow{Limit: 3, Per: 24 * time.Hour}, unlimited, unlimited))
		b.mustAdmit(t, c, charge(1000))
		b.mustAdmit(t, c, hit())
		b.mustAdmit(t, c, windowOnly("param_invalid"))
		full := b.windowOf(c)
		for range 5 {
			a := b.mustRefuse(t, c, charge(1000), "rate_window")
			in := expect.In(t, "the window refused")
			expect.Equal(in, a.Limit, 3)
			expect.Equal(in, a.Remaining, 0)
			expect.Greater(in, a.Reset, 0)
			expect.AtMost(in, a.Reset, 48*time.Hour)
		}
		if got := b.windowOf(c); got != full {
			t.Errorf("the window went from %s to %s by refusing", full, got)
		}
		if ttl := b.rdb.PTTL(b.ctx, windowKey(c)).Val(); ttl <= 24*time.Hour || ttl > 48*time.Hour {
			t.Errorf("the window's state lives %s, want up to two windows", ttl)
		}
	})
}

func TestAdmit_CacheHitsPassUsedUpAllowancesAndAreFree(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, limits(account.RateWindow{Limit: 3, Per: 24 * time.Hour}, 1000, 1000))
		b.mustAdmit(t, c, charge(1000))
		b.mustAdmit(t, c, hit())
		b.mustAdmit(t, c, hit())
		b.mustRefuse(t, c, hit(), "rate_window")
		if day, period := b.usedDay(t, c), b.usedPeriod(t, c); day != 1000 || period != 1000 {
			t.Errorf("hits moved the counters to %d and %d", day, period)
		}
		b.wantUsage(t, c, usage{"ok": {1, 1000}, "hit": {requests: 2}, "rate_window": {requests: 1}})
	})
}

func TestAdmit_RefusalDescribesTheLimit(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, limits(noWindow, 1000, 900))
		b.mustAdmit(t, c, charge(700))
		a := b.mustRefuse(t, c, charge(400), "door_key_day")
		now := b.now(t)
		midnight := now.Truncate(24 * time.Hour).Add(24 * time.Hour)
		in := expect.In(t, "the day refused")
		expect.Equal(in, a.Limit, 1000)
		expect.Equal(in, a.Remaining, 300)
		expect.True(in, near(a.Reset, midnight.Sub(now)), a.Reset)
		a = b.mustRefuse(t, c, charge(300), "plan_quota")
		left := c.account.Current.End.Sub(now)
		in = expect.In(t, "the quota refused")
		expect.Equal(in, a.Limit, 900)
		expect.Equal(in, a.Remaining, 200)
		expect.True(in, near(a.Reset, left), a.Reset, left)
		b.mustAdmit(t, c, charge(200))
	})
}

func near(got, want time.Duration) bool { return (got - want).Abs() < 5*time.Second }

func TestAdmit_MissingStateIsReportedAndChangesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.stranger(t, limits(wideWindow, 1000, 1000))
		want := func(call *meter.Call, missing ...string) {
			t.Helper()
			before := b.snapshot(t, c)
			a := b.admit(t, c, call)
			expect.EqualSlices(t, a.Missing, missing)
			expect.False(t, a.Admitted)
			expect.Equal(t, a.Refused, "")
			if after := b.snapshot(t, c); !maps.Equal(before, after) {
				t.Errorf("a missing call changed the meter from\n%v to\n%v", before, after)
			}
		}
		want(charge(1), meter.MissingAccount, meter.MissingKey)
		if err := b.meter.PushAccount(b.ctx, c.account); err != nil {
			t.Fatal(err)
		}
		want(charge(1), meter.MissingAccount, meter.MissingKey) // a change creates no projection
		b.push(t, c)
		b.rdb.Del(b.ctx, tagOf(c)+"key:"+c.Key.String())
		want(windowOnly("method_unknown"), meter.MissingKey)
		b.push(t, c)
		want(charge(1), "plan", "day")
		b.seedPeriod(t, c, c.account.Current.Key(), figure{})
		want(charge(1), "day")
		b.seedDay(t, c, b.now(t))
		b.rdb.Del(b.ctx, tagOf(c)+"cfg:"+c.Account.String())
		want(hit(), meter.MissingAccount)
		b.push(t, c)
		b.mustAdmit(t, c, charge(1))
	})
}

func TestAdmit_MovedKeyIsReportedAndChangesNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, nil)
		b.rdb.HSet(b.ctx, tagOf(c)+"key:"+c.Key.String(), "st", "moved")
		before := b.snapshot(t, c)
		for _, call := range []*meter.Call{charge(1), hit(), windowOnly("method_unknown")} {
			a := b.admit(t, c, call)
			expect.True(t, a.Moved)
			expect.False(t, a.Admitted)
			expect.Empty(t, a.Missing)
		}
		b.rdb.Del(b.ctx, tagOf(c)+"cfg:"+c.Account.String())
		if a := b.admit(t, c, charge(1)); !a.Moved {
			t.Errorf("the meter said %+v of a moved key whose old account is not loaded, want moved", a)
		}
		b.push(t, c)
		if after := b.snapshot(t, c); !maps.Equal(before, after) {
			t.Errorf("a moved call changed the meter from\n%v to\n%v", before, after)
		}
	})
}

func TestAdmit_WithoutLimitsCountsOnlyUsage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.stranger(t, nil)
		b.push(t, c)
		for range 50 {
			b.mustAdmit(t, c, charge(2000))
		}
		if n := b.rdb.Exists(b.ctx, windowKey(c), dayKey(c, b.now(t)),
			periodKey(c, c.account.Current.Key())).Val(); n != 0 {
			t.Errorf("%d counters exist that nobody needs", n)
		}
		b.wantUsage(t, c, usage{"ok": {50, 100_000}})
	})
}

// Lua keeps numbers as doubles and writes them with 14 digits by default.
func TestAdmit_LargeFiguresStayExact(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		const quota = 1<<53 - 1
		c := b.client(t, limits(noWindow, unlimited, quota))
		b.rdb.Del(b.ctx, periodKey(c, c.account.Current.Key()))
		b.seedPeriod(t, c, c.account.Current.Key(), figure{units: quota - 7})
		a := b.mustRefuse(t, c, charge(8), "plan_quota")
		if a.Limit != quota || a.Remaining != 7 {
			t.Errorf("refused with %+v, want limit %d and 7 left", a, int64(quota))
		}
		b.change(t, c, func(a *account.AccountLimits, _ *account.KeyLimits) {
			a.Current.End = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
		})
		b.mustRefuse(t, c, charge(8), "plan_quota")
		r := b.mustAdmit(t, c, charge(7))
		if got := b.usedPeriod(t, c); got != quota {
			t.Errorf("the counter stands at %d, want %d", got, int64(quota))
		}
		if err := b.meter.Refund(b.ctx, c.Subject, charge(7), r, "request", "upstream_timeout"); err != nil {
			t.Fatal(err)
		}
		if got := b.usedPeriod(t, c); got != quota-7 {
			t.Errorf("the counter stands at %d after the refund, want %d", got, int64(quota-7))
		}
		const heaviest = 1_000_000 * plan.Unit // what one call may weigh at most
		whole := b.client(t, limits(noWindow, unlimited, quota))
		b.mustAdmit(t, whole, charge(heaviest))
		b.wantUsage(t, whole, usage{"ok": {1, int64(heaviest)}})
	})
}

func TestAdmit_CallsThatWouldCorruptTheBooksAreRefusedBeforeRedis(t *testing.T) {
	t.Parallel()
	b := setupMini(t)
	c := b.client(t, nil)
	before := b.snapshot(t, c)
	withBar := charge(1000)
	withBar.Method = "eth_call|x"
	for name, call := range map[string]*meter.Call{
		"negative units": charge(-1), "more units than any call": charge(1_000_000*plan.Unit + 1),
		"overflow": charge(1 << 62), "no reason": windowOnly(""), "bar in reason": windowOnly("a|b"),
		"bar in method": withBar,
	} {
		t.Run(name, func(t *testing.T) {
			if a, err := b.meter.Admit(b.ctx, c.Subject, call); err == nil {
				t.Errorf("the meter said %+v", a)
			}
		})
	}
	if err := b.meter.Refund(b.ctx, c.Subject, charge(-1), meter.Receipt{}, "r", "x"); err == nil {
		t.Error("a negative refund was made")
	}
	if err := b.meter.PushAccount(b.ctx, account.AccountLimits{
		Account: c.Account, Version: 9, Figures: account.Figures{Rate: account.RateWindow{Limit: 1}},
	}); err == nil {
		t.Error("a window without length was put in force")
	}
	if after := b.snapshot(t, c); !maps.Equal(before, after) {
		t.Errorf("they changed the meter from\n%v to\n%v", before, after)
	}
}

func TestPeriod_RollsOverByTheServersClock(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		end := b.now(t).Add(1500 * time.Millisecond).Truncate(time.Millisecond)
		c := b.client(t, func(a *account.AccountLimits, _ *account.KeyLimits) {
			a.Current.End, a.Current.Quota = end, 5000
			a.Next = account.Period{
				Start: a.Current.Start.AddDate(0, 1, 0), End: end.Add(1500 * time.Millisecond), Quota: 7000,
			}
		})
		if got := b.mustAdmit(t, c, charge(5000)).Period; got != c.account.Current.Key() {
			t.Errorf("charged to %s before the end, want %s", got, c.account.Current.Key())
		}
		if a := b.mustRefuse(t, c, charge(1), "plan_quota"); a.Reset > 1500*time.Millisecond || a.Reset <= 0 {
			t.Errorf("the period is said to end in %s", a.Reset)
		}
		b.passes(t, end)
		if a := b.admit(t, c, charge(7000)); !slices.Equal(a.Missing, []string{"plan"}) {
			t.Fatalf("the meter said %+v after the period's end, want its next counter missing", a)
		}
		b.seedPeriod(t, c, c.account.Next.Key(), figure{})
		if got := b.mustAdmit(t, c, charge(7000)).Period; got != c.account.Next.Key() {
			t.Errorf("charged to %s after the end, want %s", got, c.account.Next.Key())
		}
		if got := b.usedPeriod(t, c); got != 5000 {
			t.Errorf("the period that is over stands at %d, want 5000", got)
		}
		b.passes(t, c.account.Next.End)
		if a := b.admit(t, c, charge(1)); !slices.Equal(a.Missing, []string{meter.MissingAccount}) {
			t.Fatalf("the meter said %+v when both periods are over, want the account missing", a)
		}
		// Nothing changed but time, so the version is the same.
		c.account.Current = c.account.Next
		c.account.Current.Start, c.account.Current.End = end, end.Add(time.Hour)
		c.account.Next.End = end.Add(2 * time.Hour)
		b.push(t, c)
		b.seed(t, c, figure{})
		b.mustAdmit(t, c, charge(1))
	})
}

// passes waits until the server's clock has reached at.
func (b *bundle) passes(t testing.TB, at time.Time) {
	t.Helper()
	if b.mini != nil {
		b.mini.SetTime(at)
		return
	}
	testkit.Eventually(t, testTimeout, func() bool { return !b.now(t).Before(at) }, "the server's clock shows %s", at)
}

func TestDay_BeginsAnewAtMidnightUTC(t *testing.T) {
	t.Parallel()
	b := setupMini(t)
	midnight := noon.Truncate(24 * time.Hour).Add(24 * time.Hour)
	b.mini.SetTime(midnight.Add(-time.Millisecond))
	c := b.client(t, limits(noWindow, 1000, unlimited))
	last := b.mustAdmit(t, c, charge(1000))
	if a := b.mustRefuse(t, c, charge(1), "door_key_day"); a.Reset != time.Millisecond {
		t.Errorf("the day is said to end in %s, want 1ms", a.Reset)
	}
	b.mini.SetTime(midnight)
	if a := b.admit(t, c, charge(1000)); !slices.Equal(a.Missing, []string{"day"}) {
		t.Fatalf("the meter said %+v at midnight, want the new day's counter missing", a)
	}
	// Unflushed usage of the day before is not counted in the new one.
	b.seedDay(t, c, midnight)
	first := b.mustAdmit(t, c, charge(1000))
	if first.Slot == last.Slot {
		t.Errorf("charged to slot %s before and after midnight", first.Slot)
	}
	b.mustRefuse(t, c, charge(1), "door_key_day")
}
