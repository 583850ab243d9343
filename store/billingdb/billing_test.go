package billingdb_test

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/billingdb"
	"github.com/chainaccess/gateway/store/internal/storetest"
)

var billed = time.Date(2026, time.November, 22, 9, 0, 0, 0, time.UTC)

func newOwner(t *testing.T, s *store.Store) account.ID {
	t.Helper()
	a, err := s.CreateAccount(t.Context(), accountdb.NewAccount{
		ID: account.NewID(), Kind: accountdb.KindOwner, Plan: plan.Free,
	})
	if err != nil {
		t.Fatal(err)
	}
	return a.ID
}

func TestCustomer_FirstOneOfAnAccountStays(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id := newOwner(t, s)
	storetest.Must[billingdb.Customer](t)(s.PutCustomer(ctx, id, "cus_1", "AT"))
	c := storetest.Must[billingdb.Customer](t)(s.PutCustomer(ctx, id, "cus_2", "US"))
	in := expect.In(t, "another one took over")
	expect.Equal(in, c.ID, "cus_1")
	expect.Equal(in, c.Country, "AT")
	expect.Nil(in, c.Card)
	expect.True(in, c.ReadAt.IsZero())
	said := billingdb.Customer{
		Account: id, ID: "cus_1", Country: "CH", Card: &subscription.Card{
			Brand: "visa", Last4: "4242", ExpMonth: 12, ExpYear: 2030,
		}, ReadAt: billed,
	}
	if err := s.UpdateCustomer(ctx, said); err != nil {
		t.Fatal(err)
	}
	c = storetest.Must[billingdb.Customer](t)(s.FindCustomerByID(ctx, "cus_1"))
	in = expect.In(t, "it is kept")
	expect.Equal(in, c.Account, id)
	expect.Equal(in, c.Country, "CH")
	expect.Equal(in, *c.Card, *said.Card)
	expect.True(in, c.ReadAt.Equal(billed), c.ReadAt)
	if _, err := s.FindCustomer(ctx, account.NewID()); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a stranger has a customer: %v", err)
	}
}

// An assumed country stays assumed when a deleted customer is replaced; a different country was
// declared.
func TestCustomer_AssumedCountryStaysAssumedWithTheNextOne(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id := newOwner(t, s)
	c := storetest.Must[billingdb.Customer](t)(s.PutCustomer(ctx, id, "cus_1", ""))
	c.Assumed, c.Network = true, "US"
	if err := s.SetCustomerEvidence(ctx, &c, "US"); err != nil {
		t.Fatal(err)
	}
	c = storetest.Must[billingdb.Customer](t)(s.FindCustomer(ctx, id))
	in := expect.In(t, "assumed")
	expect.Equal(in, c.Country, "US")
	expect.Equal(in, c.Network, "US")
	expect.True(in, c.Assumed)
	if c := storetest.Must[billingdb.Customer](t)(s.ReplaceCustomer(ctx, id, "cus_1", "cus_2",
		"US")); c.ID != "cus_2" || !c.Assumed {
		t.Errorf("replaced by %+v", c)
	}
	if c := storetest.Must[billingdb.Customer](t)(s.ReplaceCustomer(ctx, id, "cus_2", "cus_3",
		"DE")); c.ID != "cus_3" || c.Assumed {
		t.Errorf("replaced by %+v of another country", c)
	}
}

