package activities

import (
	"context"
	"errors"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store"
)

// CheckoutRef names a checkout in histories. The address of its page is not in it.
type CheckoutRef struct {
	Session  string     `json:"session"`  // of Stripe
	Checkout string     `json:"checkout"` // ours
	Account  account.ID `json:"account"`
}

// RefOfCheckout names a checkout that has its session.
func RefOfCheckout(c *store.Checkout) CheckoutRef {
	return CheckoutRef{Session: c.Session, Checkout: c.ID.String(), Account: c.Account}
}

// States of a checkout in which something is to be expected of it; CheckoutPaying: it is paid, and
// the account has nothing yet.
const (
	CheckoutOpen   = string(store.CheckoutOpen)
	CheckoutPaying = "paying"
)

// FollowCheckout asks Stripe how a checkout is, and gives its state. One that is over there is
// recorded so, which frees its seat; of one that is paid the flow of the account's subscription is
// told, which gives what was bought and records that.
func (b *Billing) FollowCheckout(ctx context.Context, ref CheckoutRef) (string, error) {
	id, err := store.ParseCheckoutID(ref.Checkout)
	if err != nil {
		return "", b.failed(err, ErrBillingFailed, "read the checkout's id", ref.Account)
	}
	recorded, err := b.Record.FindCheckout(ctx, id)
	if err != nil {
		return "", b.failed(err, ErrBillingFailed, "find the checkout", ref.Account)
	}
	if recorded.State != store.CheckoutOpen {
		return string(recorded.State), nil
	}
	if b.Stripe == nil {
		return "", off()
	}
	session, err := b.Stripe.ReadSession(ctx, ref.Session)
	switch {
	case err != nil:
		return "", b.failed(err, ErrStripeAway, "read the checkout", ref.Account)
	case session.Checkout != ref.Checkout:
		return "", b.failed(errors.New("the session is another checkout's"), ErrBillingFailed, "read the checkout",
			ref.Account)
	case session.Status == subscription.SessionExpired:
		ended, err := b.Record.EndCheckout(ctx, id, store.CheckoutExpired, b.Now())
		if err != nil {
			return "", b.failed(err, ErrBillingFailed, "end the checkout", ref.Account)
		}
		return string(ended.State), nil
	case session.Status == subscription.SessionComplete && session.Paid:
		if err := b.Look(ctx, ref.Account); err != nil {
			return "", b.failed(err, ErrBillingFailed, "have the subscription looked at", ref.Account)
		}
		return CheckoutPaying, nil
	}
	return CheckoutOpen, nil
}
