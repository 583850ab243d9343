package activities_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
)

// oddStripe changes the snapshots of a Stripe and counts refunds and cancellations.
type oddStripe struct {
	activities.Stripe

	tell   func(*subscription.Snapshot)
	undone int
	taxes  error
}

func (s *oddStripe) Snapshot(ctx context.Context, customer string) (subscription.Snapshot, error) {
	all, err := s.Stripe.Snapshot(ctx, customer)
	if err == nil {
		s.tell(&all)
	}
	return all, err
}

func (s *oddStripe) CancelNow(context.Context, string, string) error {
	s.undone++
	return nil
}

func (s *oddStripe) RefundPayment(context.Context, string, string) error {
	s.undone++
	return nil
}

func (s *oddStripe) SetTax(context.Context, string, bool) error { return s.taxes }

// A payment that contradicts its pack grants nothing and is shown; everything else that the account
// bought is in force.
func TestReconcile_ContradictoryPaymentHoldsUpNothingElse(t *testing.T) {
	t.Parallel()
	s := openBillingEnv(t)
	b := s.customer("US")
	b.buy("first", "pack_s")
	b.buy("plan", "pro_monthly")
	odd := &oddStripe{Stripe: s.way, tell: func(all *subscription.Snapshot) {
		for id, change := range map[string]func(*subscription.Payment){
			"pi_little": func(p *subscription.Payment) { p.Amount = 999 },
			"pi_yen":    func(p *subscription.Payment) { p.Currency = "jpy" },
		} {
			p := subscription.Payment{
				ID: id, Item: "pack_s", Succeeded: true, Amount: 1000, Currency: "usd", CreatedAt: time.Now(),
			}
			change(&p)
			all.Payments = slices.Insert(all.Payments, 0, p)
		}
	}}
	activity := s.newBilling(nil)
	activity.Stripe = odd
	known, err := activity.Reconcile(s.ctx, b.id)
	slices.Sort(known.Odd)
	require.NoError(t, err)
	expect.Equal(t, known.Plan, plan.Pro)
	expect.EqualSlices(t, known.Odd, []string{"pi_little", "pi_yen"})
	packs, err := s.store.ListPacks(s.ctx, b.id)
	s.must(err)
	if len(packs) != 1 || packs[0].Kind != "pack_s" {
		t.Fatalf("granted are %+v", packs)
	}
	// What was granted is not checked against later data of its payment.
	odd.tell = func(all *subscription.Snapshot) {
		for i := range all.Payments {
			all.Payments[i].Amount = 1
		}
	}
	if known, err := activity.Reconcile(s.ctx, b.id); err != nil || len(known.Odd) > 0 {
		t.Errorf("with another price: %+v, %v", known, err)
	}
}

// A subscription that somebody created by hand at Stripe is neither cancelled nor refunded, and
// entitles the account only to its own plan.
func TestReconcile_LeavesSubscriptionsMadeByHandAlone(t *testing.T) {
	t.Parallel()
	s := openBillingEnv(t)
	b := s.customer("US")
	b.buy("plan", "pro_monthly")
	foreign := subscription.Subscription{
		ID: "sub_hand", Status: subscription.Active, Price: "price_consulting", StartedAt: time.Now().AddDate(0, -3, 0),
		PeriodEnd: time.Now().AddDate(0, 0, 5),
	}
	odd := &oddStripe{Stripe: s.way, tell: func(all *subscription.Snapshot) {
		all.Subscriptions = append(all.Subscriptions, foreign)
	}}
	activity := s.newBilling(nil)
	activity.Stripe = odd
	known, err := activity.Reconcile(s.ctx, b.id)
	require.NoError(t, err)
	expect.Equal(t, known.Plan, plan.Pro)
	expect.NotEqual(t, known.Subscription, foreign.ID)
	expect.AtMost(t, odd.undone, 0)
	own := s.customer("US")
	foreign.ID, foreign.Plan = "sub_own", plan.Growth
	activity.Stripe = &oddStripe{Stripe: s.way, tell: func(all *subscription.Snapshot) {
		all.Subscriptions = append(all.Subscriptions, foreign)
	}}
	if known, err := activity.Reconcile(s.ctx, own.id); err != nil || known.Plan != plan.Growth {
		t.Errorf("a price of its own for a plan of ours: %+v, %v", known, err)
	}
}