func TestSubscription_OnlyOneLasts(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id, other := newOwner(t, s), newOwner(t, s)
	first := &subscription.Subscription{
		ID: "sub_1", Status: subscription.Active, Price: "pro_monthly", PriceCents: 7900, Founding: true,
		StartedAt: billed, PeriodStart: billed, PeriodEnd: billed.AddDate(0, 1, 0),
	}
	second := &subscription.Subscription{
		ID: "sub_2", Status: subscription.Active, Price: "scale_monthly",
		StartedAt: billed, PeriodStart: billed, PeriodEnd: billed,
	}
	if err := s.PutSubscription(ctx, id, first); err != nil {
		t.Fatal(err)
	}
	if err := s.PutSubscription(ctx, id, second); !errors.Is(err, billingdb.ErrSecondSubscription) {
		t.Errorf("a second one lasts beside it: %v", err)
	}
	if err := s.PutSubscription(ctx, other, first); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("it went to another account: %v", err)
	}
	if last := storetest.Must[subscription.Subscription](t)(s.LastSubscription(ctx, id)); last != *first {
		t.Errorf("kept as %+v, want %+v", last, *first)
	}
	first.Status, first.EndedAt, first.Held, first.HeldUntil, first.CancelAtPeriodEnd = subscription.Canceled,
		billed.AddDate(0, 1, 0), "scale_monthly", billed, true
	first.OddPrice = "price_x"
	if err := s.PutSubscription(ctx, id, first); err != nil {
		t.Fatal(err)
	}
	if last := storetest.Must[subscription.Subscription](t)(s.LastSubscription(ctx, id)); last != *first {
		t.Errorf("kept as %+v, want %+v", last, *first)
	}
	if err := s.PutSubscription(ctx, id, second); err != nil {
		t.Errorf("none follows one that ended: %v", err)
	}
	if last := storetest.Must[subscription.Subscription](t)(s.LastSubscription(ctx, id)); last.ID != "sub_2" {
		t.Errorf("%s counts", last.ID)
	}
}

func TestInvoices_StayWithTheirAccount(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id, other := newOwner(t, s), newOwner(t, s)
	open := subscription.Invoice{
		ID: "in_1", Number: "CAG-1", Subscription: "sub_1", Status: subscription.InvoiceOpen,
		Reason: "subscription_cycle", Currency: "usd", Net: 9900, VAT: 1980, Total: 11880, CreatedAt: billed,
		PeriodStart: billed, PeriodEnd: billed.AddDate(0, 1, 0), Attempts: 1, NextAttempt: billed.AddDate(0, 0, 3),
	}
	if err := s.PutInvoices(ctx, id, []subscription.Invoice{open}); err != nil {
		t.Fatal(err)
	}
	paid := open
	paid.Status, paid.Paid, paid.PaidAt, paid.NextAttempt, paid.Payment = subscription.InvoicePaid, 11880,
		billed.AddDate(0, 0, 3), time.Time{}, "pi_1"
	stolen := paid
	stolen.Number = "X"
	if err := errors.Join(s.PutInvoices(ctx, id, []subscription.Invoice{paid}),
		s.PutInvoices(ctx, other, []subscription.Invoice{stolen})); err != nil {
		t.Fatal(err)
	}
	if got := storetest.Must[subscription.Invoice](t)(s.FindInvoice(ctx, id, "in_1")); got != paid {
		t.Errorf("kept as %+v, want %+v", got, paid)
	}
	if _, err := s.FindInvoice(ctx, other, "in_1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another account sees it: %v", err)
	}
	wrong := open
	wrong.ID, wrong.VAT = "in_2", 1
	if err := s.PutInvoices(ctx, id, []subscription.Invoice{wrong}); err == nil {
		t.Error("an invoice that does not add up is kept")
	}
	for _, tc := range []struct {
		since, before time.Time
		want          int
	}{
		{billed, billed.Add(time.Second), 1},
		{billed.Add(time.Second), billed.AddDate(1, 0, 0), 0},
		{billed.AddDate(-1, 0, 0), billed, 0},
	} {
		t.Run(strconv.Itoa(tc.want), func(t *testing.T) {
			if list := storetest.Must[[]subscription.Invoice](t)(s.ListInvoices(ctx, id, tc.since, tc.before, 10)); len(
				list) != tc.want {
				t.Errorf("%d invoices from %s to %s", len(list), tc.since, tc.before)
			}
		})
	}
}

func newCheckout(id account.ID, item string, at time.Time) billingdb.Checkout {
	return billingdb.Checkout{
		ID: billingdb.NewCheckoutID(), Account: id, Item: item, OpenedAt: at, ExpiresAt: at.Add(time.Hour),
	}
}

