package subscription_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/metering/plan"
)

var (
	began = time.Date(2026, 1, 31, 10, 0, 0, 0, time.UTC)
	ends  = time.Date(2026, 2, 28, 10, 0, 0, 0, time.UTC)
	now   = time.Date(2026, 2, 10, 0, 0, 0, 0, time.UTC)
)

func on(price string, change ...func(*subscription.Subscription)) *subscription.Subscription {
	s := &subscription.Subscription{
		ID: "sub_1", Status: subscription.Active, Price: price, StartedAt: began, PeriodStart: began, PeriodEnd: ends,
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func status(to subscription.Status) func(*subscription.Subscription) {
	return func(s *subscription.Subscription) { s.Status = to }
}

func cancelled(s *subscription.Subscription) { s.CancelAtPeriodEnd = true }

func held(s *subscription.Subscription) { s.Held, s.HeldUntil = "scale_monthly", ends }

func TestEntitlement_FollowsTheSubscription(t *testing.T) {
	t.Parallel()
	open, closed := plan.Cycle{Anchor: began}, plan.Cycle{Anchor: began, Ends: ends}
	for name, tc := range map[string]struct {
		sub  *subscription.Subscription
		at   time.Time
		want subscription.Entitlement
	}{
		"active": {on("pro_monthly"), now, subscription.Entitlement{Plan: plan.Pro, Cycle: open}},
		"by the year": {
			on("scale_yearly"), now, subscription.Entitlement{Plan: plan.Scale, Cycle: open},
		},
		"builder": {on("builder"), now, subscription.Entitlement{Plan: plan.Builder, Cycle: open}},
		"past due goes on": {
			on("pro_monthly", status(subscription.PastDue)), now, subscription.Entitlement{Plan: plan.Pro, Cycle: open},
		},
		"past due after the boundary": {
			on("pro_monthly", status(subscription.PastDue)), ends.Add(time.Hour),
			subscription.Entitlement{Plan: plan.Pro, Cycle: open},
		},
		"unpaid is free": {
			on("pro_monthly", status(subscription.Unpaid)), now, subscription.Entitlement{Plan: plan.Free, Cycle: open},
		},
		"cancelled at the end": {
			on("pro_monthly", cancelled), now, subscription.Entitlement{
				Plan: plan.Pro, Cycle: closed, Next: plan.Free, NextFrom: ends,
			},
		},
		"cancelled and over": {
			on("pro_monthly", cancelled), ends, subscription.Entitlement{Plan: plan.Free, Cycle: closed},
		},
		"downgrade waits": {
			on("pro_monthly", held), now, subscription.Entitlement{
				Plan: plan.Scale, Cycle: open, Next: plan.Pro, NextFrom: ends,
			},
		},
		"downgrade took over": {
			on("pro_monthly", held), ends, subscription.Entitlement{Plan: plan.Pro, Cycle: open},
		},
		"downgrade, then cancelled": {
			on("pro_monthly", held, cancelled), now, subscription.Entitlement{
				Plan: plan.Scale, Cycle: closed, Next: plan.Free, NextFrom: ends,
			},
		},
		"a price of its own": {
			on("price_x", func(s *subscription.Subscription) { s.Plan = plan.Growth }),
			now,
			subscription.Entitlement{Plan: plan.Growth, Cycle: open},
		},
		"unpaid, cancelled at the end": {
			on("pro_monthly", status(subscription.Unpaid), cancelled), now, subscription.Entitlement{
				Plan: plan.Free, Cycle: closed,
			},
		},
		"ended": {
			on("pro_monthly", status(subscription.Canceled), func(s *subscription.Subscription) {
				s.EndedAt = now
			}), ends,
			subscription.Entitlement{Plan: plan.Free, Cycle: plan.Cycle{Anchor: began, Ends: now}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := subscription.Entitle(tc.sub, tc.at); !ok || got != tc.want {
				t.Errorf("%+v (%v), want %+v", got, ok, tc.want)
			}
		})
	}
	for name, sub := range map[string]*subscription.Subscription{
		"none": nil, "of no plan of ours": on("price_x"),
		"first payment open": on("pro_monthly", status(subscription.Incomplete)),
		"never paid":         on("pro_monthly", status(subscription.IncompleteExpired)),
	} {
		t.Run(name, func(t *testing.T) {
			if e, ok := subscription.Entitle(sub, now); ok {
				t.Errorf("%s entitles to %+v", name, e)
			}
		})
	}
}

func TestSubscription_ChangesOfPlan(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		from    *subscription.Subscription
		to      string
		want    subscription.Change
		refused bool
	}{
		"up":                       {on("pro_monthly"), "scale_monthly", subscription.Upgrade, false},
		"up, by the year":          {on("pro_yearly"), "growth_yearly", subscription.Upgrade, false},
		"down":                     {on("scale_monthly"), "pro_monthly", subscription.Downgrade, false},
		"down to Builder":          {on("scale_monthly"), "builder", subscription.Downgrade, false},
		"from the month to a year": {on("pro_monthly"), "pro_yearly", subscription.Upgrade, false},
		"larger and by the year":   {on("pro_monthly"), "scale_yearly", subscription.Upgrade, false},
		"the same":                 {on("pro_monthly"), "pro_monthly", subscription.NoChange, false},
		"smaller and by the year":  {on("scale_monthly"), "pro_yearly", 0, true},
		"from a year to the month": {on("pro_yearly"), "scale_monthly", 0, true},
		"down, decided already":    {on("pro_monthly", held), "pro_monthly", subscription.NoChange, false},
		"down, taken back":         {on("pro_monthly", held), "scale_monthly", subscription.TakeBack, false},
		"down, and further":        {on("pro_monthly", held), "builder", subscription.Downgrade, false},
		"down, and not that far":   {on("builder", held), "pro_monthly", subscription.Downgrade, false},
		"down, then up":            {on("pro_monthly", held), "growth_monthly", 0, true},
		"up after the down": {
			on("pro_monthly", func(s *subscription.Subscription) { s.Held, s.HeldUntil = "scale_monthly", now }),
			"scale_monthly", subscription.Upgrade, false,
		},
		"past due":  {on("pro_monthly", status(subscription.PastDue)), "scale_monthly", 0, true},
		"unpaid":    {on("pro_monthly", status(subscription.Unpaid)), "scale_monthly", 0, true},
		"ended":     {on("pro_monthly", status(subscription.Canceled)), "scale_monthly", 0, true},
		"cancelled": {on("pro_monthly", cancelled), "scale_monthly", 0, true},
		"a pack":    {on("pro_monthly"), "pack_s", 0, true},
		"charged something else": {
			on("pro_monthly", func(s *subscription.Subscription) { s.OddPrice = "price_x" }), "scale_monthly", 0, true,
		},
		"the founding price": {on("scale_monthly"), "founding", 0, true},
		"no item":            {on("pro_monthly"), "free", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, refusal := tc.from.ChangeTo(tc.to, now)
			if got != tc.want || (refusal != nil) != tc.refused {
				t.Errorf("%d, %v", got, refusal)
			}
			if name == "down, then up" && refusal != nil &&
				(strings.Contains(refusal.Message, "_") ||
					!strings.Contains(refusal.Message, plan.Must(plan.Scale).Title)) {
				t.Errorf("people are told %q", refusal.Message)
			}
		})
	}
}