// A failure to set the tax does not delay the plan and the packs.
func TestReconcile_TaxThatCannotBeSetHoldsUpNoPlan(t *testing.T) {
	t.Parallel()
	s := openBillingEnv(t)
	b := s.customer("US")
	// taxed, though the country wants none
	b.must(s.server.Pay(b.open("plan", "pro_monthly", true).Session, stripe.Visa))
	activity := s.newBilling(nil)
	activity.Stripe = &oddStripe{
		Stripe: s.way, tell: func(*subscription.Snapshot) {}, taxes: errors.New("the rate is gone"),
	}
	if _, err := activity.Reconcile(s.ctx, b.id); err == nil {
		t.Error("nobody hears of the tax")
	}
	if a, err := s.store.LoadAccount(s.ctx, b.id); err != nil || a.Plan != plan.Pro {
		t.Errorf("the plan is %s, %v", a.Plan, err)
	}
}

// A customer that was deleted at Stripe has no subscription any more.
func TestReconcile_DeletedCustomerHasNoPlan(t *testing.T) {
	t.Parallel()
	s := openBillingEnv(t)
	b := s.customer("US")
	b.buy("plan", "pro_monthly")
	activity := s.newBilling(nil)
	if known, err := activity.Reconcile(s.ctx, b.id); err != nil || known.Plan != plan.Pro {
		t.Fatalf("%+v, %v", known, err)
	}
	activity.Stripe = &oddStripe{Stripe: s.way, tell: func(all *subscription.Snapshot) {
		*all = subscription.Snapshot{Customer: all.Customer, ReadAt: all.ReadAt, Deleted: true}
	}}
	for range 2 {
		known, err := activity.Reconcile(s.ctx, b.id)
		require.NoError(t, err)
		expect.Equal(t, known.Plan, plan.Free)
		expect.False(t, known.Lasts)
	}
	last, err := s.store.LastSubscription(s.ctx, b.id)
	require.NoError(t, err)
	expect.Equal(t, last.Status, subscription.Canceled)
	expect.False(t, last.EndedAt.IsZero())
}

// Somebody replaces the price of a subscription at Stripe, and the subscription ends there. The
// worker dies before or after every step, and another one ends the plan. A second subscription next
// to it then counts, and packs are granted.
func TestReconcile_EndsSubscriptionWhosePriceWasReplacedDespiteCrashes(t *testing.T) {
	t.Parallel()
	s := openBillingEnv(t)
	steps := 1
	for at := 0; at <= steps; at++ { // 0 does not die, and counts the steps
		b := s.customer("US")
		b.buy("plan", "pro_monthly")
		b.reconciles(nil, plan.Pro, "")
		swap := func(all *subscription.Snapshot) {
			all.Subscriptions[0].Price, all.Subscriptions[0].Plan = "price_x", ""
		}
		b.reconciles(swap, plan.Pro, "price_x")
		b.buy("pack", "pack_s")
		over := func(all *subscription.Snapshot) {
			swap(all)
			all.Subscriptions[0].Status, all.Subscriptions[0].EndedAt = subscription.Canceled,
				all.ReadAt.Truncate(time.Second)
		}
		d := &dying{at: at, after: at%2 == 0}
		activity := s.newBilling(d)
		activity.Stripe = &oddStripe{Stripe: dyingStripe{s.way, d}, tell: over}
		if _, err := activity.Reconcile(s.ctx, b.id); (err != nil) != (at > 0) {
			t.Errorf("step %d: %v", at, err)
		}
		if at == 0 {
			steps = d.n
		}
		b.reconciles(over, plan.Free, "")
		packs, err := s.store.ListPacks(s.ctx, b.id)
		s.must(err)
		last, err := s.store.LastSubscription(s.ctx, b.id)
		in := expect.In(t, "step %d", at)
		require.NoError(in, err)
		expect.Equal(in, last.Status, subscription.Canceled)
		expect.False(in, last.EndedAt.IsZero())
		expect.Equal(in, last.Price, "pro_monthly")
		expect.Len(in, packs, 1)
	}
	if steps < 6 {
		t.Errorf("only %d steps", steps)
	}
	b := s.customer("US")
	b.buy("plan", "pro_monthly")
	b.reconciles(nil, plan.Pro, "")
	b.buy("pack", "pack_s")
	now := time.Now()
	beside := subscription.Subscription{
		ID: "sub_beside", Status: subscription.Active, Price: "growth_monthly", StartedAt: now, PeriodStart: now,
		PeriodEnd: now.AddDate(0, 1, 0),
	}
	for range 2 {
		b.reconciles(func(all *subscription.Snapshot) {
			all.Subscriptions[0].Price, all.Subscriptions[0].Plan = "price_x", ""
			all.Subscriptions = append(all.Subscriptions, beside)
		}, plan.Growth, "")
	}
	if packs, err := s.store.ListPacks(s.ctx, b.id); err != nil || len(packs) != 1 {
		t.Errorf("%d packs, %v", len(packs), err)
	}
}

