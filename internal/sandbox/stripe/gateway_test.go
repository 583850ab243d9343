package stripe_test

import (
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
)

// gateway returns the gateway's Stripe client for this server, with its products and a customer.
func (b *bundle) gateway(t *testing.T) (way *billing.Stripe, owner account.ID, customer string) {
	t.Helper()
	way, err := billing.New(billing.Options{SecretKey: stripe.DefaultSecretKey, APIURL: b.http.URL, Now: b.Now})
	must(t, err)
	owner = account.NewID()
	lines, err := way.SetUp(t.Context(), billing.SetUpOptions{})
	if err != nil {
		t.Fatalf("set up: %v, %+v", err, lines)
	}
	customer, err = way.EnsureCustomer(t.Context(), owner, "owner@a.example", "DE")
	must(t, err)
	return way, owner, customer
}

func (b *bundle) buy(t *testing.T, way *billing.Stripe, owner account.ID, customer, key string,
	card stripe.Card,
) subscription.Session {
	t.Helper()
	item, ok := plan.FindItem(key)
	if !ok {
		t.Fatalf("no item %s", key)
	}
	session, page, err := way.OpenCheckout(t.Context(), &billing.Checkout{
		ID: "checkout-of-" + key, Account: owner, Customer: customer, Item: item, VAT: true,
		SuccessURL: "https://gateway.example/billing/done", CancelURL: "https://gateway.example/billing",
		Expires: b.Now().Add(time.Hour),
	})
	must(t, err)
	if !strings.HasPrefix(page, b.http.URL+"/pay/") {
		t.Errorf("page at %s", page)
	}
	must(t, b.Pay(session, card))
	read, err := way.ReadSession(t.Context(), session)
	must(t, err)
	return read
}

// All calls of the gateway, against a server that refuses what Stripe refuses.
func TestGateway_SellsChangesAndCancelsAPlan(t *testing.T) {
	t.Parallel()
	b := bare(t)
	way, owner, customer := b.gateway(t)
	sold := b.buy(t, way, owner, customer, "founding", stripe.Visa)
	require.Equal(t, sold.Status, subscription.SessionComplete)
	require.True(t, sold.Paid)
	require.Equal(t, sold.Checkout, "checkout-of-founding")
	require.NotEqual(t, sold.Subscription, "")
	see := func() (subscription.Snapshot, subscription.Subscription) {
		snapshot, err := way.Snapshot(t.Context(), customer)
		must(t, err)
		if len(snapshot.Subscriptions) != 1 {
			t.Fatalf("%d subscriptions", len(snapshot.Subscriptions))
		}
		return snapshot, snapshot.Subscriptions[0]
	}
	all, sub := see()
	expect.Equal(t, sub.Price, "pro_monthly")
	expect.True(t, sub.Founding)
	expect.Equal(t, sub.PriceCents, 7900)
	expect.True(t, sub.Taxed)
	expect.Equal(t, sub.Status, subscription.Active)
	expect.Equal(t, all.Country, "DE")
	expect.Equal(t, all.Card.Last4, "4242")
	i := all.Invoices[0]
	expect.Equal(t, i.Net, 7900)
	expect.Equal(t, i.VAT, 1580)
	expect.Equal(t, i.Paid, 9480)
	expect.Equal(t, i.Subscription, sub.ID)
	expect.NotEqual(t, i.Payment, "")
	expect.True(t, i.PeriodEnd.Equal(sub.PeriodEnd), i.PeriodEnd, sub.PeriodEnd)
	for _, change := range []billing.Change{
		{Item: item(t, "scale_monthly"), Charge: true},
		{Item: item(t, "pro_monthly"), Held: "scale_monthly"},
		{Item: item(t, "scale_monthly")},
		{Item: item(t, "scale_yearly"), Charge: true},
	} {
		t.Run(change.Subscription, func(t *testing.T) {
			b.Advance(b.Now().Add(24 * time.Hour))
			change.Subscription = sub.ID
			must(t, way.ChangePrice(t.Context(), change))
			_, now := see()
			in := expect.In(t, "after a change to %s", change.Item.Key)
			expect.Equal(in, now.Price, change.Item.Key)
			expect.Equal(in, now.Held, change.Held)
			expect.True(in, now.StartedAt.Equal(sub.StartedAt), now.StartedAt, sub.StartedAt)
		})
	}
	must(t, way.SetTax(t.Context(), sub.ID, false))
	must(t, way.CancelAtPeriodEnd(t.Context(), sub.ID, true))
	if _, now := see(); now.Taxed || !now.CancelAtPeriodEnd {
		t.Errorf("untaxed and cancelled: %+v", now)
	}
	must(t, way.CancelNow(t.Context(), sub.ID, "cancel/1"))
	must(t, way.CancelNow(t.Context(), sub.ID, "cancel/2"))
	if _, now := see(); now.Status != subscription.Canceled || !now.EndedAt.Equal(b.Now()) {
		t.Errorf("ended: %+v", now)
	}
}

func item(t *testing.T, key string) plan.Item {
	t.Helper()
	i, ok := plan.FindItem(key)
	if !ok {
		t.Fatalf("no item %s", key)
	}
	return i
}

func TestGateway_SellsAndRefundsAPack(t *testing.T) {
	t.Parallel()
	b := bare(t)
	way, owner, customer := b.gateway(t)
	sold := b.buy(t, way, owner, customer, "pack_s", stripe.Mastercard)
	must(t, way.RefundPayment(t.Context(), sold.Payment, "refund/1"))
	must(t, way.RefundPayment(t.Context(), sold.Payment, "refund/2"))
	snapshot, err := way.Snapshot(t.Context(), customer)
	must(t, err)
	p := snapshot.Payments[0]
	expect.Equal(t, p.ID, sold.Payment)
	expect.Equal(t, p.Item, "pack_s")
	expect.Equal(t, p.Amount, 1200)
	expect.Equal(t, p.Refunded, 1200)
	expect.True(t, p.Succeeded)
	page, err := way.InvoiceURL(t.Context(), snapshot.Invoices[0].ID)
	must(t, err)
	portal, err := way.OpenPortal(t.Context(), customer, "https://gateway.example/billing")
	must(t, err)
	if !strings.HasPrefix(page, b.http.URL+"/invoice/") || !strings.HasPrefix(portal, b.http.URL+"/portal/") {
		t.Errorf("invoice at %s, portal at %s", page, portal)
	}
	if _, err := way.SetUp(t.Context(), billing.SetUpOptions{Check: true}); err != nil {
		t.Errorf("set up a second time: %v", err)
	}
}
