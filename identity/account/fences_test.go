package account_test

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
)

func TestPlanFences_CoverThisMonthAndTheNext(t *testing.T) {
	t.Parallel()
	utc := func(y int, m time.Month, d, h int) time.Time { return time.Date(y, m, d, h, 0, 0, 0, time.UTC) }
	id := account.NewID()
	for _, tc := range []struct {
		at                  time.Time
		current, next, last string
	}{
		{utc(2026, 11, 20, 9), "2026-11-01", "2026-12-01", "2027-01-01"},
		{utc(2026, 12, 31, 23), "2026-12-01", "2027-01-01", "2027-02-01"},
		{utc(2027, 1, 1, 0), "2027-01-01", "2027-02-01", "2027-03-01"},
		{utc(2027, 1, 31, 12), "2027-01-01", "2027-02-01", "2027-03-01"},
		{utc(2028, 2, 29, 23), "2028-02-01", "2028-03-01", "2028-04-01"},
		{utc(2028, 1, 31, 0), "2028-01-01", "2028-02-01", "2028-03-01"},
		{
			time.Date(2026, 12, 31, 22, 0, 0, 0, time.FixedZone("west", -5*3600)), "2027-01-01", "2027-02-01",
			"2027-03-01",
		},
		{time.Date(2027, 1, 1, 3, 0, 0, 0, time.FixedZone("east", 9*3600)), "2026-12-01", "2027-01-01", "2027-02-01"},
	} {
		f := account.Terms{Plan: plan.Must(plan.Pro)}.Fences(id, 7, account.Active, account.ServiceFences{}, nil, tc.at)
		if f.Current.Key() != tc.current || f.Next.Key() != tc.next || f.Next.End.Format(time.DateOnly) != tc.last {
			t.Errorf("%s: %+v then %+v", tc.at, f.Current, f.Next)
		}
		if !f.Current.End.Equal(f.Next.Start) || tc.at.Before(f.Current.Start) || !tc.at.Before(f.Current.End) {
			t.Errorf("%s: the periods do not meet around it", tc.at)
		}
		if f.Account != id || f.Version != 7 || f.Status != account.Active || f.Current.Quota != f.Next.Quota {
			t.Errorf("%s: %+v", tc.at, f)
		}
	}
}

func TestPlanFences_ProjectTheQuotaOfEachPlan(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for _, p := range plan.All() {
		f := account.Terms{Plan: p}.Fences(account.NewID(), 1, account.Suspended, account.ServiceFences{}, nil, at)
		var quota, daily, ceiling plan.Units
		switch p.Key {
		case plan.Door1:
			quota, daily = account.Unlimited, 10_000*plan.Unit
		case plan.Builder:
			quota, daily, ceiling = account.Unlimited, account.Unlimited, 20_000_000*plan.Unit
		default:
			quota, daily = p.Included, account.Unlimited
		}
		if f.Current.Quota != quota || p.DailyQuota() != daily || f.SoftCeiling != ceiling ||
			(f.SoftRate.Limit > 0) != (ceiling > 0) {
			t.Errorf("%s: quota %d, daily %d, ceiling %d", p.Key, f.Current.Quota, p.DailyQuota(), f.SoftCeiling)
		}
		if f.Rate != p.Rate.Window() || f.Rate.Limit <= 0 || f.Rate.Per <= 0 || f.Status != account.Suspended ||
			f.Data != p.Data {
			t.Errorf("%s: %+v", p.Key, f)
		}
	}
}

func TestPlanFences_ProjectTheNextPlanBeforeItsPeriod(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	ends := time.Date(2026, 2, 28, 10, 0, 0, 0, time.UTC)
	at := time.Date(2026, 2, 10, 0, 0, 0, 0, time.UTC)
	pro := plan.Must(plan.Pro)
	down := account.Terms{Plan: plan.Must(plan.Scale), Cycle: plan.Cycle{Anchor: began}, Next: &pro, NextFrom: ends}
	free := plan.Must(plan.Free)
	over := account.Terms{
		Plan: plan.Must(plan.Builder), Cycle: plan.Cycle{Anchor: began, Ends: ends}, Next: &free, NextFrom: ends,
	}
	later := down
	later.NextFrom = ends.AddDate(0, 6, 0)
	packs := []account.Pack{{ID: account.NewPackID(), Units: 1, Expires: ends.AddDate(1, 0, 0)}}
	project := func(terms account.Terms, at time.Time) account.AccountLimits {
		return terms.Fences(account.NewID(), 1, account.Active, account.ServiceFences{}, packs, at)
	}
	if f := project(down, at); f.Current.Quota != 60_000_000*plan.Unit || f.Next.Quota != pro.Included ||
		f.Following == nil || f.Following.Rate != pro.Rate {
		t.Errorf("before a smaller plan: %+v", f)
	}
	if f := project(down, ends); f.Current.Quota != pro.Included || f.Rate != pro.Rate || f.Following != nil {
		t.Errorf("after it took over: %+v", f)
	}
	f := project(over, at)
	if f.Next.Quota != free.Included || !f.Current.End.Equal(ends) || f.Next.End != time.Date(2026, 3, 1, 0, 0, 0, 0,
		time.UTC) {
		t.Errorf("before an end: %+v", f)
	}
	if f.Following == nil || f.Following.Data || f.DrawsPacks || !f.Following.DrawsPacks || len(f.Packs) != 1 {
		t.Errorf("Builder leaves packs alone, Free draws them: %+v", f)
	}
	if f := project(later, at); f.Following != nil || f.Next.Quota != f.Current.Quota {
		t.Errorf("months before a smaller plan: %+v", f)
	}
}
