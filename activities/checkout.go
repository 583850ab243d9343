package activities

import (
	"context"
	"errors"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/billingdb"
)

// CheckoutRef names a checkout in histories. It does not contain the URL of its page.
type CheckoutRef struct {
	Session  string     `json:"session"`  // of Stripe
	Checkout string     `json:"checkout"` // ours
	Account  account.ID `json:"account"`
}

// RefOfCheckout returns the reference of a checkout that has a session.
func RefOfCheckout(c *billingdb.Checkout) CheckoutRef {
	return CheckoutRef{Session: c.Session, Checkout: c.ID.String(), Account: c.Account}
}

// States of a checkout that may still change. CheckoutPaying means that it is paid and not yet in
// force.
const (
	CheckoutOpen   = string(billingdb.CheckoutOpen)
	CheckoutPaying = "paying"
)

// FollowCheckout polls a checkout at Stripe and returns its state. If it expired there, that is
// recorded, which frees its seat. If it is paid, the flow of the account's subscription is
// signalled, which puts in force what was bought.
func (b *Billing) FollowCheckout(ctx context.Context, ref CheckoutRef) (string, error) {
	id, err := billingdb.ParseCheckoutID(ref.Checkout)
	if err != nil {
		return "", b.failed(err, ErrBillingFailed, "read the checkout's id", ref.Account)
	}
	recorded, err := b.Record.FindCheckout(ctx, id)
	if err != nil {
		return "", b.failed(err, ErrBillingFailed, "find the checkout", ref.Account)
	}
	if recorded.State != billingdb.CheckoutOpen {
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
		ended, err := b.Record.EndCheckout(ctx, id, billingdb.CheckoutExpired, b.Now())
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
