package billing

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/faultpoint"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/billingdb"
)

// eventIgnored is the stored result of an event whose type is irrelevant to purchases.
const eventIgnored = "ignored"

// signalPatience bounds how long the webhook waits to signal the workflow. If that fails, the
// worker's sweep of events does it.
const signalPatience = 3 * time.Second

// ReceiveStripeEvent handles a webhook: it verifies the signature, stores the event once by its id,
// and signals the workflow, which reads from Stripe what happened. The contents of the event decide
// nothing. On a nil refusal Stripe does not retry.
func (o *Operations) ReceiveStripeEvent(ctx context.Context, payload []byte, signature string) *fault.Error {
	h := o.handlers
	if h.Stripe == nil || h.WebhookSecret == "" {
		return h.selling()
	}
	event, err := billing.ReadEvent(payload, signature, h.WebhookSecret, h.Now())
	if errors.Is(err, billing.ErrNoEvent) {
		return fault.New(fault.FieldRefused,
			"The body is signed as it should be, and is no event: it takes an object with an id and a type of "+
				"Stripe's.").Wrap(err)
	}
	if err != nil {
		return fault.New(fault.FieldRefused,
			"Stripe-Signature is not one that this endpoint's secret made of this body within the last five "+
				"minutes.").Wrap(err)
	}
	customer, err := h.whose(ctx, &event)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return operation.RecordUnavailable(err)
	}
	stored := billingdb.StripeEvent{
		ID: event.ID, Type: event.Type, APIVersion: event.APIVersion, Object: event.Object, Customer: customer,
		Session: event.Session, CreatedAt: event.Created,
	}
	fresh, err := h.Store.RecordStripeEvent(ctx, &stored)
	if err != nil {
		return operation.RecordUnavailable(err)
	}
	if !fresh {
		return nil // the first delivery is signalled, now or by the sweep
	}
	faultpoint.Hit(faultpoint.EventStored)
	h.complainOfVersion(&event)
	if err := h.passOn(ctx, &stored); err != nil {
		h.Logger.Warn("an event of the payment provider will be processed later", "event_id", event.ID, "error", err)
	}
	return nil
}

// passOn signals the workflow of an event. If that fails, the sweep of events does it later.
func (h *handlers) passOn(ctx context.Context, event *billingdb.StripeEvent) error {
	if !slices.Contains(billing.Events(), event.Type) {
		return h.Store.MarkStripeEvent(ctx, event.ID, eventIgnored)
	}
	ctx, cancel := context.WithTimeout(ctx, signalPatience)
	defer cancel()
	result, err := activities.HandOn(ctx, h.Store, eventFlows{h.Purchases}, event)
	if err == nil && result == activities.EventNobodys {
		if left, ok := h.strangers.Let(event.Type); ok {
			h.Logger.Warn("an event of the payment provider belongs to no account of ours", "event_id", event.ID,
				"type", event.Type, "left_out", left)
		}
	}
	return err
}

// eventFlows adapts Purchases to activities.HandOn.
type eventFlows struct{ purchases Purchases }

// SignalSubscription has a workflow reread everything that an account bought.
func (f eventFlows) SignalSubscription(ctx context.Context, id account.ID, hint string) error {
	return f.purchases.LookAgain(ctx, id, hint)
}

// SignalCheckout has a workflow look at the outcome of a checkout.
func (f eventFlows) SignalCheckout(ctx context.Context, ref activities.CheckoutRef, _ string) error {
	id, err := billingdb.ParseCheckoutID(ref.Checkout)
	if err != nil {
		return err
	}
	return f.purchases.FollowCheckout(ctx, &billingdb.Checkout{ID: id, Session: ref.Session, Account: ref.Account})
}

// whose returns the customer of an event: the one that it names, or that of its checkout, or that
// of the purchase of its payment.
func (h *handlers) whose(ctx context.Context, event *billing.Event) (string, error) {
	if event.Customer != "" {
		return event.Customer, nil
	}
	var who account.ID
	err := store.ErrNotFound
	if event.Session != "" {
		var checkout billingdb.Checkout
		checkout, err = h.Store.FindCheckoutBySession(ctx, event.Session)
		who = checkout.Account
	} else if event.Payment != "" { // disputes and refunds name no customer
		who, err = h.Store.FindPayer(ctx, event.Payment)
	}
	if err != nil {
		return "", err
	}
	customer, err := h.Store.FindCustomer(ctx, who)
	return customer.ID, err
}

// complainOfVersion logs occasionally that an endpoint sends another API version. The ids in the
// event are valid anyway.
func (h *handlers) complainOfVersion(event *billing.Event) {
	if event.Pinned() {
		return
	}
	if left, ok := h.strangers.Let(event.APIVersion); ok {
		h.Logger.Warn(
			"the payment provider's webhook endpoint sends another version of its objects than this program reads; "+
				"give the endpoint the pinned one",
			"version", event.APIVersion, "pinned", billing.APIVersion, "left_out", left)
	}
}
