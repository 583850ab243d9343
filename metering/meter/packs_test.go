package meter_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
)

// withPacks sets a quota of 1000 and packs of these sizes, which expire a day apart.
func withPacks(now time.Time, sizes ...plan.Units) func(a *account.AccountLimits, k *account.KeyLimits) {
	return func(a *account.AccountLimits, _ *account.KeyLimits) {
		a.Current.Quota, a.Next.Quota = 1000, 1000
		for i, units := range sizes {
			a.Packs = append(a.Packs, account.Pack{
				ID: account.NewPackID(), Units: units, Expires: now.Add(time.Duration(i+1) * 24 * time.Hour),
			})
		}
	}
}

// drawn returns what was drawn from a client's packs, in their order; −1 where the counter is
// missing.
func (b *bundle) drawn(t testing.TB, c *client) []int64 {
	t.Helper()
	all := make([]int64, len(c.account.Packs))
	for i, p := range c.account.Packs {
		n, err := b.rdb.HGet(b.ctx, tagOf(c)+"pk:"+c.Account.String(), p.ID.String()).Int64()
		switch {
		case err == redis.Nil: //nolint:errorlint // go-redis returns it bare
			n = -1
		case err != nil:
			t.Fatal(err)
		}
		all[i] = n
	}
	return all
}

// bySource returns what a client's buckets hold of an outcome, by source.
func (b *bundle) bySource(t testing.TB, c *client, outcome string) map[string]figures {
	t.Helper()
	sums := map[string]figures{}
	for _, bucket := range b.buckets(t, c) {
		for _, line := range bucket.Lines {
			if line.Outcome == outcome {
				f := sums[line.Source]
				sums[line.Source] = figures{f.requests + line.Requests, f.units + int64(line.Units)}
			}
		}
	}
	return sums
}

func TestPacks_AreDrawnAfterThePlanByExpiryAndMaySplitACall(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, withPacks(b.now(t), 300, 5000))
		first, second := c.account.Packs[0].ID.Source(), c.account.Packs[1].ID.Source()
		if r := b.mustAdmit(t, c, charge(700)); r.Sources != account.SourcePlan || r.FromPack() {
			t.Errorf("drawn from %q, want the plan", r.Sources)
		}
		// 300 are left in the plan, 300 in the first pack: all three are drawn.
		r := b.mustAdmit(t, c, charge(1000))
		if want := fmt.Sprintf("plan=300,%s=300,%s=400", first, second); r.Sources != want || !r.FromPack() {
			t.Errorf("drawn from %q, want %q", r.Sources, want)
		}
		if r := b.mustAdmit(t, c, charge(600)); r.Sources != second+"=600" {
			t.Errorf("drawn from %q, want the second pack alone", r.Sources)
		}
		if got := b.drawn(t, c); !slices.Equal(got, []int64{300, 1000}) || b.usedPeriod(t, c) != 1000 {
			t.Errorf("drawn %v from the packs and %d from the plan", got, b.usedPeriod(t, c))
		}
		a := b.mustRefuse(t, c, charge(4001), "plan_quota")
		if a.Limit != 1000+300+5000 || a.Remaining != 4000 {
			t.Errorf("refused with %+v, want 4000 left of the plan and the packs", a)
		}
		b.mustAdmit(t, c, charge(4000))
		b.mustRefuse(t, c, charge(1), "plan_quota")
		// Each call counts once, however many sources it draws from.
		got := b.bySource(t, c, "ok")
		want := map[string]figures{"plan": {2, 1000}, first: {0, 300}, second: {2, 5000}}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("usage is %v, want %v", got, want)
		}
	})
}

func TestRefund_GoesBackToEverySourceOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, withPacks(b.now(t), 300, 5000))
		b.mustAdmit(t, c, charge(900))
		call := charge(1000)
		r := b.mustAdmit(t, c, call)
		for range 3 {
			if err := b.meter.Refund(b.ctx, c.Subject, call, r, "request:0", "upstream_failed"); err != nil {
				t.Fatal(err)
			}
		}
		if got := b.drawn(t, c); !slices.Equal(got, []int64{0, 0}) || b.usedPeriod(t, c) != 900 {
			t.Errorf("%v drawn from the packs and %d from the plan after the refund", got, b.usedPeriod(t, c))
		}
		first, second := c.account.Packs[0].ID.Source(), c.account.Packs[1].ID.Source()
		got := b.bySource(t, c, "refund")
		want := map[string]figures{"plan": {-1, -100}, first: {0, -300}, second: {0, -600}}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("refund lines are %v, want %v", got, want)
		}
	})
}

func TestPacks_ExpiredAreNotDrawn(t *testing.T) {
	t.Parallel()
	b := setupMini(t)
	c := b.client(t, withPacks(b.now(t), 500, 400))
	b.mustAdmit(t, c, charge(1100))
	b.mini.SetTime(c.account.Packs[0].Expires.Add(-time.Millisecond))
	b.mustAdmit(t, c, charge(100))
	b.mini.SetTime(c.account.Packs[0].Expires)
	if a := b.mustRefuse(t, c, charge(401), "plan_quota"); a.Remaining != 400 {
		t.Errorf("%d units left, want the second pack's 400", a.Remaining)
	}
	b.mustAdmit(t, c, charge(400))
	if got := b.drawn(t, c); !slices.Equal(got, []int64{200, 400}) {
		t.Errorf("drawn %v", got)
	}
	b.mini.SetTime(c.account.Packs[1].Expires)
	if a := b.mustRefuse(t, c, charge(1), "plan_quota"); a.Remaining != 0 {
		t.Errorf("%d units left when every pack has expired", a.Remaining)
	}
}

// A quota that was lowered below what is used draws packs for the whole call, and never a negative
// amount from the plan.
func TestPacks_AloneAreDrawnWhenTheQuotaIsBelowUsage(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, withPacks(b.now(t), 500))
		b.mustAdmit(t, c, charge(1000))
		b.change(t, c, func(a *account.AccountLimits, _ *account.KeyLimits) { a.Current.Quota = 200 })
		if r := b.mustAdmit(t, c, charge(500)); r.Sources != c.account.Packs[0].ID.Source()+"=500" {
			t.Errorf("drawn from %q", r.Sources)
		}
		if got := b.usedPeriod(t, c); got != 1000 {
			t.Errorf("the plan's counter is %d, want 1000", got)
		}
	})
}

func TestPacks_LostCounterIsSeededFromAnyPeriod(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, withPacks(b.now(t), 500))
		pack := c.account.Packs[0].ID.Source()
		b.mustAdmit(t, c, charge(1200))
		// A line of an earlier period, still unflushed.
		b.rdb.HIncrBy(b.ctx, openBucket(t, b, c),
			"2020-01-01|ok|"+pack+"|"+c.Key.String()+"||c|rpc|m|x|balanced|+70", 1)
		b.rdb.Del(b.ctx, tagOf(c)+"pk:"+c.Account.String())
		a := b.admit(t, c, charge(1))
		if !slices.Equal(a.Missing, []string{pack}) {
			t.Fatalf("the meter said %+v, want the pack's counter missing", a)
		}
		counter, ok := a.CounterOf(pack, c.Key, "rpc")
		if !ok {
			t.Fatal("nobody knows the counter")
		}
		b.seedCounters(t, c, figure{units: 30}, counter)
		if got := b.drawn(t, c); !slices.Equal(got, []int64{300}) {
			t.Errorf("seeded with %v, want the record's 30, 200 and 70", got)
		}
	})
}
