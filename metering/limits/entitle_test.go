package limits_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
)

// What is bought is in force when Entitle returns: used units count in a larger plan, and the meter
// knows the next plan before it takes over.
func TestEntitlement_IsInForceAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Free, account.Unlimited)
	subject := b.identify(t, h)
	if a := b.admit(t, subject, charge(1_000_000*plan.Unit)); !a.Admitted {
		t.Fatalf("%+v", a)
	}
	if a := b.admit(t, subject, charge(plan.Unit)); a.Refused != "plan_quota" {
		t.Fatalf("past the Free plan: %+v", a)
	}
	now := b.now(t)
	began, ends := now.AddDate(0, 0, -10).Truncate(time.Millisecond),
		now.Add(3*time.Second).Truncate(time.Millisecond)
	e := subscription.Entitlement{
		Plan: plan.Pro, Cycle: plan.Cycle{Anchor: began, Ends: ends}, Next: plan.Free, NextFrom: ends,
	}
	entitled, err := b.limits.Entitle(b.ctx, h.account.ID, e, author)
	require.NoError(t, err)
	require.Equal(t, entitled.Plan, plan.Pro)
	require.Equal(t, entitled.NextPlan, plan.Free)
	a := b.admit(t, subject, charge(plan.Unit))
	if b.now(t).Before(ends) {
		in := expect.In(t, "with the larger plan")
		expect.True(in, a.Admitted)
		expect.Equal(in, a.Supply, plan.Premium)
		expect.Equal(in, a.Receipt.Period, (account.Period{Start: began}).Key())
	}
	again, err := b.limits.Entitle(b.ctx, h.account.ID, e, author)
	if err != nil || again.Version != entitled.Version {
		t.Errorf("the same once more made version %d of %d: %v", again.Version, entitled.Version, err)
	}
	testkit.Eventually(t, testTimeout, func() bool { return !b.now(t).Before(ends) }, "the end")
	a = b.admit(t, subject, charge(plan.Unit))
	in := expect.In(t, "from the end")
	expect.True(in, a.Admitted)
	expect.Equal(in, a.Supply, plan.Public)
	expect.Equal(in, a.Receipt.Period, (account.Period{Start: ends}).Key())
	ended, err := b.store.ListEndedPeriods(b.ctx, h.account.ID)
	if err != nil || len(ended) > 1 {
		t.Errorf("cut periods: %+v, %v", ended, err)
	}
}

// Stripe does not change a contract, except for its periods.
func TestEntitlement_LeavesAContractAlone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Free, account.Unlimited)
	custom := account.Custom{Quota: 7 * plan.Unit, Rate: account.RateWindow{Limit: 5, Per: time.Second}}
	if _, err := b.limits.SetEnterprise(b.ctx, h.account.ID, custom, author); err != nil {
		t.Fatal(err)
	}
	got, err := b.limits.Entitle(b.ctx, h.account.ID, subscription.Entitlement{
		Plan: plan.Free, Cycle: plan.Cycle{Anchor: b.now(t)},
	}, author)
	require.NoError(t, err)
	expect.Equal(t, got.Plan, plan.Enterprise)
	require.NotNil(t, got.Custom)
	expect.Equal(t, *got.Custom, custom)
	expect.Equal(t, got.NextPlan, "")
}

// A pack whose payment was returned is not drawn after VoidPack returned, and no more than it held
// was drawn before.
func TestEntitlement_VoidPackIsDrawnNoMore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	h := b.holder(t, plan.Free, account.Unlimited)
	custom := account.Custom{Quota: plan.Unit, Rate: account.RateWindow{Limit: 1_000_000, Per: time.Second}}
	if _, err := b.limits.SetEnterprise(b.ctx, h.account.ID, custom, author); err != nil {
		t.Fatal(err)
	}
	subject := b.identify(t, h)
	now := b.now(t)
	grant := func() (accountdb.Pack, bool) {
		p, fresh, err := b.limits.GrantPack(b.ctx, accountdb.Pack{
			Pack:    account.Pack{ID: account.NewPackID(), Units: 100_000 * plan.Unit, Expires: now.AddDate(1, 0, 0)},
			Account: h.account.ID, Kind: "pack_s", Origin: "payment/pi_1", GrantedAt: now,
		}, author)
		if err != nil {
			t.Fatal(err)
		}
		return p, fresh
	}
	pack, _ := grant()
	for range 9 {
		if again, fresh := grant(); fresh || again.ID != pack.ID {
			t.Fatalf("granted twice for one payment: %+v", again)
		}
	}
	if a := b.admit(t, subject, charge(plan.Unit)); !a.Admitted {
		t.Fatalf("%+v", a)
	}
	var drawn, after atomic.Int64
	var void atomic.Bool
	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			for after.Load() < 8 {
				known := void.Load()
				_, a, err := b.limits.AdmitOrLoad(b.ctx, subject, charge(plan.Unit))
				switch {
				case err != nil:
					t.Error(err)
					return
				case a.Admitted && known:
					t.Error("drawn from a void pack")
					return
				case a.Admitted:
					drawn.Add(1)
				case known:
					after.Add(1)
				}
			}
		})
	}
	for drawn.Load() < 50 { // so that units are being drawn
		if t.Failed() {
			t.FailNow()
		}
	}
	voided, fresh, err := b.limits.VoidPack(b.ctx, "payment/pi_1", "the payment was refunded", author)
	require.NoError(t, err)
	require.True(t, fresh)
	require.False(t, voided.VoidedAt.IsZero())
	require.False(t, voided.Expires.After(voided.VoidedAt), voided.Expires, voided.VoidedAt)
	void.Store(true)
	load.Wait()
	if _, again, err := b.limits.VoidPack(b.ctx, "payment/pi_1", "once more", author); err != nil || again {
		t.Errorf("void twice: %v, %v", again, err)
	}
	b.flushAll(t)
	owner, err := b.store.LoadAccount(b.ctx, h.account.ID)
	if err != nil {
		t.Fatal(err)
	}
	if used := owner.Packs[0].Used; used != plan.Units(drawn.Load())*plan.Unit || used > owner.Packs[0].Units {
		t.Errorf("%s were drawn, %d admitted", used, drawn.Load())
	}
	if again, fresh := grant(); fresh || again.VoidedAt.IsZero() {
		t.Errorf("the same payment buys again: %+v", again)
	}
	if _, _, err := b.limits.VoidPack(b.ctx, "payment/pi_2", "nothing", author); err == nil {
		t.Error("a payment that bought nothing is void")
	}
}
