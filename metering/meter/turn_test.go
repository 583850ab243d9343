package meter_test

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
)

// A plan takes over with the next period by Redis' clock, even when no push comes: quota, window,
// supply, data and packs are the next plan's from the boundary's millisecond on.
func TestPeriod_AnotherPlanTakesOverWithIt(t *testing.T) {
	t.Parallel()
	b := setupMini(t)
	c := b.client(t, func(a *account.AccountLimits, _ *account.KeyLimits) {
		a.Rate, a.Supply, a.Data = account.RateWindow{Limit: 9, Per: time.Second}, plan.Premium, true
		a.Current.Quota, a.Next.Quota = 100_000, 2000
		a.Following = &account.Figures{
			Rate: account.RateWindow{Limit: 2, Per: 2 * time.Second}, Supply: plan.Public, DrawsPacks: true,
		}
		a.Packs = []account.Pack{{ID: account.NewPackID(), Units: 500, Expires: a.Next.End}}
	})
	data := charge(1000)
	data.Service = "data"
	b.mini.SetTime(c.account.Current.End.Add(-time.Millisecond))
	for range 3 {
		if r := b.mustAdmit(t, c, data); r.Period != c.account.Current.Key() {
			t.Errorf("charged to %s", r.Period)
		}
	}
	if a := b.admit(t, c, charge(1)); a.Supply != plan.Premium {
		t.Errorf("supply is %q before the boundary", a.Supply)
	}

	b.mini.SetTime(c.account.Current.End)
	b.seedPeriod(t, c, c.account.Next.Key(), figure{})
	b.seedCounters(t, c, figure{}, account.Counter{Source: c.account.Packs[0].ID.Source()})
	if a := b.admit(t, c, charge(1)); a.Supply != plan.Public || a.Receipt.Period != c.account.Next.Key() {
		t.Errorf("the next plan gives %+v", a)
	}
	b.mustRefuse(t, c, data, "plan_lacks_service")
	b.mini.SetTime(c.account.Current.End.Add(time.Minute))
	b.mustAdmit(t, c, charge(1999)) // to the end of the quota
	b.mustAdmit(t, c, charge(500))  // from the pack
	if a := b.mustRefuse(t, c, charge(1), "rate_window"); a.Limit != 2 {
		t.Errorf("the window is %+v", a)
	}
	b.mini.SetTime(c.account.Current.End.Add(2 * time.Minute))
	b.mustRefuse(t, c, charge(1), "plan_quota")
}

// The other way round: a plan with a soft ceiling takes over, which refuses nothing and does not
// draw packs.
func TestPeriod_SoftPlanTakesOverWithIt(t *testing.T) {
	t.Parallel()
	b := setupMini(t)
	c := b.client(t, func(a *account.AccountLimits, _ *account.KeyLimits) {
		a.Current.Quota = 1000
		a.Following = &account.Figures{
			Rate: account.RateWindow{Limit: 30, Per: time.Second}, SoftCeiling: 3000,
			SoftRate: account.RateWindow{Limit: 1, Per: time.Second}, Data: true,
		}
		a.Packs = []account.Pack{{ID: account.NewPackID(), Units: 500, Expires: a.Next.End}}
	})
	data := charge(1000)
	data.Service = "data"
	b.mustRefuse(t, c, data, "plan_lacks_service")
	b.mini.SetTime(c.account.Current.End)
	b.seedPeriod(t, c, c.account.Next.Key(), figure{})
	for range 3 {
		if r := b.mustAdmit(t, c, data); r.Sources != account.SourcePlan {
			t.Errorf("drawn from %s", r.Sources)
		}
	}
	b.mini.SetTime(c.account.Current.End.Add(time.Minute))
	b.mustAdmit(t, c, charge(1))
	b.mustRefuse(t, c, charge(1), "rate_window")
}
