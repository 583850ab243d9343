package meter_test

import (
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/meter"
)

func (b *bundle) refund(t testing.TB, c *client, call *meter.Call, r meter.Receipt, request string) {
	t.Helper()
	if err := b.meter.Refund(b.ctx, c.Subject, call, r, request, "upstream_timeout"); err != nil {
		t.Error(err)
	}
}

func TestRefund_IsIdempotent(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, limits(wideWindow, 10_000, 10_000))
		b.mustAdmit(t, c, charge(4000))
		r := b.mustAdmit(t, c, charge(1500))
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { b.refund(t, c, charge(1500), r, "request-1:0") })
		}
		wg.Wait()
		if day, period := b.usedDay(t, c), b.usedPeriod(t, c); day != 4000 || period != 4000 {
			t.Errorf("the counters stand at %d and %d after a refund of 1500, want 4000", day, period)
		}
		b.wantUsage(t, c, usage{"ok": {2, 5500}, "refund": {-1, -1500}, "upstream_timeout": {requests: 1}})
		// Another item of the same batch is another call.
		b.refund(t, c, charge(4000), r, "request-1:1")
		if day, period := b.usedDay(t, c), b.usedPeriod(t, c); day != 0 || period != 0 {
			t.Errorf("the counters stand at %d and %d after both refunds, want 0", day, period)
		}
	})
}

func TestRefund_LineIsTheNegativeOfItsCharge(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, limits(noWindow, 10_000, 10_000))
		r := b.mustAdmit(t, c, charge(1500))
		b.refund(t, c, charge(1500), r, "request")
		sum := map[account.UsageLine]figures{}
		for _, bucket := range b.buckets(t, c) {
			for _, l := range bucket.Lines {
				f := figures{l.Requests, int64(l.Units)}
				l.Requests, l.Units = 0, 0
				f.requests += sum[l].requests
				f.units += sum[l].units
				sum[l] = f
			}
		}
		line := account.UsageLine{
			Period: c.account.Current.Key(), Key: c.Key, Chain: "eth_mainnet", Service: "rpc", Method: "eth_call",
			Class: "standard", Source: "plan", Tier: "balanced",
		}
		ok, refund, failed := line, line, line
		ok.Outcome, refund.Outcome, failed.Outcome, failed.Source = "ok", "refund", "upstream_timeout", ""
		want := map[account.UsageLine]figures{ok: {1, 1500}, refund: {-1, -1500}, failed: {1, 0}}
		for l, f := range want {
			if sum[l] != f {
				t.Errorf("line %+v has %+v, want %+v", l, sum[l], f)
			}
		}
		if len(sum) != len(want) {
			t.Errorf("%d lines, want %d: %+v", len(sum), len(want), sum)
		}
	})
}

func TestRefund_AfterMidnightGoesToTheDayOfItsCharge(t *testing.T) {
	t.Parallel()
	b := setupMini(t)
	midnight := noon.Truncate(24 * time.Hour).Add(24 * time.Hour)
	b.mini.SetTime(midnight.Add(-3 * time.Second))
	c := b.client(t, limits(noWindow, 5000, 50_000))
	r := b.mustAdmit(t, c, charge(2000))
	b.buckets(t, c) // flushed before the refund
	b.mini.SetTime(midnight.Add(20 * time.Second))
	b.seedDay(t, c, midnight)
	b.refund(t, c, charge(2000), r, "request")
	if got := b.counter(t, dayKey(c, midnight.Add(-time.Second))); got != 0 {
		t.Errorf("the day of the charge stands at %d, want 0", got)
	}
	if got := b.usedDay(t, c); got != 0 {
		t.Errorf("the day of the refund stands at %d, want 0", got)
	}
	if got := b.usedPeriod(t, c); got != 0 {
		t.Errorf("the period stands at %d, want 0", got)
	}
	for _, bucket := range b.buckets(t, c) {
		if !bucket.Slot.Before(midnight) {
			t.Errorf("a bucket of slot %s counts %+v, want all in the day before %s", bucket.Slot, bucket.Lines,
				midnight)
		}
	}
	b.wantUsage(t, c, usage{"ok": {1, 2000}, "refund": {-1, -2000}, "upstream_timeout": {requests: 1}})
}

func TestRefund_BelongsToThePeriodOfItsCharge(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		end := b.now(t).Add(time.Second).Truncate(time.Millisecond)
		c := b.client(t, func(a *account.AccountLimits, _ *account.KeyLimits) {
			a.Current.End, a.Current.Quota, a.Next.Start, a.Next.Quota = end, 5000, a.Current.Start.AddDate(0, 1,
				0), 5000
		})
		r := b.mustAdmit(t, c, charge(2000))
		b.passes(t, end)
		b.seedPeriod(t, c, c.account.Next.Key(), figure{})
		b.mustAdmit(t, c, charge(3000))
		b.refund(t, c, charge(2000), r, "request")
		if old, current := b.usedPeriod(t, c), b.counter(t, periodKey(c, c.account.Next.Key())); old != 0 ||
			current != 3000 {
			t.Errorf("the periods stand at %d and %d, want 0 and 3000", old, current)
		}
		for _, bucket := range b.buckets(t, c) {
			for _, l := range bucket.Lines {
				if l.Outcome != "ok" && l.Period != c.account.Current.Key() {
					t.Errorf("the refund's line %+v is not of the charge's period", l)
				}
			}
		}
	})
}

func TestRefund_NeverMakesAnAllowanceWider(t *testing.T) {
	t.Parallel()
	onBothAlone(t, func(t *testing.T, b *bundle) {
		c := b.client(t, limits(noWindow, 5000, 5000))
		r := b.mustAdmit(t, c, charge(2000))
		// The server lost everything, the charge with it, and the counters were seeded from a
		// record that never saw it.
		b.rdb.FlushAll(b.ctx)
		b.push(t, c)
		b.refund(t, c, charge(2000), r, "before the counters are back")
		if day, period := b.usedDay(t, c), b.usedPeriod(t, c); day != -1 || period != -1 {
			t.Errorf("a refund made counters, at %d and %d", day, period)
		}
		b.seed(t, c, figure{units: 500})
		b.refund(t, c, charge(2000), r, "after")
		if day, period := b.usedDay(t, c), b.usedPeriod(t, c); day != 0 || period != 0 {
			t.Errorf("the counters stand at %d and %d, want 0", day, period)
		}
		b.mustRefuse(t, c, charge(5001), "door_key_day")
	})
}
