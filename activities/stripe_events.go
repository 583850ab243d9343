package activities

import (
	"context"
	"errors"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/faultpoint"
	"github.com/chainaccess/gateway/store"
)

// EventRecord tells whom an event of Stripe is about.
type EventRecord interface {
	FindCustomerByID(ctx context.Context, customer string) (store.Customer, error)
	FindCheckoutBySession(ctx context.Context, session string) (store.Checkout, error)
	MarkStripeEvent(ctx context.Context, id, result string) error
}

// EventFlows are told to look at Stripe.
type EventFlows interface {
	SignalSubscription(ctx context.Context, id account.ID, hint string) error
	SignalCheckout(ctx context.Context, ref CheckoutRef, hint string) error
}

// What became of an event, as it stands in its row.
const (
	EventSignalled = "signalled"
	EventNobodys   = "nobody" // it is about no customer and no checkout of ours
)

// HandOn tells the flows that an event of Stripe is about to look, and then marks the event. Who
// dies in between leaves it unmarked, and it is handed on again: looking twice does no harm.
func HandOn(ctx context.Context, record EventRecord, flows EventFlows,
	e *store.StripeEvent,
) (result string, err error) {
	result = EventNobodys
	if e.Session != "" {
		checkout, err := record.FindCheckoutBySession(ctx, e.Session)
		if err == nil {
			err = flows.SignalCheckout(ctx, RefOfCheckout(&checkout), e.Type)
			result = EventSignalled
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return "", err
		}
	}
	if e.Customer != "" {
		customer, err := record.FindCustomerByID(ctx, e.Customer)
		if err == nil {
			err = flows.SignalSubscription(ctx, customer.Account, e.Type)
			result = EventSignalled
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return "", err
		}
	}
	faultpoint.Hit(faultpoint.EventSignalled)
	return result, record.MarkStripeEvent(ctx, e.ID, result)
}