// Open checkouts hold seats, and concurrent checkouts never take more seats than there are.
func TestSeats_AreNotGivenTwice(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	seats := plan.Founding().Seats
	opened := make(chan billingdb.Checkout, 2*seats)
	var asking sync.WaitGroup
	for range 8 {
		asking.Go(func() {
			for range seats / 4 {
				a, err := s.CreateAccount(ctx, accountdb.NewAccount{
					ID: account.NewID(), Kind: accountdb.KindOwner, Plan: plan.Free,
				})
				if err != nil {
					t.Error(err)
					return
				}
				c, err := s.OpenCheckout(ctx, newCheckout(a.ID, "founding", billed))
				if err == nil {
					opened <- c
				} else if _, refused := errors.AsType[*fault.Error](err); !refused {
					t.Error(err)
				}
			}
		})
	}
	asking.Wait()
	if taken := storetest.Must[int](t)(s.SeatsTaken(ctx)); taken != seats || len(opened) != seats {
		t.Fatalf("%d seats are taken, %d checkouts opened", taken, len(opened))
	}
	first, second := <-opened, <-opened
	storetest.Must[billingdb.Checkout](t)(s.EndCheckout(ctx, first.ID, billingdb.CheckoutExpired, billed))
	storetest.Must[billingdb.Checkout](t)(s.EndCheckout(ctx, second.ID, billingdb.CheckoutPaid, billed))
	if taken := storetest.Must[int](t)(s.SeatsTaken(ctx)); taken != seats-1 {
		t.Errorf("%d seats are taken after one was left and one paid", taken)
	}
	late := newOwner(t, s)
	if _, err := s.OpenCheckout(ctx, newCheckout(late, "founding", plan.Founding().Ends)); err == nil {
		t.Error("the offer goes on after its end")
	}
	storetest.Must[billingdb.Checkout](t)(s.OpenCheckout(ctx,
		newCheckout(late, "founding", plan.Founding().Ends.Add(-time.Second))))
}

func TestCheckout_EndsOnce(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id := newOwner(t, s)
	c := storetest.Must[billingdb.Checkout](t)(s.OpenCheckout(ctx, newCheckout(id, "pack_s", billed)))
	if err := s.SetCheckoutSession(ctx, c.ID, "cs_1"); err != nil {
		t.Fatal(err)
	}
	if err := s.SetCheckoutSession(ctx, c.ID, "cs_2"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("it has two sessions: %v", err)
	}
	if found := storetest.Must[billingdb.Checkout](t)(s.FindCheckoutBySession(ctx, "cs_1")); found.ID != c.ID ||
		found.State != billingdb.CheckoutOpen {
		t.Errorf("found %+v", found)
	}
	for _, step := range []struct{ to, want billingdb.CheckoutState }{
		{billingdb.CheckoutExpired, billingdb.CheckoutExpired},
		{billingdb.CheckoutFailed, billingdb.CheckoutExpired},
		{billingdb.CheckoutPaid, billingdb.CheckoutPaid},
		{billingdb.CheckoutExpired, billingdb.CheckoutPaid},
		{billingdb.CheckoutRefunded, billingdb.CheckoutRefunded},
		{billingdb.CheckoutPaid, billingdb.CheckoutRefunded},
	} {
		if c := storetest.Must[billingdb.Checkout](t)(s.EndCheckout(ctx, c.ID, step.to,
			billed)); c.State != step.want ||
			!c.EndedAt.Equal(billed) {
			t.Errorf("asked for %s it is %+v", step.to, c)
		}
	}
	for range 10 {
		storetest.Must[billingdb.Checkout](t)(s.OpenCheckout(ctx, newCheckout(id, "pack_s", billed)))
	}
	if _, err := s.OpenCheckout(ctx, newCheckout(id, "pack_s", billed)); err == nil {
		t.Error("any number may be open")
	}
	first := storetest.Must[[]billingdb.Checkout](t)(s.ListOpenCheckouts(ctx, billed.AddDate(0, 0, 1), nil, 6))
	rest := storetest.Must[[]billingdb.Checkout](t)(s.ListOpenCheckouts(ctx, billed.AddDate(0, 0, 1), &first[5], 6))
	if len(first) != 6 || len(rest) != 4 {
		t.Errorf("listed in pages of %d and %d", len(first), len(rest))
	}
}

