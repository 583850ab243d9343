package stripe_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	api "github.com/stripe/stripe-go/v76"

	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

func TestFoundingOffer_TakesTwentyOffForTwelveMonths(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.customer(t, "DE")
	b.subscribe(t, u.ID, "pro_monthly", stripe.Visa, founding)
	b.Advance(start.AddDate(1, 1, 0))
	all := b.invoices(t, u.ID)
	if len(all) != 14 {
		t.Fatalf("%d invoices in thirteen months, want the first and thirteen", len(all))
	}
	for n, i := range all {
		net, tax := int64(7900), int64(1580)
		if n >= 12 {
			net, tax = 9900, 1980
		}
		in := expect.In(t, "invoice %d", n)
		expect.Equal(in, i.TotalExcludingTax, net)
		expect.Equal(in, i.Tax, tax)
		expect.Equal(in, i.Total, net+tax)
		expect.Equal(in, i.AmountPaid, i.Total)
		expect.Equal(in, i.Status, api.InvoiceStatusPaid)
	}
}

func TestSubscription_FromThe31stFallsBackAndReturns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	sub := b.subscribe(t, b.customer(t, "DE").ID, "pro_monthly", stripe.Visa)
	for _, want := range []string{"2026-02-28", "2026-03-31", "2026-04-30", "2026-05-31"} {
		if end := time.Unix(sub.CurrentPeriodEnd, 0).UTC(); end.Format(time.DateOnly) != want {
			t.Fatalf("period ends %s, want %s", end, want)
		}
		b.Advance(time.Unix(sub.CurrentPeriodEnd, 0))
		sub = b.subscription(t, sub.ID)
	}
	if sub.StartDate != start.Unix() || sub.BillingCycleAnchor != start.Unix() {
		t.Errorf("start %d and anchor %d moved from %d", sub.StartDate, sub.BillingCycleAnchor, start.Unix())
	}
}

func TestRenewal_IsADraftForAnHourAndNamesThePeriodsOfBoth(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.customer(t, "US")
	sub := b.subscribe(t, u.ID, "pro_monthly", stripe.Visa)
	end := time.Unix(sub.CurrentPeriodEnd, 0)
	b.Advance(end)
	i := b.invoices(t, u.ID)[1]
	in := expect.In(t, "at the boundary the invoice")
	expect.Equal(in, i.Status, api.InvoiceStatusDraft)
	expect.Equal(in, i.BillingReason, api.InvoiceBillingReasonSubscriptionCycle)
	expect.Equal(in, i.Number, "")
	expect.Equal(t, i.PeriodStart, start.Unix())
	expect.Equal(t, i.PeriodEnd, end.Unix())
	expect.Equal(t, i.Lines.Data[0].Period.Start, end.Unix())
	b.Advance(end.Add(time.Hour))
	if i := b.invoices(t, u.ID)[1]; i.Status != api.InvoiceStatusPaid || i.Number == "" {
		t.Errorf("an hour later it is %s, %q", i.Status, i.Number)
	}
}

func TestRenewal_DeclinedIsRetriedFourTimesAndThenUnpaid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.customer(t, "DE")
	sub := b.subscribe(t, u.ID, "pro_monthly", stripe.DeclinesLater)
	at := time.Unix(sub.CurrentPeriodEnd, 0).Add(time.Hour)
	for attempt, wait := range []int{0, 5, 7, 9} {
		at = at.AddDate(0, 0, wait)
		b.Advance(at.Add(-time.Second))
		if before := b.invoices(t, u.ID)[1]; before.AttemptCount != int64(attempt) {
			t.Fatalf("%d attempts before %s", before.AttemptCount, at)
		}
		b.Advance(at)
		if b.PayInvoice(b.invoices(t, u.ID)[1].ID) == nil { // attempts by people do not count
			t.Fatal("a card that is declined paid")
		}
		i, sub := b.invoices(t, u.ID)[1], b.subscription(t, sub.ID)
		want, next := api.SubscriptionStatusPastDue, true
		if attempt == 3 {
			want, next = api.SubscriptionStatusUnpaid, false
		}
		in := expect.In(t, "after attempt %d", attempt+1)
		require.Equal(in, i.AttemptCount, int64(attempt+1))
		require.Equal(in, i.Status, api.InvoiceStatusOpen)
		require.Equal(in, sub.Status, want)
		require.Equal(in, i.NextPaymentAttempt != 0, next)
	}
	// While unpaid, its invoices stay drafts and are not collected.
	b.Advance(start.AddDate(0, 3, 0))
	drafts := b.invoices(t, u.ID)[2:]
	in := expect.In(t, "invoices of an unpaid subscription")
	require.NotEmpty(in, drafts)
	require.Equal(in, drafts[0].Status, api.InvoiceStatusDraft)
	require.False(in, drafts[0].AutoAdvance)
	must(t, b.SetCard(u.ID, stripe.Mastercard))
	must(t, b.PayInvoice(b.invoices(t, u.ID)[1].ID))
	if sub := b.subscription(t, sub.ID); sub.Status != api.SubscriptionStatusActive {
		t.Errorf("paid, it is %s", sub.Status)
	}
}