// A former subscription that lasts next to the one that counts is shown and never refunded, even
// when its price is corrected: its owner may have paid for months.
func TestReconcile_ShowsAFormerSubscriptionAndDoesNotRefundIt(t *testing.T) {
	t.Parallel()
	s := openBillingEnv(t)
	b := s.customer("US")
	b.buy("plan", "pro_monthly")
	b.reconciles(nil, plan.Pro, "")
	first, err := s.store.LastSubscription(s.ctx, b.id)
	s.must(err)
	now := time.Now()
	beside := subscription.Subscription{
		ID: "sub_beside" + b.id.String(), Status: subscription.Active, Price: "growth_monthly", StartedAt: now,
		PeriodStart: now, PeriodEnd: now.AddDate(0, 1, 0),
	}
	for name, price := range map[string]string{"another price": "price_x", "mended": first.Price} {
		for range 2 {
			told := &oddStripe{Stripe: b.way, tell: func(all *subscription.Snapshot) {
				all.Subscriptions[0].Price, all.Subscriptions[0].Plan = "price_x", ""
				all.Subscriptions = append(all.Subscriptions, beside)
			}}
			activity := b.newBilling(nil)
			activity.Stripe = told
			if _, err := activity.Reconcile(b.ctx, b.id); err != nil { // from here on the second one counts
				t.Fatal(err)
			}
			told.tell = func(all *subscription.Snapshot) {
				if all.Subscriptions[0].Price = price; price == "price_x" {
					all.Subscriptions[0].Plan = ""
				}
				all.Subscriptions = append(all.Subscriptions, beside)
			}
			known, err := activity.Reconcile(b.ctx, b.id)
			in := expect.In(t, "%s", name)
			require.NoError(in, err)
			expect.Equal(in, known.Plan, plan.Growth)
			expect.Equal(in, known.Subscription, beside.ID)
			expect.AtMost(in, told.undone, 0)
			expect.EqualSlices(in, known.Beside, []string{first.ID})
			if c, err := s.store.FindCustomer(s.ctx, b.id); err != nil || c.Beside != 1 {
				t.Errorf("%s: operators see %d beside it, %v", name, c.Beside, err)
			}
		}
	}
	b.reconciles(func(all *subscription.Snapshot) {
		all.Subscriptions[0].Status, all.Subscriptions[0].EndedAt = subscription.Canceled,
			all.ReadAt.Truncate(time.Second)
		all.Subscriptions = append(all.Subscriptions, beside)
	}, plan.Growth, "")
	if c, err := s.store.FindCustomer(s.ctx, b.id); err != nil || c.Beside != 0 {
		t.Errorf("once it is over operators see %d beside it, %v", c.Beside, err)
	}
}

// reconciles verifies the plan in force, and that nothing was reversed at Stripe.
func (b *customer) reconciles(tell func(*subscription.Snapshot), want, odd string) {
	b.t.Helper()
	if tell == nil {
		tell = func(*subscription.Snapshot) {}
	}
	told := &oddStripe{Stripe: b.way, tell: tell}
	activity := b.newBilling(nil)
	activity.Stripe = told
	known, err := activity.Reconcile(b.ctx, b.id)
	require.NoError(b.t, err)
	expect.Equal(b.t, known.Plan, want)
	expect.Equal(b.t, known.OddPrice, odd)
	expect.Equal(b.t, known.Lasts, want != plan.Free)
	expect.AtMost(b.t, told.undone, 0)
}
