package billing

import (
	"context"
	"time"

	"github.com/stripe/stripe-go/v76"
	checkout "github.com/stripe/stripe-go/v76/checkout/session"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
)

// Checkout is a purchase to be offered.
type Checkout struct {
	ID       string // our id, which connects Stripe's events and objects with it
	Account  account.ID
	Customer string
	Item     plan.Item
	VAT      bool // VAT is added
	// SuccessURL and CancelURL are where the browser returns to.
	SuccessURL, CancelURL string
	Expires               time.Time // between 30 minutes and a day from now
}

// OpenCheckout creates a Checkout Session at Stripe and returns its id and the address of its page.
// It is idempotent per checkout. First it compares the price at Stripe with the plan's: if they
// differ it returns ErrNotForSale and offers nothing.
func (s *Stripe) OpenCheckout(ctx context.Context, c *Checkout) (session, address string, err error) {
	price, err := s.priceOf(ctx, c.Item)
	if err != nil {
		return "", "", err
	}
	var taxes []*string
	if c.VAT {
		id, err := s.vat(ctx)
		if err != nil {
			return "", "", err
		}
		taxes = []*string{new(id)}
	}
	params := &stripe.CheckoutSessionParams{
		Params:            stripe.Params{Context: ctx, IdempotencyKey: new("checkout/" + c.ID)},
		Customer:          new(c.Customer),
		ClientReferenceID: new(c.ID),
		LineItems:         []*stripe.CheckoutSessionLineItemParams{{Price: new(price), Quantity: stripe.Int64(1)}},
		// Cards only: payment methods that settle later would leave a purchase open for days.
		PaymentMethodTypes: stripe.StringSlice([]string{string(stripe.PaymentMethodTypeCard)}),
		SuccessURL:         new(c.SuccessURL),
		CancelURL:          new(c.CancelURL),
		ExpiresAt:          new(c.Expires.Unix()),
		Metadata:           c.metadata(),
	}
	if c.Item.IsPack() {
		c.forPack(params, taxes)
	} else {
		c.forPlan(params, taxes)
	}
	made, err := s.checkouts().New(params)
	if err != nil {
		return "", "", failed("open a checkout", err)
	}
	return made.ID, made.URL, nil
}

func (c *Checkout) metadata() map[string]string {
	return map[string]string{
		subscription.MetaCheckout: c.ID, subscription.MetaItem: c.Item.Key,
		subscription.MetaAccount: c.Account.String(),
	}
}

// forPack sets a single payment with an invoice.
func (c *Checkout) forPack(params *stripe.CheckoutSessionParams, taxes []*string) {
	params.Mode = stripe.String(string(stripe.CheckoutSessionModePayment))
	params.LineItems[0].TaxRates = taxes
	params.PaymentIntentData = &stripe.CheckoutSessionPaymentIntentDataParams{Metadata: c.metadata()}
	params.InvoiceCreation = &stripe.CheckoutSessionInvoiceCreationParams{
		Enabled: new(true), InvoiceData: &stripe.CheckoutSessionInvoiceCreationInvoiceDataParams{
			Metadata: c.metadata(),
		},
	}
}

// forPlan sets a payment per interval. Tax rates are set on the subscription, where a move to
// another country changes them.
func (c *Checkout) forPlan(params *stripe.CheckoutSessionParams, taxes []*string) {
	params.Mode = stripe.String(string(stripe.CheckoutSessionModeSubscription))
	params.SubscriptionData = &stripe.CheckoutSessionSubscriptionDataParams{
		Metadata: c.metadata(), DefaultTaxRates: taxes,
	}
	if c.Item.Offer != "" {
		params.Discounts = []*stripe.CheckoutSessionDiscountParams{{Coupon: new(c.Item.Offer)}}
	}
}

// ReadSession returns the state of a Checkout Session.
func (s *Stripe) ReadSession(ctx context.Context, id string) (subscription.Session, error) {
	found, err := s.checkouts().Get(id, &stripe.CheckoutSessionParams{Params: stripe.Params{Context: ctx}})
	if err != nil {
		return subscription.Session{}, failed("read a checkout", err)
	}
	return sessionOf(found), nil
}

// ExpireSession expires an unpaid Checkout Session and returns its state. One that was paid
// meanwhile is complete.
func (s *Stripe) ExpireSession(ctx context.Context, id string) (subscription.Session, error) {
	ended, err := s.checkouts().Expire(id, &stripe.CheckoutSessionExpireParams{Params: stripe.Params{Context: ctx}})
	if err == nil {
		return sessionOf(ended), nil
	}
	now, readErr := s.ReadSession(ctx, id)
	if readErr != nil || now.Status == subscription.SessionOpen {
		return now, failed("end a checkout", err)
	}
	return now, nil
}

func sessionOf(c *stripe.CheckoutSession) subscription.Session {
	session := subscription.Session{
		ID: c.ID, Checkout: c.ClientReferenceID, Status: subscription.SessionStatus(c.Status),
		ExpiresAt: at(c.ExpiresAt), Paid: c.PaymentStatus == stripe.CheckoutSessionPaymentStatusPaid ||
			c.PaymentStatus == stripe.CheckoutSessionPaymentStatusNoPaymentRequired,
	}
	if c.Customer != nil {
		session.Customer = c.Customer.ID
	}
	if c.Subscription != nil {
		session.Subscription = c.Subscription.ID
	}
	if c.PaymentIntent != nil {
		session.Payment = c.PaymentIntent.ID
	}
	return session
}

func (s *Stripe) checkouts() checkout.Client { return checkout.Client{B: s.backend, Key: s.key} }
