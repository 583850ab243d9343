package activities

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/billingdb"
)

// recorded returns the last subscription in PostgreSQL; its id is empty when there is none. If its
// price belongs to no plan of ours, its plan is the one in force.
func (r *reconciling) recorded(ctx context.Context) (subscription.Subscription, error) {
	sub, err := r.Record.LastSubscription(ctx, r.id)
	if errors.Is(err, store.ErrNotFound) {
		return subscription.Subscription{}, nil
	}
	if err != nil {
		return sub, r.failed(err, ErrBillingFailed, "find the subscription", r.id)
	}
	if _, ours := sub.Sells(); !ours {
		owner, err := r.Record.LoadAccount(ctx, r.id)
		if err != nil {
			return sub, r.failed(err, ErrBillingFailed, "load the account", r.id)
		}
		sub.Plan = owner.Plan
	}
	return sub, nil
}

// had returns which of the subscriptions that last at Stripe are in PostgreSQL, except the one that
// counts.
func (r *reconciling) had(ctx context.Context, lasting []string) ([]string, error) {
	beside := slices.DeleteFunc(lasting, func(id string) bool { return r.current != nil && id == r.current.ID })
	if len(beside) == 0 {
		return nil, nil
	}
	had, err := r.Record.RecordedSubscriptions(ctx, r.id, beside)
	if err != nil {
		return nil, r.failed(err, ErrBillingFailed, "find recorded subscriptions", r.id)
	}
	return had, nil
}

// warn logs what somebody did at Stripe to a subscription that was recorded as lasting, except
// ending it. listed reports whether Stripe still lists it.
func (r *reconciling) warn(recorded *subscription.Subscription, listed bool) {
	if recorded.ID == "" || recorded.Status.Over() {
		return
	}
	log := r.Logger.With("account_id", r.id, "subscription", recorded.ID)
	switch {
	case r.snapshot.Deleted:
		log.Warn("a customer was deleted at Stripe, which ends its subscription")
	case !listed:
		log.Warn("Stripe does not list the recorded subscription; treating it as ended")
	case r.current == nil || r.current.ID != recorded.ID:
		log.Warn("treating the recorded subscription as ended although Stripe lists it, because another one is " +
			"paid there")
	case r.current.OddPrice != "" && !r.current.Status.Over():
		log.Warn("a subscription has a price at Stripe that belongs to none of our plans; its plan stays", "price",
			r.current.OddPrice)
	}
}

// place returns the customer's place of supply for VAT, according to Stripe's current data.
func (r *reconciling) place() plan.TaxPlace {
	now := r.customer
	now.Country, now.Card = r.snapshot.Country, r.snapshot.Card
	return now.Place()
}

// tax sets or removes VAT on the subscription according to the current place of supply.
func (r *reconciling) tax(ctx context.Context) error {
	if r.current == nil || r.current.Status.Over() {
		return nil
	}
	at := r.place()
	vat := plan.VATApplies(at.Country)
	if vat == r.current.Taxed {
		return nil
	}
	r.Logger.Info("a subscription is taxed by another place of supply", "account_id", r.id, "subscription",
		r.current.ID, "vat", vat, "place", at.String())
	if err := r.Stripe.SetTax(ctx, r.current.ID, vat); err != nil {
		return r.failed(err, ErrStripeAway, "set the tax", r.id)
	}
	return nil
}

// packs grants packs, once per payment, and voids the rest of a pack whose payment was refunded or
// disputed. A pack whose payment was taken back before the grant is not granted.
func (r *reconciling) packs(ctx context.Context) error {
	for i := range r.snapshot.Payments {
		p := &r.snapshot.Payments[i]
		item, known := plan.FindItem(p.Item)
		if !known || !item.IsPack() || !p.Succeeded {
			continue
		}
		state := billingdb.CheckoutPaid
		var err error
		if p.TakenBack() {
			state, err = billingdb.CheckoutRefunded, r.voidPack(ctx, p)
		} else {
			err = r.grantPack(ctx, p, &item)
		}
		if err == nil && !slices.Contains(r.odd, p.ID) {
			err = r.endCheckout(ctx, p.Checkout, state)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// result returns the result for the flow, with the time of its next poll.
func (r *reconciling) result(ctx context.Context) (Reconciled, error) {
	terms, err := r.owner.Terms()
	if err != nil {
		return Reconciled{}, r.failed(err, ErrBillingFailed, "read the plan", r.id)
	}
	now := r.Now()
	p := terms.Period(now)
	result := Reconciled{
		Customer: true, Plan: r.owner.Plan, Period: BillingPeriod{
			Key: p.Key(), Start: p.Start, End: p.End, Plan: r.owner.Plan,
		}, Next: p.End, Odd: r.odd,
		Beside: r.beside,
	}
	if result.Cut, err = r.cut(ctx, now); err != nil {
		return Reconciled{}, err
	}
	if r.current == nil {
		result.Next = time.Time{}
		return result, nil
	}
	result.Subscription, result.Status, result.Lasts = r.current.ID, r.current.Status, !r.current.Status.Over()
	if !result.Lasts {
		result.Next = time.Time{}
		return result, nil
	}
	result.OddPrice = r.current.OddPrice
	result.Late = !now.Before(r.current.PeriodEnd)
	due := []time.Time{r.expected.NextFrom, r.current.PeriodEnd}
	for i := range r.snapshot.Invoices {
		if v := &r.snapshot.Invoices[i]; v.Failed() {
			due = append(due, v.NextAttempt)
		}
	}
	for _, at := range due {
		if at.After(now) && at.Before(result.Next) {
			result.Next = at
		}
	}
	return result, nil
}

// cutFor is how long after its end a period that was cut short is reported. A flow that polls once
// a day sees it.
const cutFor = 7 * 24 * time.Hour

func (r *reconciling) cut(ctx context.Context, now time.Time) ([]BillingPeriod, error) {
	ended, err := r.Record.ListEndedPeriods(ctx, r.id)
	if err != nil {
		return nil, r.failed(err, ErrBillingFailed, "list periods that were cut", r.id)
	}
	var cut []BillingPeriod
	for _, p := range ended {
		if now.Sub(p.End) < cutFor {
			cut = append(cut, BillingPeriod{Key: p.Period, Start: p.Start, End: p.End, Plan: p.Plan})
		}
	}
	return cut, nil
}

// Closing names a metering period that ended.
type Closing struct {
	Account account.ID    `json:"account"`
	Period  BillingPeriod `json:"period"`
}

// BeginClosing starts the closing of a period's statement. It is idempotent.
func (b *Billing) BeginClosing(ctx context.Context, c Closing) error { //nolint:gocritic // a copy does no harm
	if err := b.Close(ctx, c); err != nil {
		return b.failed(err, ErrBillingFailed, "begin to close a statement", c.Account)
	}
	return nil
}