func TestSubscription_OnlyOneCounts(t *testing.T) {
	t.Parallel()
	one := func(id string, s subscription.Status, started, ended time.Time) subscription.Subscription {
		return subscription.Subscription{
			ID: id, Status: s, StartedAt: started, EndedAt: ended, Price: "pro_monthly", Checkout: "c",
		}
	}
	old, young := one("sub_a", subscription.Active, began, time.Time{}), one("sub_b", subscription.Active,
		began.Add(time.Second), time.Time{})
	gone, goneLater := one("sub_c", subscription.Canceled, began, now), one("sub_d", subscription.Canceled, began, ends)
	unpaid := one("sub_e", subscription.Incomplete, began.AddDate(-1, 0, 0), time.Time{})
	foreign, byHand := old, old
	foreign.ID, foreign.Price = "sub_f", "price_x"
	byHand.ID, byHand.Checkout, byHand.StartedAt = "sub_h", "", ends
	for name, tc := range map[string]struct {
		all      []subscription.Subscription
		recorded string
		want     string
		others   int
	}{
		"none":                        {nil, "sub_a", "", 0},
		"the oldest":                  {[]subscription.Subscription{gone, young, unpaid, old}, "", "sub_a", 1},
		"the recorded one":            {[]subscription.Subscription{old, young}, "sub_b", "sub_b", 1},
		"not the recorded one, ended": {[]subscription.Subscription{gone, young}, "sub_c", "sub_b", 0},
		"the last that ended":         {[]subscription.Subscription{gone, goneLater}, "sub_c", "sub_d", 0},
		"not one of another purpose":  {[]subscription.Subscription{foreign, young}, "sub_f", "sub_b", 0},
		"only one of another purpose": {[]subscription.Subscription{foreign}, "", "", 0},
		"one made by hand stays":      {[]subscription.Subscription{old, byHand}, "", "sub_a", 0},
		"only an unpaid one":          {[]subscription.Subscription{unpaid}, "", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := subscription.Snapshot{Subscriptions: tc.all}
			got := ""
			current := s.Current(tc.recorded)
			if current != nil {
				got = current.ID
			}
			if others := s.Others(current, nil); got != tc.want || len(others) != tc.others {
				t.Errorf("%q counts, %d others", got, len(others))
			}
		})
	}
	both := subscription.Snapshot{Subscriptions: []subscription.Subscription{old, young}}
	if others := both.Others(both.Current("sub_b"), []string{"sub_a"}); len(others) > 0 {
		t.Errorf("%s counted once and would be sent back", others[0].ID)
	}
}

