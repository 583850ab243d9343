package limits_test

import (
	"fmt"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
)

// turning returns a cycle whose current period ends at boundary, with the names of the periods
// before and after it.
func turning(boundary time.Time) (c plan.Cycle, before, after string) {
	c = plan.Cycle{Anchor: plan.AddMonths(boundary, -1)}
	if start, _ := c.Period(boundary); !start.Equal(boundary) { // a day that last month lacks
		c = plan.Cycle{Anchor: boundary.AddDate(0, 0, -10), Ends: boundary}
	}
	start, _ := c.Period(boundary.Add(-time.Millisecond))
	return c, start.Format(time.DateOnly), boundary.Format(time.DateOnly)
}

// contract sets a quota for each period of an account, whose current one ends at boundary, and a
// rate limit that never refuses.
func (b *bundle) contract(t *testing.T, h *holder, quota plan.Units, boundary time.Time) (before, after string) {
	t.Helper()
	c, before, after := turning(boundary)
	rate := account.RateWindow{Limit: 1_000_000, Per: time.Second}
	if _, err := b.limits.SetEnterprise(b.ctx, h.account.ID, account.Custom{Quota: quota, Rate: rate},
		author); err != nil {
		t.Fatal(err)
	}
	if _, err := b.limits.SetCycle(b.ctx, h.account.ID, c, author); err != nil {
		t.Fatal(err)
	}
	return before, after
}

