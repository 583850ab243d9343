package billing

import (
	"context"
	"errors"
	"strconv"

	"github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/refund"
	stripesubscription "github.com/stripe/stripe-go/v76/subscription"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/metering/plan"
)

// ErrSeveralItems is returned for a subscription with no item or several: somebody changed it in
// Stripe's dashboard, and must change it there.
var ErrSeveralItems = errors.New("a subscription of ours has one item, and this one has not")

// Change is a change of a subscription to the price of another item.
type Change struct {
	Subscription string
	Item         plan.Item
	// Charge charges the difference for the rest of the interval at once; if the card is declined
	// nothing changes. Without it nothing is charged or refunded now, and the next invoice has the
	// new price.
	Charge bool
	// Held is the key of the price whose plan the account keeps until the paid interval ends. It is
	// written to the subscription's metadata; empty removes it.
	Held string
}

// ChangePrice changes a subscription to another price. It is idempotent: a subscription that has
// the price and the same Held already is not changed, so a retry charges nothing. The end of the
// held interval is read when the price changes, because a caller's snapshot may be from before a
// renewal.
func (s *Stripe) ChangePrice(ctx context.Context, c Change) error {
	now, err := s.subscriptions().Get(c.Subscription, &stripe.SubscriptionParams{Params: stripe.Params{Context: ctx}})
	if err != nil {
		return failed("read a subscription", err)
	}
	if now.Items == nil || len(now.Items.Data) != 1 {
		return ErrSeveralItems
	}
	price, err := s.priceOf(ctx, c.Item)
	if err != nil {
		return err
	}
	item := now.Items.Data[0]
	held := heldMetadata(c.Held, now.CurrentPeriodEnd)
	if item.Price != nil && item.Price.ID == price &&
		now.Metadata[subscription.MetaHeld] == held[subscription.MetaHeld] {
		return nil
	}
	params := &stripe.SubscriptionParams{
		Params:            stripe.Params{Context: ctx},
		Items:             []*stripe.SubscriptionItemsParams{{ID: new(item.ID), Price: new(price)}},
		Metadata:          held,
		ProrationBehavior: stripe.String(string(stripe.SubscriptionSchedulePhaseProrationBehaviorNone)),
	}
	if c.Charge {
		params.ProrationBehavior = stripe.String(string(stripe.SubscriptionSchedulePhaseProrationBehaviorAlwaysInvoice))
		params.PaymentBehavior = new("error_if_incomplete")
	}
	if endsOffer(c.Item) && now.Discount != nil {
		params.Discounts = []*stripe.SubscriptionDiscountParams{} // an empty list removes them
	}
	changed, err := s.subscriptions().Update(c.Subscription, params)
	if err != nil || c.Held == "" || changed.CurrentPeriodEnd == now.CurrentPeriodEnd {
		return failed("change a subscription's price", err)
	}
	// It was renewed between the two requests, at the old price: the held plan was paid for another
	// interval.
	_, err = s.subscriptions().Update(c.Subscription, &stripe.SubscriptionParams{
		Params: stripe.Params{Context: ctx}, Metadata: heldMetadata(c.Held, changed.CurrentPeriodEnd),
	})
	return failed("hold a plan for the interval that began meanwhile", err)
}

// endsOffer reports whether a change to an item ends the founding price. The coupon applies to the
// product, but the offer is for the monthly price only.
func endsOffer(i plan.Item) bool {
	offer := plan.Founding()
	return i.Plan == offer.Plan && i.Interval != plan.ByMonth
}

// heldMetadata returns the metadata for a held price until a time of Stripe's. Stripe removes a key
// with an empty value.
func heldMetadata(held string, until int64) map[string]string {
	if held == "" {
		return map[string]string{subscription.MetaHeld: "", subscription.MetaHeldUntil: ""}
	}
	return map[string]string{subscription.MetaHeld: held, subscription.MetaHeldUntil: strconv.FormatInt(until, 10)}
}

// CancelAtPeriodEnd makes a subscription end with the paid interval, or undoes that.
func (s *Stripe) CancelAtPeriodEnd(ctx context.Context, id string, cancel bool) error {
	_, err := s.subscriptions().Update(id, &stripe.SubscriptionParams{
		Params: stripe.Params{Context: ctx}, CancelAtPeriodEnd: new(cancel),
	})
	return failed("set whether a subscription ends", err)
}

// CancelNow cancels a subscription at once. It is idempotent; key is the idempotency key.
func (s *Stripe) CancelNow(ctx context.Context, id, key string) error {
	_, err := s.subscriptions().Cancel(id, &stripe.SubscriptionCancelParams{
		Params: stripe.Params{Context: ctx, IdempotencyKey: new(key)}, InvoiceNow: new(false), Prorate: new(false),
	})
	if err = failed("end a subscription", err); err == nil || errors.Is(err, ErrUnavailable) {
		return err
	}
	now, readErr := s.subscriptions().Get(id, &stripe.SubscriptionParams{Params: stripe.Params{Context: ctx}})
	if readErr == nil && subscription.Status(now.Status).Over() {
		return nil
	}
	return err
}

// RefundPayment refunds a payment in full. It is idempotent; key is the idempotency key.
func (s *Stripe) RefundPayment(ctx context.Context, payment, key string) error {
	_, err := refund.Client{B: s.backend, Key: s.key}.New(&stripe.RefundParams{
		Params: stripe.Params{Context: ctx, IdempotencyKey: new(key)}, PaymentIntent: new(payment),
	})
	if err = failed("refund a payment", err); code(err, stripe.ErrorCodeChargeAlreadyRefunded) {
		return nil
	}
	return err
}

// SetTax sets whether VAT is added to the subscription's future invoices.
func (s *Stripe) SetTax(ctx context.Context, id string, vat bool) error {
	rates := []*string{} // an empty list removes them
	if vat {
		rate, err := s.vat(ctx)
		if err != nil {
			return err
		}
		rates = append(rates, new(rate))
	}
	_, err := s.subscriptions().Update(id, &stripe.SubscriptionParams{
		Params: stripe.Params{Context: ctx}, DefaultTaxRates: rates,
	})
	return failed("set a subscription's tax", err)
}

func (s *Stripe) subscriptions() stripesubscription.Client {
	return stripesubscription.Client{B: s.backend, Key: s.key}
}