func TestInvoices_FailAndPaymentsAreRefunded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		invoice subscription.Invoice
		want    bool
	}{
		"declined": {subscription.Invoice{Status: subscription.InvoiceOpen, Attempts: 1, Total: 100}, true},
		"given up": {
			subscription.Invoice{Status: subscription.InvoiceUncollectible, Attempts: 4, Total: 100}, true,
		},
		"not tried yet": {subscription.Invoice{Status: subscription.InvoiceOpen, Total: 100}, false},
		"paid at last": {
			subscription.Invoice{Status: subscription.InvoicePaid, Attempts: 2, Total: 100, Paid: 100}, false,
		},
		"void":              {subscription.Invoice{Status: subscription.InvoiceVoid, Attempts: 2, Total: 100}, false},
		"nothing to charge": {subscription.Invoice{Status: subscription.InvoiceOpen, Attempts: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.invoice.Failed(); got != tc.want {
				t.Errorf("failed is %v", got)
			}
		})
	}
	for name, tc := range map[string]struct {
		payment subscription.Payment
		want    bool
	}{
		"kept":     {subscription.Payment{Succeeded: true, Amount: 1200}, false},
		"in part":  {subscription.Payment{Succeeded: true, Amount: 1200, Refunded: 1199}, false},
		"whole":    {subscription.Payment{Succeeded: true, Amount: 1200, Refunded: 1200}, true},
		"disputed": {subscription.Payment{Succeeded: true, Amount: 1200, Disputed: true}, true},
		"never":    {subscription.Payment{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.payment.TakenBack(); got != tc.want {
				t.Errorf("taken back is %v", got)
			}
		})
	}
}

