package account_test

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
)

func TestPlanLimits_CoverThisMonthAndTheNext(t *testing.T) {
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
		t.Run(tc.current, func(t *testing.T) {
			f := account.Terms{Plan: plan.Must(plan.Pro)}.Limits(id, 7, account.Active, account.ServiceLimits{}, nil,
				tc.at)
			in := expect.In(t, "%s", tc.at)
			expect.Equal(in, f.Current.Key(), tc.current)
			expect.Equal(in, f.Next.Key(), tc.next)
			expect.Equal(in, f.Next.End.Format(time.DateOnly), tc.last)
			in = expect.In(t, "%s: the periods do not meet around", tc.at)
			expect.True(in, f.Current.End.Equal(f.Next.Start), f.Current.End, f.Next.Start)
			expect.False(in, tc.at.Before(f.Current.Start), tc.at, f.Current.Start)
			expect.True(in, tc.at.Before(f.Current.End), tc.at, f.Current.End)
			in = expect.In(t, "%s", tc.at)
			expect.Equal(in, f.Account, id)
			expect.Equal(in, f.Version, 7)
			expect.Equal(in, f.Status, account.Active)
			expect.Equal(in, f.Current.Quota, f.Next.Quota)
		})
	}
}

func TestPlanLimits_ProjectTheQuotaOfEachPlan(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for _, p := range plan.All() {
		f := account.Terms{Plan: p}.Limits(account.NewID(), 1, account.Suspended, account.ServiceLimits{}, nil, at)
		var quota, daily, ceiling plan.Units
		switch p.Key {
		case plan.Door1:
			quota, daily = account.Unlimited, 10_000*plan.Unit
		case plan.Builder:
			quota, daily, ceiling = account.Unlimited, account.Unlimited, 20_000_000*plan.Unit
		default:
			quota, daily = p.Included, account.Unlimited
		}
		in := expect.In(t, "%s", p.Key)
		expect.Equal(in, f.Current.Quota, quota)
		expect.Equal(in, p.DailyQuota(), daily)
		expect.Equal(in, f.SoftCeiling, ceiling)
		expect.Equal(in, f.SoftRate.Limit > 0, ceiling > 0)
		expect.Equal(in, f.Rate, p.Rate.Window())
		expect.Greater(in, f.Rate.Limit, 0)
		expect.Greater(in, f.Rate.Per, 0)
		expect.Equal(in, f.Status, account.Suspended)
		expect.Equal(in, f.Data, p.Data)
	}
}

func TestPlanLimits_ProjectTheNextPlanBeforeItsPeriod(t *testing.T) {
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
		return terms.Limits(account.NewID(), 1, account.Active, account.ServiceLimits{}, packs, at)
	}
	f := project(down, at)
	in := expect.In(t, "before a smaller plan")
	expect.Equal(in, f.Current.Quota, 60_000_000*plan.Unit)
	expect.Equal(in, f.Next.Quota, pro.Included)
	require.NotNil(in, f.Following)
	expect.Equal(in, f.Following.Rate, pro.Rate)
	f = project(down, ends)
	in = expect.In(t, "after it took over")
	expect.Equal(in, f.Current.Quota, pro.Included)
	expect.Equal(in, f.Rate, pro.Rate)
	expect.Nil(in, f.Following)
	f = project(over, at)
	in = expect.In(t, "before an end")
	expect.Equal(in, f.Next.Quota, free.Included)
	expect.True(in, f.Current.End.Equal(ends), f.Current.End, ends)
	expect.Equal(in, f.Next.End, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	in = expect.In(t, "Builder leaves packs alone, Free draws them")
	require.NotNil(in, f.Following)
	expect.False(in, f.Following.Data)
	expect.False(in, f.DrawsPacks)
	expect.True(in, f.Following.DrawsPacks)
	expect.Len(in, f.Packs, 1)
	if f := project(later, at); f.Following != nil || f.Next.Quota != f.Current.Quota {
		t.Errorf("months before a smaller plan: %+v", f)
	}
}
