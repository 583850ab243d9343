package usagedb_test

import (
	"context"
	"errors"
	"math"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/internal/storetest"
	"github.com/chainaccess/gateway/store/usagedb"
)

// spent returns a bucket that draws units from the plan; each generation is a different bucket.
func spent(id account.ID, generation int, units plan.Units) account.UsageBucket {
	line := lineOf(account.NewKeyID(), "ok", "plan", 1, 0)
	line.Units = units
	return bucketOf(id, slot, strconv.Itoa(generation), line)
}

// spentAt is spent in a slot of another calendar month.
func spentAt(at time.Time, id account.ID, generation int, units plan.Units) account.UsageBucket {
	b := spent(id, generation, units)
	b.Slot, b.Lines[0].Period = at, monthOf(at)
	return b
}

// monthOf returns the name of the calendar month of a time.
func monthOf(at time.Time) string {
	start, _ := plan.CalendarMonth(at)
	return start.Format(time.DateOnly)
}

// nextMonth returns a slot in the middle of the next month, in which terms that change now are in
// force, whenever the test runs.
func nextMonth() time.Time {
	_, start := plan.CalendarMonth(time.Now())
	return start.AddDate(0, 0, 14)
}

// lastSlot returns the last slot of the previous month.
func lastSlot() time.Time {
	start, _ := plan.CalendarMonth(time.Now())
	return start.Add(-10 * time.Second)
}

func noticesOf(ctx context.Context, t *testing.T, s *store.Store, id account.ID) (percents []int) {
	t.Helper()
	return noticesIn(ctx, t, s, november, id)
}

func noticesIn(ctx context.Context, t *testing.T, s *store.Store, period string, id account.ID) (percents []int) {
	t.Helper()
	for _, percent := range []int{80, 100} {
		_, err := s.FindNotice(ctx, usagedb.NoticeID{
			UsagePeriod: usagedb.UsagePeriod{Account: id, Period: period}, Percent: percent,
		})
		switch {
		case err == nil:
			percents = append(percents, percent)
		case !errors.Is(err, store.ErrNotFound):
			t.Fatal(err)
		}
	}
	return percents
}

func TestNotices_SharesOfAnAllowanceAreRecordedWhenReached(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	free := plan.Must(plan.Free).Included
	for name, test := range map[string]struct {
		plan string
		used plan.Units
		want int // number of notices, of 80 and 100 percent
	}{
		"nothing":                     {plan.Free, 0, 0},
		"just below 80 percent":       {plan.Free, free*4/5 - 1, 0},
		"80 percent":                  {plan.Free, free * 4 / 5, 1},
		"just below all":              {plan.Free, free - 1, 1},
		"all":                         {plan.Free, free, 2},
		"a soft ceiling":              {plan.Builder, plan.Must(plan.Builder).Included + 1, 2},
		"a plan that counts by day":   {plan.Door1, plan.Must(plan.Door1).Included * 31, 0},
		"a contract without a figure": {plan.Enterprise, free * 1000, 0},
	} {
		t.Run(name, func(t *testing.T) {
			id := storetest.CreateOwner(ctx, t, s, test.plan)
			commit(ctx, t, s, spent(id, 1, test.used))
			if got := noticesOf(ctx, t, s, id); len(got) != test.want || test.want == 1 && got[0] != 80 {
				t.Errorf("noticed %v percent, want %d of 80 and 100", got, test.want)
			}
		})
	}
	unknown := account.NewID()
	commit(ctx, t, s, spent(unknown, 1, free))
	if got := noticesOf(ctx, t, s, unknown); len(got) != 0 {
		t.Errorf("noticed %v of an account that is not there", got)
	}
}

func TestNotices_FiguresOfAContractAreTheAllowance(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	const quota = 50_000 * plan.Unit
	for _, contract := range []struct {
		quota plan.Units
		want  int // number of notices, of 80 and 100 percent
	}{{quota, 2}, {quota * 5 / 4, 1}, {quota * 2, 0}, {plan.Unlimited, 0}, {0, 0}} {
		t.Run(contract.quota.String(), func(t *testing.T) {
			id := storetest.CreateOwner(ctx, t, s, plan.Enterprise)
			storetest.Must[accountdb.Account](t)(s.ChangeAccount(ctx, id, "set_enterprise", storetest.Operator,
				func(a *accountdb.Account) error {
					a.Custom = &account.Custom{
						Quota: contract.quota,
						Rate:  account.RateWindow{Limit: 100, Per: time.Second},
					}
					return nil
				}))
			commit(ctx, t, s, spentAt(nextMonth(), id, 1, quota))
			if got := noticesIn(ctx, t, s, monthOf(nextMonth()), id); len(got) != contract.want {
				t.Errorf("of a quota of %s noticed %v percent, want %d of 80 and 100", contract.quota, got,
					contract.want)
			}
		})
	}
}

