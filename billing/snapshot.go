package billing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/invoice"
	"github.com/stripe/stripe-go/v76/paymentintent"

	"github.com/chainaccess/gateway/billing/subscription"
)

const (
	// readBack bounds what is read again. It covers the validity of a pack and some weeks more; an
	// open invoice may be paid or voided long after its charges failed.
	readBack = 400 * 24 * time.Hour
	// maxPages bounds each list. A customer with more needs support, so the rest is not guessed.
	maxPages = 10
)

// Snapshot reads everything that Stripe has of a customer: all subscriptions, the invoices and
// payments of 400 days with their refunds, the country and the card. For a deleted customer it sets
// only Deleted. For one that Stripe never had it returns ErrGone, because the key may belong to
// another Stripe account. ReadAt is before the first request, so later changes may be missing.
func (s *Stripe) Snapshot(ctx context.Context, customer string) (subscription.Snapshot, error) {
	snapshot := subscription.Snapshot{Customer: customer, ReadAt: s.now().UTC()}
	params := &stripe.CustomerParams{Params: stripe.Params{Context: ctx}}
	params.AddExpand("invoice_settings.default_payment_method")
	who, err := s.customers().Get(customer, params)
	// a deleted customer may have nothing to expand
	if err = failed("read a customer", err); err != nil && !errors.Is(err, ErrUnavailable) {
		if deleted, again := s.CustomerDeleted(ctx, customer); again == nil && deleted {
			snapshot.Deleted = true
			return snapshot, nil
		}
	}
	if err != nil {
		return snapshot, err
	}
	if who.Deleted {
		snapshot.Deleted = true
		return snapshot, nil
	}
	if who.Address != nil {
		snapshot.Country = who.Address.Country
	}
	if who.InvoiceSettings != nil {
		snapshot.Card = cardOf(who.InvoiceSettings.DefaultPaymentMethod)
	}
	if err := s.readSubscriptions(ctx, &snapshot); err != nil {
		return snapshot, err
	}
	if err := s.readInvoices(ctx, &snapshot); err != nil {
		return snapshot, err
	}
	return snapshot, s.readPayments(ctx, &snapshot)
}

// readSubscriptions reads subscriptions in every state. Stripe charges the card of a lasting
// subscription before the customer's own.
func (s *Stripe) readSubscriptions(ctx context.Context, to *subscription.Snapshot) error {
	params := &stripe.SubscriptionListParams{
		ListParams: listParams(ctx), Customer: new(to.Customer), Status: new("all"),
	}
	params.AddExpand("data.default_payment_method")
	list := s.subscriptions().List(params)
	for n := 0; list.Next(); n++ {
		if n == maxPages*pageSize {
			return tooMany("subscriptions")
		}
		from := list.Subscription()
		sub := subscriptionOf(from, to.ReadAt)
		if card := cardOf(from.DefaultPaymentMethod); card != nil && !sub.Status.Over() {
			to.Card = card
		}
		to.Subscriptions = append(to.Subscriptions, sub)
	}
	return failed("list a customer's subscriptions", list.Err())
}

func (s *Stripe) readInvoices(ctx context.Context, to *subscription.Snapshot) error {
	list := invoice.Client{B: s.backend, Key: s.key}.List(&stripe.InvoiceListParams{
		ListParams: listParams(ctx), Customer: new(to.Customer), CreatedRange: since(to.ReadAt.Add(-readBack)),
	})
	for n := 0; list.Next(); n++ {
		if n == maxPages*pageSize {
			return tooMany("invoices")
		}
		if from := list.Invoice(); from.Status != stripe.InvoiceStatusDraft {
			to.Invoices = append(to.Invoices, invoiceOf(from))
		}
	}
	return failed("list a customer's invoices", list.Err())
}

func (s *Stripe) readPayments(ctx context.Context, to *subscription.Snapshot) error {
	params := &stripe.PaymentIntentListParams{
		ListParams: listParams(ctx), Customer: new(to.Customer), CreatedRange: since(to.ReadAt.Add(-readBack)),
	}
	params.AddExpand("data.latest_charge")
	list := paymentintent.Client{B: s.backend, Key: s.key}.List(params)
	for n := 0; n < maxPages*pageSize && list.Next(); n++ { // newest first: older ones were granted long ago
		to.Payments = append(to.Payments, paymentOf(list.PaymentIntent()))
	}
	return failed("list a customer's payments", list.Err())
}

func listParams(ctx context.Context) stripe.ListParams {
	return stripe.ListParams{Context: ctx, Limit: stripe.Int64(pageSize)}
}

func since(t time.Time) *stripe.RangeQueryParams {
	return &stripe.RangeQueryParams{GreaterThanOrEqual: t.Unix()}
}

func tooMany(what string) error {
	return fmt.Errorf("the customer has more than %d %s: look at it in Stripe's dashboard", maxPages*pageSize, what)
}
