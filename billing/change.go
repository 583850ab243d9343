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

// ErrSeveralItems is for a subscription that has no item or more than one: somebody made it so in
// Stripe's dashboard, and changes it there.
var ErrSeveralItems = errors.New("a subscription of ours has one item, and this one has not")

// Change is how a subscription comes to the price of another item.
type Change struct {
	Subscription string
	Item         plan.Item
	// Charge has what the new price costs more for the rest of the interval paid at once; if the
	// card is declined nothing changes. Without it nothing is charged or given back now, and the
	// next invoice is of the new price.
	Charge bool
	// Held is the key of the price whose plan is held until what is paid ends, written on the
	// subscription; empty ends what was held.
	Held string
}

// ChangePrice brings a subscription to another price. One that has it already and holds the same is
// left alone, so that a repeat charges nothing. How long something is held goes by the subscription
// as it is when its price changes: a caller's snapshot may be of before a renewal.
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
		params.Discounts = []*stripe.SubscriptionDiscountParams{} // sent as empty, which takes them away
	}
	changed, err := s.subscriptions().Update(c.Subscription, params)
	if err != nil || c.Held == "" || changed.CurrentPeriodEnd == now.CurrentPeriodEnd {
		return failed("change a subscription's price", err)
	}
	// It was renewed between the two, at the old price: what is held was paid for another interval.
	_, err = s.subscriptions().Update(c.Subscription, &stripe.SubscriptionParams{
		Params: stripe.Params{Context: ctx}, Metadata: heldMetadata(c.Held, changed.CurrentPeriodEnd),
	})
	return failed("hold a plan for the interval that began meanwhile", err)
}

// endsOffer reports whether an item ends the founding price though it is of the product that the
// coupon applies to: the offer is by the month.
func endsOffer(i plan.Item) bool {
	offer := plan.Founding()
	return i.Plan == offer.Plan && i.Interval != plan.ByMonth
}

// heldMetadata writes what is held until a time of Stripe's; Stripe takes a key away whose value is
// empty.
func heldMetadata(held string, until int64) map[string]string {
	if held == "" {
		return map[string]string{subscription.MetaHeld: "", subscription.MetaHeldUntil: ""}
	}
	return map[string]string{subscription.MetaHeld: held, subscription.MetaHeldUntil: strconv.FormatInt(until, 10)}
}

// CancelAtPeriodEnd has a subscription end with what is paid, or go on after all.
func (s *Stripe) CancelAtPeriodEnd(ctx context.Context, id string, cancel bool) error {
	_, err := s.subscriptions().Update(id, &stripe.SubscriptionParams{
		Params: stripe.Params{Context: ctx}, CancelAtPeriodEnd: new(cancel),
	})
	return failed("set whether a subscription ends", err)
}

// CancelNow ends a subscription at once. One that ended before is done.
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

// RefundPayment refunds all of a payment. What went back before is done.
func (s *Stripe) RefundPayment(ctx context.Context, payment, key string) error {
	_, err := refund.Client{B: s.backend, Key: s.key}.New(&stripe.RefundParams{
		Params: stripe.Params{Context: ctx, IdempotencyKey: new(key)}, PaymentIntent: new(payment),
	})
	if err = failed("refund a payment", err); code(err, stripe.ErrorCodeChargeAlreadyRefunded) {
		return nil
	}
	return err
}

// SetTax has VAT added to the subscription's coming invoices, or not.
func (s *Stripe) SetTax(ctx context.Context, id string, vat bool) error {
	rates := []*string{} // sent as empty, which takes them away
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