func TestStripeEvent_IsKeptOnce(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	e := &billingdb.StripeEvent{
		ID: "evt_1", Type: "invoice.paid", APIVersion: "2023-10-16", Object: "in_1", Customer: "cus_1",
		CreatedAt: billed,
	}
	for i, want := range []bool{true, false, false} {
		if fresh := storetest.Must[bool](t)(s.RecordStripeEvent(ctx, e)); fresh != want {
			t.Errorf("time %d: fresh is %v", i+1, fresh)
		}
	}
	open := storetest.Must[[]billingdb.StripeEvent](t)(s.ListOpenStripeEvents(ctx, -time.Minute, 10))
	require.Len(t, open, 1)
	require.Equal(t, open[0].Customer, "cus_1")
	require.Equal(t, open[0].Object, "in_1")
	if young := storetest.Must[[]billingdb.StripeEvent](t)(s.ListOpenStripeEvents(ctx, time.Hour,
		10)); len(young) != 0 {
		t.Errorf("an hour ago came %+v", young)
	}
	if n := storetest.Must[int64](t)(s.DeleteStripeEvents(ctx, time.Now().AddDate(1, 0, 0), 10)); n != 0 {
		t.Error("an event that nobody has is deleted")
	}
	if err := s.MarkStripeEvent(ctx, "evt_1", "signalled"); err != nil {
		t.Fatal(err)
	}
	if open := storetest.Must[[]billingdb.StripeEvent](t)(s.ListOpenStripeEvents(ctx, -time.Minute,
		10)); len(open) != 0 {
		t.Errorf("still open: %+v", open)
	}
	if n := storetest.Must[int64](t)(s.DeleteStripeEvents(ctx, time.Now().AddDate(1, 0, 0), 10)); n != 1 {
		t.Errorf("%d were deleted", n)
	}
}

// A period that the beginning or end of a subscription cuts short is stored with the change,
// because its bounds no longer follow from the cycle.
func TestPeriod_CutIsRecorded(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id := newOwner(t, s)
	cycle := func(c plan.Cycle, at time.Time) {
		t.Helper()
		by := storetest.Operator
		by.At = at
		storetest.Must[accountdb.Account](t)(s.ChangeAccount(ctx, id, "cycle", by, func(a *accountdb.Account) error {
			a.Cycle = c
			return nil
		}))
	}
	began := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	ended := time.Date(2026, 5, 20, 6, 0, 0, 0, time.UTC)
	again := time.Date(2026, 5, 25, 0, 0, 0, 0, time.UTC)
	cycle(plan.Cycle{Anchor: began}, began.Add(time.Minute))
	cycle(plan.Cycle{Anchor: began, Ends: ended.AddDate(0, 0, 20)}, began.AddDate(0, 2, 1)) // cuts nothing yet
	cycle(plan.Cycle{Anchor: began, Ends: ended}, ended.Add(time.Second))
	cycle(plan.Cycle{Anchor: again}, again.Add(2*time.Second))
	cut := func(period string, start, end, at time.Time) accountdb.EndedPeriod {
		return accountdb.EndedPeriod{Account: id, Period: period, Start: start, End: end, Plan: plan.Free, Cut: at}
	}
	first, second := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 5, 10, 12, 0, 0, 0, time.UTC)
	want := []accountdb.EndedPeriod{
		cut("2026-03-01", first, began, began.Add(time.Minute)),
		cut("2026-05-10", second, ended, ended.Add(time.Second)),
		cut("2026-05-20", ended, again, again.Add(2*time.Second)),
	}
	got := storetest.Must[[]accountdb.EndedPeriod](t)(s.ListEndedPeriods(ctx, id))
	if len(got) != len(want) {
		t.Fatalf("recorded are %+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestPeriod_SubscriptionFromTheFirstCutsNothing(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id := newOwner(t, s)
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	by := storetest.Operator
	by.At = began.Add(time.Second)
	storetest.Must[accountdb.Account](t)(s.ChangeAccount(ctx, id, "cycle", by, func(a *accountdb.Account) error {
		a.Cycle = plan.Cycle{Anchor: began}
		return nil
	}))
	if got := storetest.Must[[]accountdb.EndedPeriod](t)(s.ListEndedPeriods(ctx, id)); len(got) != 0 {
		t.Errorf("a period whose name goes on is over: %+v", got)
	}
}