// now returns Redis' time.
func (b *bundle) now(t *testing.T) time.Time {
	t.Helper()
	now, err := b.meter.Now(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	return now.UTC()
}

// charged is how many calls were charged, by slot and period.
type charged map[struct{ slot, period string }]int64

// inBuckets returns an account's charges in the meter's buckets.
func (b *bundle) inBuckets(t *testing.T, h *holder) charged {
	t.Helper()
	buckets, _, err := b.meter.SealedBuckets(b.ctx, account.Shard(h.account.ID), true, 1000)
	if err != nil {
		t.Fatal(err)
	}
	sums := charged{}
	for _, bucket := range buckets {
		for _, l := range bucket.Lines {
			if l.Outcome == meter.OutcomeOK {
				sums[struct{ slot, period string }{strconv.FormatInt(bucket.Slot.Unix(), 10), l.Period}] += l.Requests
			}
		}
	}
	return sums
}

// A period ends under load, in two processes. A call belongs to the period in which Redis ran it:
// that instant is between two readings of Redis' clock, one before the call and one after its
// answer. Only a call whose readings are on both sides of the boundary may be of either period.
func TestPeriod_EachCallBelongsToOneWhenItEndsUnderLoad(t *testing.T) {
	t.Parallel()
	const quota = 200
	b := setup(t)
	processes := []*bundle{b, b.another(t)}
	h := b.holder(t, plan.Enterprise, account.Unlimited)
	boundary := b.now(t).Add(6 * time.Second).Truncate(time.Millisecond)
	before, after := b.contract(t, h, quota*plan.Unit, boundary)

	var mu sync.Mutex // guards receipts
	receipts := charged{}
	var refusedAfter atomic.Int64
	var load sync.WaitGroup
	call := func(p *bundle, s *meter.Subject) {
		sent := p.now(t)
		_, a, err := p.limits.AdmitOrLoad(p.ctx, s, charge(plan.Unit))
		answered := p.now(t)
		switch {
		case err != nil:
			t.Error(err)
		case a.Refused == "plan_quota":
			if !sent.Before(boundary) {
				refusedAfter.Add(1)
			}
		case !a.Admitted:
			t.Errorf("%+v", a)
		case answered.Before(boundary) && a.Receipt.Period != before, !sent.Before(boundary) &&
			a.Receipt.Period != after,
			a.Receipt.Period != before && a.Receipt.Period != after:
			t.Errorf("a call between %s and %s is of period %s; the boundary is %s", sent, answered, a.Receipt.Period,
				boundary)
		default:
			slot, err := strconv.ParseInt(a.Receipt.Slot, 10, 64)
			if begun := time.Unix(slot, 0); err != nil || begun.After(answered) ||
				!begun.Add(meter.SlotLength).After(sent) {
				t.Errorf("a call between %s and %s is of slot %s", sent, answered, a.Receipt.Slot)
			}
			mu.Lock()
			receipts[struct{ slot, period string }{a.Receipt.Slot, a.Receipt.Period}]++
			mu.Unlock()
		}
	}
	for i := range 8 {
		p := processes[i%2]
		s := p.identify(t, h)
		load.Go(func() {
			for refusedAfter.Load() < 20 && p.ctx.Err() == nil && !t.Failed() {
				call(p, s)
			}
		})
	}
	load.Wait()

	inPeriod := map[string]int64{}
	for of, calls := range receipts {
		inPeriod[of.period] += calls
		slot, _ := strconv.ParseInt(of.slot, 10, 64)
		if begun := time.Unix(slot, 0); of.period == before && !begun.Before(boundary) || of.period == after &&
			!begun.Add(meter.SlotLength).After(boundary) {
			t.Errorf("%d calls of slot %s are of period %s; the boundary is %s", calls, begun.UTC(), of.period,
				boundary)
		}
	}
	// calls continue until the new quota is used up
	n := inPeriod[before]
	expect.NotEqual(t, n, 0)
	expect.AtMost(t, n, quota)
	expect.Equal(t, inPeriod[after], quota)
	if lines := b.inBuckets(t, h); !maps.Equal(lines, receipts) {
		t.Errorf("the usage lines say %v, the receipts %v", lines, receipts)
	}
	b.flushAll(t)
	for _, period := range []string{before, after} {
		calls := inPeriod[period]
		got := b.usage(t, h, period)
		delete(got, "plan_quota ")
		if want := (usage{"ok plan": {calls, plan.Units(calls) * plan.Unit}}); !maps.Equal(got, want) {
			t.Errorf("PostgreSQL has %v of period %s, want %v", got, period, want)
		}
	}
}

// usage is a period's usage in PostgreSQL, by outcome and source.
type usage map[string]struct {
	requests int64
	units    plan.Units
}

func (b *bundle) usage(t *testing.T, h *holder, period string) usage {
	t.Helper()
	hours, err := b.store.ListUsage(b.ctx, h.account.ID, period)
	if err != nil {
		t.Fatal(err)
	}
	u := usage{}
	for _, hour := range hours {
		name := hour.Outcome + " " + hour.Source
		sum := u[name]
		sum.requests += hour.Requests
		sum.units += hour.Units
		u[name] = sum
	}
	return u
}

// grant adds a pack to an account.
func (b *bundle) grant(t *testing.T, h *holder, units plan.Units, expires time.Time) account.PackID {
	t.Helper()
	p := account.Pack{ID: account.NewPackID(), Units: units, Expires: expires}
	_, _, err := b.limits.GrantPack(b.ctx, accountdb.Pack{
		Pack: p, Account: h.account.ID, Kind: "pack_s", Origin: p.ID.String(), GrantedAt: expires.AddDate(-1, 0, 0),
	}, author)
	if err != nil {
		t.Fatal(err)
	}
	return p.ID
}

// counters returns the account's counters in the meter, by their name after the hash tag.
func (b *bundle) counters(t *testing.T, h *holder) map[string]string {
	t.Helper()
	tag := fmt.Sprintf("{u%04d}:", account.Shard(h.account.ID))
	all := map[string]string{}
	for _, kind := range []string{"ap:", "kp:", "pk:"} {
		names, err := b.rdb.Keys(b.ctx, tag+kind+"*").Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			for field, value := range b.rdb.HGetAll(b.ctx, name).Val() {
				all[name[len(tag):]+" "+field] = value
			}
		}
	}
	return all
}

