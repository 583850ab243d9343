package activities

import (
	"context"
	"errors"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/faultpoint"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/billingdb"
)

// EventRecord finds the account that an event of Stripe is about.
type EventRecord interface {
	FindCustomerByID(ctx context.Context, customer string) (billingdb.Customer, error)
	FindCheckoutBySession(ctx context.Context, session string) (billingdb.Checkout, error)
	MarkStripeEvent(ctx context.Context, id, result string) error
}

// EventFlows signals flows to poll Stripe.
type EventFlows interface {
	SignalSubscription(ctx context.Context, id account.ID, hint string) error
	SignalCheckout(ctx context.Context, ref CheckoutRef, hint string) error
}

// Results of an event, as stored in its row.
const (
	EventSignalled = "signalled"
	EventNobodys   = "nobody" // it is about no customer and no checkout of ours
)

// HandOn signals the flows that an event of Stripe is about, and then marks the event. After a
// crash in between the event is handed on again, which does no harm: flows only poll once more.
func HandOn(ctx context.Context, record EventRecord, flows EventFlows,
	e *billingdb.StripeEvent,
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