func TestUpgrade_IsProratedToTheSecondAndPaidAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.customer(t, "DE")
	sub := b.subscribe(t, u.ID, "pro_monthly", stripe.Visa, founding)
	b.Advance(start.Add(14 * 24 * time.Hour)) // half of the 28 days to 28 February
	sub, err := b.api.Subscriptions.Update(sub.ID, b.move(t, sub, "scale_monthly", "always_invoice"))
	must(t, err)
	i := b.invoices(t, u.ID)[1]
	require.Equal(t, i.BillingReason, api.InvoiceBillingReasonSubscriptionUpdate)
	require.Len(t, i.Lines.Data, 2)
	require.Equal(t, i.Lines.Data[0].Amount, -3950)
	require.Equal(t, i.Lines.Data[1].Amount, 14950)
	expect.Equal(t, i.Subtotal, 11000)
	expect.Equal(t, i.Tax, 2200)
	expect.Equal(t, i.AmountPaid, 13200)
	if time.Unix(sub.CurrentPeriodStart, 0).UTC() != start {
		t.Error("the period moved")
	}
	b.Advance(time.Unix(sub.CurrentPeriodEnd, 0).Add(time.Hour))
	if i := b.invoices(t, u.ID)[2]; i.TotalExcludingTax != 29900 || len(i.TotalDiscountAmounts) != 0 {
		t.Errorf("next invoice is %d net with %d discounts", i.TotalExcludingTax, len(i.TotalDiscountAmounts))
	}
}

// move returns the parameters that change a subscription's price.
func (b *bundle) move(t *testing.T, sub *api.Subscription, key, prorate string) *api.SubscriptionParams {
	t.Helper()
	return &api.SubscriptionParams{
		Items:             []*api.SubscriptionItemsParams{{ID: new(sub.Items.Data[0].ID), Price: new(b.price(t, key))}},
		ProrationBehavior: new(prorate), PaymentBehavior: new("error_if_incomplete"),
	}
}

func TestUpgrade_DeclinedChangesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.customer(t, "DE")
	sub := b.subscribe(t, u.ID, "pro_monthly", stripe.DeclinesLater)
	_, err := b.api.Subscriptions.Update(sub.ID, b.move(t, sub, "scale_monthly", "always_invoice"))
	var refusal *api.Error
	require.True(t, errors.As(err, &refusal), err)
	require.Equal(t, refusal.HTTPStatusCode, http.StatusPaymentRequired)
	require.Equal(t, refusal.Code, api.ErrorCodeCardDeclined)
	after := b.subscription(t, sub.ID)
	in := expect.In(t, "after the refusal")
	expect.Equal(in, after.Items.Data[0].Price.LookupKey, "pro_monthly")
	expect.Equal(in, after.Status, api.SubscriptionStatusActive)
	expect.Len(in, b.invoices(t, u.ID), 1)
}

func TestDowngrade_WithoutProrationIsChargedFromTheNextPeriod(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.customer(t, "US")
	sub := b.subscribe(t, u.ID, "scale_monthly", stripe.Visa)
	p := b.move(t, sub, "pro_monthly", "none")
	p.AddMetadata("held", "scale_monthly")
	sub, err := b.api.Subscriptions.Update(sub.ID, p)
	must(t, err)
	if len(b.invoices(t, u.ID)) != 1 || sub.Metadata["held"] != "scale_monthly" {
		t.Fatalf("%d invoices, metadata %v", len(b.invoices(t, u.ID)), sub.Metadata)
	}
	b.Advance(time.Unix(sub.CurrentPeriodEnd, 0).Add(time.Hour))
	if i := b.invoices(t, u.ID)[1]; i.Subtotal != 9900 {
		t.Errorf("next invoice of %d", i.Subtotal)
	}
}

func TestUpgrade_MonthToYearBeginsANewCycleWithCredit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.customer(t, "US")
	sub := b.subscribe(t, u.ID, "scale_monthly", stripe.Visa, func(p *api.CheckoutSessionParams) {
		p.SubscriptionData = nil
	})
	now := start.Add(14 * 24 * time.Hour)
	b.Advance(now)
	sub, err := b.api.Subscriptions.Update(sub.ID, b.move(t, sub, "scale_yearly", "always_invoice"))
	must(t, err)
	expect.Equal(t, sub.CurrentPeriodStart, now.Unix())
	expect.Equal(t, sub.CurrentPeriodEnd, now.AddDate(1, 0, 0).Unix())
	expect.Equal(t, sub.StartDate, start.Unix())
	if i := b.invoices(t, u.ID)[1]; i.Total != 299000-14950 || i.AmountPaid != i.Total {
		t.Errorf("invoice of %d, paid %d", i.Total, i.AmountPaid)
	}
	b.Advance(now.AddDate(0, 11, 0))
	if n := len(b.invoices(t, u.ID)); n != 2 {
		t.Errorf("%d invoices within the year", n)
	}
}

func TestCancellation_AtPeriodEndEndsThereUnlessResumed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.customer(t, "DE")
	sub := b.subscribe(t, u.ID, "pro_monthly", stripe.Visa)
	for _, cancel := range []bool{true, false, true} {
		_, err := b.api.Subscriptions.Update(sub.ID, &api.SubscriptionParams{CancelAtPeriodEnd: new(cancel)})
		must(t, err)
	}
	end := sub.CurrentPeriodEnd
	b.Advance(time.Unix(end, 0))
	sub = b.subscription(t, sub.ID)
	expect.Equal(t, sub.Status, api.SubscriptionStatusCanceled)
	expect.Equal(t, sub.EndedAt, end)
	expect.Len(t, b.invoices(t, u.ID), 1)
	if _, err := b.api.Subscriptions.Update(sub.ID, &api.SubscriptionParams{
		CancelAtPeriodEnd: new(false),
	}); err == nil {
		t.Error("an ended subscription was resumed")
	}
	if _, err := b.api.Subscriptions.Cancel(sub.ID, nil); err == nil {
		t.Error("an ended subscription was cancelled")
	}
}