func TestRefund_OfThePastPeriodAndAnExpiredPackLeavesTheNewPeriodAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Enterprise, account.Unlimited)
	boundary := b.now(t).Add(6 * time.Second).Truncate(time.Millisecond)
	before, after := b.contract(t, h, 2*plan.Unit, boundary)
	expired, second := b.grant(t, h, 3*plan.Unit, boundary), b.grant(t, h, 5*plan.Unit, boundary.AddDate(0, 1, 0))
	if _, err := b.limits.ConfigureKey(b.ctx, h.key.ID, settings(t, `{"monthly_request_cap":9,"caps":{"rpc":9}}`),
		author); err != nil {
		t.Fatal(err)
	}
	if _, err := b.limits.ConfigureAccount(b.ctx, h.account.ID, settings(t, `{"caps":{"rpc":9}}`), author); err != nil {
		t.Fatal(err)
	}
	s := b.identify(t, h)
	first := b.admit(t, s, charge(plan.Unit))
	split := b.admit(t, s, charge(5*plan.Unit)) // 1 of the plan, 3 of the pack that expires, 1 of the other
	require.True(t, first.Admitted)
	require.Equal(t, split.Receipt.Period, before)
	require.Equal(t, split.Receipt.Sources, fmt.Sprintf("plan=1000,%s=3000,%s=1000", expired.Source(), second.Source()))
	b.flushAll(t)
	testkit.Eventually(t, testTimeout, func() bool {
		return !b.now(t).Before(boundary)
	}, "the period and the pack are over")
	if a := b.admit(t, s, charge(3*plan.Unit)); !a.Admitted || a.Receipt.Sources != fmt.Sprintf("plan=2000,%s=1000",
		second.Source()) {
		t.Fatalf("in the new period: %+v", a)
	}
	counters := b.counters(t, h)
	for range 3 {
		if err := b.meter.Refund(b.ctx, s, charge(5*plan.Unit), split.Receipt, "request:0",
			"upstream_failed"); err != nil {
			t.Fatal(err)
		}
	}
	ap, kp, pk := "ap:"+h.account.ID.String()+":", "kp:"+h.key.ID.String()+":", "pk:"+h.account.ID.String()+" "
	maps.Copy(counters, map[string]string{ // what the refund changes, and nothing else
		ap + before + " u": "1000", ap + before + " c:rpc": "1000", kp + before + " u": "1000",
		kp + before + " c:rpc": "1000", pk + expired.String(): "0", pk + second.String(): "1000",
	})
	want := maps.Clone(counters)
	if got := b.counters(t, h); !maps.Equal(got, want) {
		t.Errorf("counters are\n%v, want\n%v", got, want)
	}
	b.flushAll(t)
	if got, want := b.usage(t, h, before), (usage{
		"ok plan": {2, 2000}, "ok " + expired.Source(): {0, 3000}, "ok " + second.Source(): {0, 1000},
		"upstream_failed ": {requests: 1}, "refund plan": {-1, -1000}, "refund " + expired.Source(): {0, -3000},
		"refund " + second.Source(): {0, -1000},
	}); !maps.Equal(got, want) {
		t.Errorf("the old period's lines are\n%v, want\n%v", got, want)
	}
	if got, want := b.usage(t, h, after), (usage{
		"ok plan": {1, 2000}, "ok " + second.Source(): {0, 1000},
	}); !maps.Equal(got, want) {
		t.Errorf("the new period's lines are %v, want %v", got, want)
	}
	// Four are left of the other pack and none of the expired one, also after everything is seeded
	// again.
	for range 2 {
		if a := b.admit(t, s, charge(4*plan.Unit+1)); a.Refused != "plan_quota" || a.Remaining != int64(4*plan.Unit) {
			t.Errorf("after the refund: %+v", a)
		}
		b.flushAll(t)
		b.rdb.FlushAll(b.ctx)
	}
	if a := b.admit(t, s, charge(4*plan.Unit)); !a.Admitted {
		t.Errorf("what the pack has left: %+v", a)
	}
}
