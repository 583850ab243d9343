package billing

import (
	"context"
	"errors"
	"time"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/billing"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/store/billingdb"
	"github.com/chainaccess/gateway/workflows"
)

// Buying: Stripe decides what was bought. Changes are made at Stripe first, and the workflows are
// then signalled to read them from there.

// Purchases signals the workflows that bring PostgreSQL and Redis in line with Stripe. If a signal
// is lost, the workflows find the change by themselves some minutes later.
type Purchases interface {
	// FollowCheckout makes sure that a workflow waits for the outcome of a checkout, and has it
	// look now.
	FollowCheckout(ctx context.Context, c *billingdb.Checkout) error
	// LookAgain has a workflow reread everything that an account bought. why is a label for
	// operators.
	LookAgain(ctx context.Context, id account.ID, why string) error
	// LookNow does the same and waits until the result is in force.
	LookNow(ctx context.Context, id account.ID) error
}

// FlowPurchases returns Purchases that signal Temporal workflows.
func FlowPurchases(flows *workflows.Client) Purchases { return flowPurchases{flows} }

// flowPurchases implements Purchases with Temporal workflows.
type flowPurchases struct{ flows *workflows.Client }

// FollowCheckout starts the checkout's workflow, or has the running one look now.
func (f flowPurchases) FollowCheckout(ctx context.Context, c *billingdb.Checkout) error {
	return f.flows.SignalCheckout(ctx, activities.RefOfCheckout(c), "look")
}

// LookAgain starts the workflow of the account's subscription, or has the running one look now.
func (f flowPurchases) LookAgain(ctx context.Context, id account.ID, why string) error {
	return f.flows.SignalSubscription(ctx, id, why)
}

// LookNow has that workflow look now, and waits for it.
func (f flowPurchases) LookNow(ctx context.Context, id account.ID) error {
	_, err := f.flows.LookAtSubscription(ctx, id)
	return err
}

// billingFails are the reasons with which operations that call Stripe fail.
var billingFails = []fault.Reason{fault.DurableUnavailable}

// lookPatience bounds how long a response waits until a change is in force.
const lookPatience = 5 * time.Second

// selling refuses when payments are off.
func (h *handlers) selling() *fault.Error {
	if h.Stripe == nil {
		return fault.New(fault.DurableUnavailable,
			"Payments are off on this gateway: nothing can be bought, changed or paid here. Free and door keys work "+
				"as ever; write to %s for a plan.", h.Contact)
	}
	return nil
}

const retryStripe = 30 * time.Second

// toldByStripe converts an error of Stripe's into a refusal. Its cause is only logged.
func toldByStripe(err error) error {
	if err == nil {
		return nil
	}
	if refusal, ok := errors.AsType[*fault.Error](err); ok {
		return refusal
	}
	switch {
	case errors.Is(err, billing.ErrDeclined):
		return fault.New(fault.FieldRefused,
			"The card was declined, so nothing was changed and nothing charged. Put another card on file in the "+
				"customer portal, then try again.").Wrap(err)
	case errors.Is(err, billing.ErrSeveralItems):
		return fault.New(fault.FieldRefused,
			"This subscription was put together by support, which changes it. File a ticket.").Wrap(err)
	case errors.Is(err, billing.ErrNotForSale):
		return fault.New(fault.DurableUnavailable,
			"This cannot be sold right now: its price at the payment provider is not the listed one, so nothing was "+
				"charged. Support has to mend it.").Wrap(err)
	}
	f := fault.New(fault.DurableUnavailable,
		"The payment provider did not answer as it should. Nothing was charged for certain by this; look at the "+
			"billing page, and try again in a minute.")
	f.RetryAfter = retryStripe
	return f.Wrap(err)
}

// inForce waits for at most lookPatience until a change made at Stripe is in force here, and
// reports whether it is.
func (h *handlers) inForce(ctx context.Context, id account.ID, why string) bool {
	waits, cancel := context.WithTimeout(ctx, lookPatience)
	defer cancel()
	err := h.Purchases.LookNow(waits, id)
	if err == nil {
		return true
	}
	if err := h.Purchases.LookAgain(ctx, id, why); err != nil {
		h.Logger.Warn("what was changed at the payment provider will be looked at later", "account_id", id,
			"error", err)
	}
	return false
}
