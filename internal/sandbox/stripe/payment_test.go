package stripe_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	api "github.com/stripe/stripe-go/v76"

	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// pack pays for a pack and returns the session.
func (b *bundle) pack(t *testing.T, customer string, card stripe.Card) (*api.CheckoutSession, error) {
	t.Helper()
	x, err := b.api.CheckoutSessions.New(&api.CheckoutSessionParams{
		Mode: new("payment"), Customer: new(customer), SuccessURL: new("https://gateway.example/done"),
		LineItems: []*api.CheckoutSessionLineItemParams{{
			Price: new(b.price(t, "pack_s")), Quantity: api.Int64(1), TaxRates: api.StringSlice([]string{b.vat(t)}),
		}},
		PaymentIntentData: &api.CheckoutSessionPaymentIntentDataParams{Metadata: map[string]string{"checkout": "c-1"}},
		InvoiceCreation:   &api.CheckoutSessionInvoiceCreationParams{Enabled: new(true)},
	})
	must(t, err)
	paid := b.Pay(x.ID, card)
	x, err = b.api.CheckoutSessions.Get(x.ID, &api.CheckoutSessionParams{
		Expand: api.StringSlice([]string{"payment_intent.latest_charge", "invoice"}),
	})
	must(t, err)
	return x, paid
}

func TestPack_IsPaidOnceWithItsInvoice(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.customer(t, "DE")
	x, err := b.pack(t, u.ID, stripe.Mastercard)
	must(t, err)
	p := x.PaymentIntent
	expect.Equal(t, x.Status, api.CheckoutSessionStatusComplete)
	expect.Equal(t, x.PaymentStatus, api.CheckoutSessionPaymentStatusPaid)
	expect.Equal(t, x.AmountTotal, 1200)
	expect.Equal(t, x.URL, "")
	expect.Equal(t, p.Status, api.PaymentIntentStatusSucceeded)
	expect.Equal(t, p.AmountReceived, 1200)
	expect.Equal(t, p.Metadata["checkout"], "c-1")
	expect.Equal(t, p.LatestCharge.PaymentMethodDetails.Card.Last4, "4444")
	i := x.Invoice
	expect.Equal(t, i.Status, api.InvoiceStatusPaid)
	expect.Equal(t, i.Total, 1200)
	expect.Equal(t, i.Tax, 200)
	expect.NotEqual(t, i.Number, "")
	expect.HasPrefix(t, i.HostedInvoiceURL, "/invoice/")
	if err := b.Pay(x.ID, stripe.Visa); err == nil {
		t.Error("a session was paid twice")
	}
}

func TestCheckout_DeclinedStaysOpenForAnotherCard(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.customer(t, "DE")
	x := b.checkout(t, u.ID, "pro_monthly")
	for _, card := range []stripe.Card{stripe.Declined, stripe.InsufficientFunds, stripe.Expired, "1234"} {
		if err := b.Pay(x.ID, card); err == nil {
			t.Fatalf("%s paid", card)
		}
	}
	x, err := b.api.CheckoutSessions.Get(x.ID, nil)
	must(t, err)
	expect.Equal(t, x.Status, api.CheckoutSessionStatusOpen)
	expect.Equal(t, x.PaymentStatus, api.CheckoutSessionPaymentStatusUnpaid)
	expect.Nil(t, x.Subscription)
	must(t, b.Pay(x.ID, "4242 4242 4242 4242"))
	if list := b.api.Subscriptions.List(&api.SubscriptionListParams{Customer: new(u.ID)}); !list.Next() ||
		list.Subscription().Status != api.SubscriptionStatusActive {
		t.Errorf("no active subscription: %v", list.Err())
	}
}

