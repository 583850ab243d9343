package capability

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/fault"
	"github.com/chainaccess/gateway/store"
)

// What became of an event, as its row says.
const (
	eventSignalled = "signalled"
	eventIgnored   = "ignored"          // of a type that says nothing of a purchase
	eventStranger  = "unknown customer" // of somebody who is no account of ours
)

// signalPatience is how long Stripe waits for the flow to be told. Whoever cannot be told by then is told by the sweep of events.
const signalPatience = 3 * time.Second

// ReceiveStripeEvent takes a webhook: proved to be Stripe's, stored once by its id, and given on to the flow that reads from Stripe what happened. The
// event itself decides nothing. A nil refusal tells Stripe that it need not come again.
func (c *Catalogue) ReceiveStripeEvent(ctx context.Context, payload []byte, signature string) *fault.Error {
	h := c.house
	if h.Stripe == nil || h.WebhookSecret == "" {
		return h.selling()
	}
	event, err := billing.ReadEvent(payload, signature, h.WebhookSecret, h.Now())
	if errors.Is(err, billing.ErrNoEvent) {
		return fault.New(fault.FieldRefused, "The body is signed as it should be, and is no event: it takes an object with an id and a type of Stripe's.").Wrap(err)
	}
	if err != nil {
		return fault.New(fault.FieldRefused, "Stripe-Signature is not one that this endpoint's secret made of this body within the last five minutes.").Wrap(err)
	}
	who, customer, err := h.whose(ctx, &event)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return recordAway(err)
	}
	fresh, err := h.Store.RecordStripeEvent(ctx, &store.StripeEvent{
		ID: event.ID, Type: event.Type, APIVersion: event.APIVersion, Object: event.Object, Customer: customer, Session: event.Session, CreatedAt: event.Created,
	})
	if err != nil {
		return recordAway(err)
	}
	if !fresh {
		return nil // the first one is signalled, or will be
	}
	h.complainOfVersion(&event)
	result := h.passOn(ctx, &event, who)
	if result == "" {
		return nil
	}
	if err := h.Store.MarkStripeEvent(ctx, event.ID, result); err != nil {
		h.Logger.Warn("an event of the payment provider will be looked at again", "event_id", event.ID, "error", err)
	}
	return nil
}

// passOn tells the flow, and gives what became of the event; empty when the flow could not be told.
func (h *house) passOn(ctx context.Context, event *billing.Event, who account.ID) string {
	switch {
	case !slices.Contains(billing.Events(), event.Type):
		return eventIgnored
	case who.IsZero():
		if left, ok := h.strangers.Let(event.Type); ok {
			h.Logger.Warn("an event of the payment provider is of no account of ours", "event_id", event.ID, "type", event.Type, "left_out", left)
		}
		return eventStranger
	}
	ctx, cancel := context.WithTimeout(ctx, signalPatience)
	defer cancel()
	err := h.Purchases.LookAgain(ctx, who, event.Type)
	if err == nil && event.Session != "" {
		var checkout store.Checkout
		if checkout, err = h.Store.FindCheckoutBySession(ctx, event.Session); err == nil {
			err = h.Purchases.FollowCheckout(ctx, &checkout)
		} else if errors.Is(err, store.ErrNotFound) { // its session is not written yet: whoever opened it follows it
			err = nil
		}
	}
	if err != nil {
		h.Logger.Warn("an event of the payment provider will be signalled later", "event_id", event.ID, "account_id", who, "error", err)
		return ""
	}
	return eventSignalled
}

// whose finds the account of an event, and the customer at Stripe: by the customer that it names, by the checkout, or by what its payment bought.
func (h *house) whose(ctx context.Context, event *billing.Event) (account.ID, string, error) {
	if event.Customer != "" {
		customer, err := h.Store.FindCustomerByID(ctx, event.Customer)
		return customer.Account, event.Customer, err
	}
	var who account.ID
	err := store.ErrNotFound
	if event.Session != "" {
		var checkout store.Checkout
		checkout, err = h.Store.FindCheckoutBySession(ctx, event.Session)
		who = checkout.Account
	} else if event.Payment != "" { // disputes and refunds name no customer
		who, err = h.Store.FindPayer(ctx, event.Payment)
	}
	if err != nil {
		return account.ID{}, "", err
	}
	customer, err := h.Store.FindCustomer(ctx, who)
	return who, customer.ID, err
}

// complainOfVersion says once in a while that an endpoint sends another version. Its ids are good all the same.
func (h *house) complainOfVersion(event *billing.Event) {
	if event.Pinned() {
		return
	}
	if left, ok := h.strangers.Let(event.APIVersion); ok {
		h.Logger.Warn("the payment provider's webhook endpoint sends another version of its objects than this program reads; give the endpoint the pinned one",
			"version", event.APIVersion, "pinned", billing.APIVersion, "left_out", left)
	}
}