func TestNotices_PacksAndOtherPeriodsDoNotCountTowardsAnAllowance(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id := storetest.CreateOwner(ctx, t, s, plan.Free)
	free := plan.Must(plan.Free).Included
	fromPack, october := spent(id, 1, free), spent(id, 2, free*4/5)
	fromPack.Lines[0].Source = "pack:" + account.NewKeyID().String()
	october.Lines[0].Period = "2026-10-01"
	commit(ctx, t, s, fromPack, october, spent(id, 3, free/2))
	if got := noticesOf(ctx, t, s, id); len(got) != 0 {
		t.Errorf("noticed %v percent, want nothing of November", got)
	}
}

// A call may weigh more than what is left, so calls may be refused before the units reach the
// quota.
func TestNotices_CallRefusedForTheQuotaIsAllOfIt(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id := storetest.CreateOwner(ctx, t, s, plan.Free)
	used := spent(id, 1, plan.Must(plan.Free).Included-1)
	used.Lines = append(used.Lines, lineOf(account.NewKeyID(), "plan_quota", "", 1, 0))
	commit(ctx, t, s, used)
	if got := noticesOf(ctx, t, s, id); len(got) != 2 {
		t.Errorf("noticed %v percent, want 80 and 100", got)
	}
}

func TestNotices_ShareIsRecordedOnceHoweverOftenReached(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id := storetest.CreateOwner(ctx, t, s, plan.Free)
	free := plan.Must(plan.Free).Included
	var writers sync.WaitGroup
	for n := range 4 {
		writers.Go(func() {
			for again := range 5 {
				if err := s.CommitUsage(ctx, []account.UsageBucket{spent(id, 10*n+again, free/20)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	eighty := usagedb.NoticeID{UsagePeriod: usagedb.UsagePeriod{Account: id, Period: november}, Percent: 80}
	first := storetest.Must[usagedb.UsageNotice](t)(s.FindNotice(ctx, eighty))
	in := expect.In(t, "the figures of when it was reached")
	expect.Equal(in, first.Units, free*4/5)
	expect.Equal(in, first.Allowance, free)
	expect.True(in, first.StartedAt.IsZero())
	expect.Equal(in, first.Result, "")
	if open := storetest.Must[[]usagedb.UsageNotice](t)(s.OpenNotices(ctx, time.Hour, 10)); len(open) != 2 ||
		open[0].NoticeID != eighty {
		t.Errorf("open are %+v, want 80 and then 100 percent", open)
	}
	// After a refund, further calls reach the percentage again.
	refund := lineOf(account.NewKeyID(), "refund", "plan", -1, 0)
	refund.Units = -free / 2
	commit(ctx, t, s, bucketOf(id, slot, "refund", refund))
	commit(ctx, t, s, spent(id, 100, free))
	if again := storetest.Must[usagedb.UsageNotice](t)(s.FindNotice(ctx, eighty)); again != first {
		t.Errorf("the notice became %+v, was %+v", again, first)
	}
}

func TestNotices_SmallerPlanIsSeenWithTheNextCall(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id, at := storetest.CreateOwner(ctx, t, s, plan.Pro), nextMonth()
	commit(ctx, t, s, spentAt(at, id, 1, plan.Must(plan.Free).Included))
	if got := noticesIn(ctx, t, s, monthOf(at), id); len(got) != 0 {
		t.Fatalf("noticed %v percent of the larger plan", got)
	}
	storetest.ChangeAccount(ctx, t, s, id, func(a *accountdb.Account) { a.Plan = plan.Free })
	refund := spentAt(at, id, 2, 0)
	refund.Lines[0].Outcome = "refund"
	commit(ctx, t, s, refund)
	if got := noticesIn(ctx, t, s, monthOf(at), id); len(got) != 0 {
		t.Errorf("noticed %v percent with a refund", got)
	}
	commit(ctx, t, s, spentAt(at, id, 3, 0))
	if got := noticesIn(ctx, t, s, monthOf(at), id); len(got) != 2 {
		t.Errorf("noticed %v percent, want 80 and 100", got)
	}
}

// The last slot of a period is flushed after the next period has begun, often with other terms.
func TestNotices_PastPeriodGoesByTheTermsOfItsTime(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	free := plan.Must(plan.Free).Included
	for name, test := range map[string]struct {
		plan   string
		change func(*accountdb.Account) // after the end of the period
		want   int                      // number of notices, of 80 and 100 percent
	}{
		"same terms": {plan.Free, func(*accountdb.Account) {}, 2},
		"other fences": {
			plan.Free, func(a *accountdb.Account) { a.Services.Off = []account.Service{account.Gas} },
			2,
		},
		"a smaller plan": {plan.Pro, func(a *accountdb.Account) { a.Plan = plan.Free }, 0},
		"a smaller figure": {plan.Enterprise, func(a *accountdb.Account) {
			a.Custom = &account.Custom{Quota: free, Rate: account.RateWindow{Limit: 1, Per: time.Second}}
		}, 0},
		"another cycle": {plan.Free, func(a *accountdb.Account) { a.Cycle.Anchor = lastSlot().AddDate(0, 0, -3) }, 0},
		"a cycle that begins with the next period": {
			plan.Free, func(a *accountdb.Account) { a.Cycle.Anchor = lastSlot().Add(10 * time.Second) }, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			id, at := storetest.CreateOwner(ctx, t, s, test.plan), lastSlot()
			commit(ctx, t, s, spentAt(at.Add(-time.Minute), id, 1, free/2))
			storetest.ChangeAccount(ctx, t, s, id, test.change)
			commit(ctx, t, s, spentAt(at, id, 2, free/2))
			if got := noticesIn(ctx, t, s, monthOf(at), id); len(got) != test.want {
				t.Errorf("noticed %v percent, want %d of 80 and 100", got, test.want)
			}
		})
	}
}

// A subscription begins at any time, and a slot every ten seconds.
func TestNotices_PeriodThatBeginsWithinASlotIsSeen(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id, at := storetest.CreateOwner(ctx, t, s, plan.Free), nextMonth()
	storetest.ChangeAccount(ctx, t, s, id, func(a *accountdb.Account) { a.Cycle.Anchor = at.Add(3 * time.Second) })
	used := spent(id, 1, plan.Must(plan.Free).Included)
	used.Slot, used.Lines[0].Period = at, at.Format(time.DateOnly)
	commit(ctx, t, s, used)
	if got := noticesIn(ctx, t, s, at.Format(time.DateOnly), id); len(got) != 2 {
		t.Errorf("noticed %v percent, want 80 and 100", got)
	}
}

func TestNotices_StayOpenUntilTheyHaveAResult(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id := storetest.CreateOwner(ctx, t, s, plan.Free)
	commit(ctx, t, s, spent(id, 1, plan.Must(plan.Free).Included))
	of := usagedb.UsagePeriod{Account: id, Period: november}
	eighty, all := usagedb.NoticeID{UsagePeriod: of, Percent: 80}, usagedb.NoticeID{UsagePeriod: of, Percent: 100}
	open := func(stale time.Duration) int {
		t.Helper()
		return len(storetest.Must[[]usagedb.UsageNotice](t)(s.OpenNotices(ctx, stale, 10)))
	}
	if got := len(storetest.Must[[]usagedb.UsageNotice](t)(s.OpenNotices(ctx, time.Hour, 1))); got != 1 {
		t.Errorf("a page of one has %d", got)
	}
	if got := len(storetest.Must[[]usagedb.UsageNotice](t)(s.OpenNotices(ctx, time.Hour, math.MaxInt))); got != 2 {
		t.Errorf("a page of any size has %d", got)
	}
	for _, id := range []usagedb.NoticeID{eighty, all} {
		if err := s.StartNotice(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	if fresh, stale := open(time.Hour), open(0); fresh != 0 || stale != 2 {
		t.Errorf("%d notices that were started are open at once and %d when they are overdue, want 0 and 2", fresh,
			stale)
	}
	if got := storetest.Must[string](t)(s.EndNotice(ctx, eighty, "delivered", true)); got != "delivered" {
		t.Errorf("ended with %q, want delivered", got)
	}
	if got := storetest.Must[string](t)(s.EndNotice(ctx, eighty, "failed", false)); got != "delivered" {
		t.Errorf("ended again with %q, want the first result", got)
	}
	if got := storetest.Must[string](t)(s.EndNotice(ctx, all, "no_recipient", false)); got != "no_recipient" {
		t.Errorf("ended with %q, want no_recipient", got)
	}
	if got := open(0); got != 0 {
		t.Errorf("%d notices with a result are open", got)
	}
	if n := storetest.Must[usagedb.UsageNotice](t)(s.FindNotice(ctx, eighty)); n.DeliveredAt.IsZero() ||
		n.StartedAt.IsZero() {
		t.Errorf("the delivered notice is %+v", n)
	}
	if n := storetest.Must[usagedb.UsageNotice](t)(s.FindNotice(ctx, all)); !n.DeliveredAt.IsZero() {
		t.Errorf("a notice that reached nobody says it was delivered at %s", n.DeliveredAt)
	}
	if _, err := s.EndNotice(ctx, usagedb.NoticeID{
		UsagePeriod: usagedb.UsagePeriod{Account: account.NewID(), Period: november}, Percent: 80,
	}, "failed", false); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("ending what is not there gave %v", err)
	}
}