func TestCheckout_ExpiredCannotBePaid(t *testing.T) {
	t.Parallel()
	b := setup(t)
	u := b.customer(t, "DE")
	byTime, byHand := b.checkout(t, u.ID, "pro_monthly"), b.checkout(t, u.ID, "pro_monthly")
	_, err := b.api.CheckoutSessions.Expire(byHand.ID, nil)
	must(t, err)
	b.Advance(start.Add(time.Hour))
	for _, x := range []*api.CheckoutSession{byTime, byHand} {
		x, err := b.api.CheckoutSessions.Get(x.ID, nil)
		must(t, err)
		if x.Status != api.CheckoutSessionStatusExpired || b.Pay(x.ID, stripe.Visa) == nil {
			t.Errorf("session is %s, or could be paid", x.Status)
		}
		if _, err := b.api.CheckoutSessions.Expire(x.ID, nil); err == nil {
			t.Error("a session expired twice")
		}
	}
	kinds := types(b.told(t))
	if n := len(slices.DeleteFunc(kinds, func(k string) bool { return k != "checkout.session.expired" })); n != 2 {
		t.Errorf("told of %d expired sessions", n)
	}
}

func types(events []api.Event) []string {
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, string(e.Type))
	}
	return kinds
}

func TestRefunds_AddUpToThePaymentAndNoFurther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	x, err := b.pack(t, b.customer(t, "DE").ID, stripe.Visa)
	must(t, err)
	p := &api.RefundParams{PaymentIntent: new(x.PaymentIntent.ID), Amount: api.Int64(500)}
	_, err = b.api.Refunds.New(p)
	must(t, err)
	c := b.charge(t, x.PaymentIntent.LatestCharge.ID)
	expect.Equal(t, c.AmountRefunded, 500)
	expect.False(t, c.Refunded)
	expect.Len(t, c.Refunds.Data, 1)
	if _, err := b.api.Refunds.New(&api.RefundParams{
		PaymentIntent: p.PaymentIntent, Amount: api.Int64(701),
	}); err == nil {
		t.Error("more was given back than paid")
	}
	must(t, b.Refund(x.PaymentIntent.ID, 0))
	if c := b.charge(t, x.PaymentIntent.LatestCharge.ID); c.AmountRefunded != 1200 || !c.Refunded {
		t.Errorf("refunded %d, whole %v", c.AmountRefunded, c.Refunded)
	}
	if _, err := b.api.Refunds.New(&api.RefundParams{PaymentIntent: p.PaymentIntent}); err == nil ||
		!strings.Contains(err.Error(), "already") {
		t.Errorf("refunded again: %v", err)
	}
}

func (b *bundle) charge(t *testing.T, id string) *api.Charge {
	t.Helper()
	c, err := b.api.Charges.Get(id, &api.ChargeParams{Expand: api.StringSlice([]string{"refunds"})})
	must(t, err)
	return c
}

func TestDispute_TakesTheMoneyUntilItIsWon(t *testing.T) {
	t.Parallel()
	b := setup(t)
	x, err := b.pack(t, b.customer(t, "DE").ID, stripe.Disputes)
	must(t, err)
	b.told(t)
	b.Advance(start.Add(time.Minute))
	list := b.api.Disputes.List(&api.DisputeListParams{PaymentIntent: new(x.PaymentIntent.ID)})
	in := expect.In(t, "no dispute")
	require.True(in, list.Next())
	require.Equal(in, list.Dispute().Amount, 1200)
	require.True(in, b.charge(t, x.PaymentIntent.LatestCharge.ID).Disputed)
	if b.Refund(x.PaymentIntent.ID, 0) == nil {
		t.Error("a disputed payment was refunded")
	}
	must(t, b.CloseDispute(list.Dispute().ID, true))
	if got := types(b.told(t)); !slices.Equal(got, []string{
		"charge.dispute.created", "charge.dispute.funds_withdrawn", "charge.dispute.funds_reinstated",
		"charge.dispute.closed",
	}) {
		t.Errorf("told of %v", got)
	}
	must(t, b.Refund(x.PaymentIntent.ID, 0))
}