// Changing the price of a recorded subscription at Stripe ends no paid plan, and keeps none that is
// over.
func TestSubscription_RecordedOneKeepsItsPlanWhenListedLast(t *testing.T) {
	t.Parallel()
	of := func(id, price string, change ...func(*subscription.Subscription)) subscription.Subscription {
		s := on(price, change...)
		s.ID, s.Checkout = id, cmp.Or(s.Checkout, "c")
		if s.Checkout == "none" {
			s.Checkout = ""
		}
		return *s
	}
	byHand := func(s *subscription.Subscription) { s.Checkout = "none" }
	over := func(s *subscription.Subscription) { s.Status, s.EndedAt = subscription.Canceled, now }
	grown := of("sub_r", "price_own")
	grown.Plan = plan.Growth
	type want struct {
		id, odd, plan string // the current one, its odd price and the plan in force; empty for none
		ended         time.Time
	}
	for name, tc := range map[string]struct {
		recorded subscription.Subscription
		all      []subscription.Subscription
		want     want
	}{
		"charged something else": {
			of("sub_r", "pro_monthly"),
			[]subscription.Subscription{of("sub_r", "price_x")},
			want{"sub_r", "price_x", plan.Pro, time.Time{}},
		},
		"without a price": {
			of("sub_r", "pro_monthly"),
			[]subscription.Subscription{of("sub_r", "")},
			want{"sub_r", "none", plan.Pro, time.Time{}},
		},
		"its own price before": {
			grown, []subscription.Subscription{
				of("sub_r", "price_x"),
			}, want{"sub_r", "price_x", plan.Growth, time.Time{}},
		},
		"and not paid": {
			of("sub_r", "pro_monthly"), []subscription.Subscription{
				of("sub_r", "price_x", status(subscription.Unpaid)),
			}, want{"sub_r", "price_x", plan.Free, time.Time{}},
		},
		"and over": {
			of("sub_r", "pro_monthly"),
			[]subscription.Subscription{of("sub_r", "price_x", over)},
			want{"sub_r", "price_x", plan.Free, now},
		},
		"and over without a time": {
			of("sub_r", "pro_monthly"), []subscription.Subscription{
				of("sub_r", "price_x", status(subscription.Canceled)),
			}, want{"sub_r", "price_x", plan.Free, ends},
		},
		"and over, as is recorded": {
			of("sub_r", "pro_monthly", over),
			[]subscription.Subscription{of("sub_r", "price_x", over)},
			want{"sub_r", "price_x", plan.Free, now},
		},
		"charged ours again": {
			of("sub_r", "pro_monthly"),
			[]subscription.Subscription{of("sub_r", "scale_monthly")},
			want{"sub_r", "", plan.Scale, time.Time{}},
		},
		"not told of":           {of("sub_r", "pro_monthly"), nil, want{"sub_r", "", plan.Free, ends}},
		"not told of, and over": {of("sub_r", "pro_monthly", over), nil, want{"sub_r", "", plan.Free, now}},
		"beside one of ours": {
			of("sub_r", "pro_monthly"), []subscription.Subscription{
				of("sub_r", "price_x"), of("sub_n", "scale_monthly"),
			}, want{"sub_n", "", plan.Scale, time.Time{}},
		},
		"beside one that is not paid": {
			of("sub_r", "pro_monthly"), []subscription.Subscription{
				of("sub_r", "price_x"), of("sub_n", "scale_monthly", status(subscription.Unpaid), byHand),
			}, want{"sub_r", "price_x", plan.Pro, time.Time{}},
		},
		"beside one that is paused": {
			of("sub_r", "pro_monthly"), []subscription.Subscription{
				of("sub_r", "price_x"), of("sub_n", "scale_monthly", status(subscription.Paused), byHand),
			}, want{"sub_r", "price_x", plan.Pro, time.Time{}},
		},
		"beside one whose card failed": {
			of("sub_r", "pro_monthly"), []subscription.Subscription{
				of("sub_r", "price_x"), of("sub_n", "scale_monthly", status(subscription.PastDue), byHand),
			}, want{"sub_n", "", plan.Scale, time.Time{}},
		},
		"over here, another purpose": {
			of("sub_r", "pro_monthly", over), []subscription.Subscription{of("sub_r", "price_x")}, want{},
		},
		"nothing recorded": {
			subscription.Subscription{}, []subscription.Subscription{of("sub_r", "price_x")}, want{},
		},
		"beside one whose payment is due": {
			of("sub_r", "pro_monthly"), []subscription.Subscription{
				of("sub_n", "scale_monthly", status(subscription.Incomplete)), of("sub_r", "price_x"),
			}, want{"sub_r", "price_x", plan.Pro, time.Time{}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := subscription.Snapshot{Subscriptions: tc.all, ReadAt: ends}
			s.Keep(tc.recorded)
			current := s.Current(tc.recorded.ID)
			var got want
			if current != nil {
				e, _ := subscription.Entitle(current, now)
				got = want{current.ID, current.OddPrice, e.Plan, current.EndedAt}
			}
			if got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
			if others := s.Others(current, nil); len(others) > 0 {
				t.Errorf("%s would be cancelled and refunded", others[0].ID)
			}
			for i := range s.Subscriptions {
				if sub := &s.Subscriptions[i]; current != nil && sub.ID == "sub_r" && current.ID != sub.ID &&
					(!sub.Status.Over() || sub.EndedAt != ends) {
					t.Error("two would be recorded as lasting")
				}
			}
		})
	}
}
