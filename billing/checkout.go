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

// Checkout is a purchase that is offered to somebody.
type Checkout struct {
	ID       string // ours, by which Stripe's events and objects are told to belong to it
	Account  account.ID
	Customer string
	Item     plan.Item
	VAT      bool // whether VAT is added
	// SuccessURL and CancelURL are where the browser comes back to.
	SuccessURL, CancelURL string
	Expires               time.Time // between 30 minutes and a day from now
}

// OpenCheckout has Stripe make the page where it is paid, and gives the session and the page's
// address. Asked again with the same checkout it gives the same. The price is looked up and held
// against the plan's first: what differs is ErrNotForSale, and nothing is offered.
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
		// Cards only: what is paid later by other means would leave a purchase open for days.
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

// forPack has it paid once, with an invoice.
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

// forPlan has it paid again each interval. Taxes stand on the subscription, where a move to another
// country changes them.
func (c *Checkout) forPlan(params *stripe.CheckoutSessionParams, taxes []*string) {
	params.Mode = stripe.String(string(stripe.CheckoutSessionModeSubscription))
	params.SubscriptionData = &stripe.CheckoutSessionSubscriptionDataParams{
		Metadata: c.metadata(), DefaultTaxRates: taxes,
	}
	if c.Item.Offer != "" {
		params.Discounts = []*stripe.CheckoutSessionDiscountParams{{Coupon: new(c.Item.Offer)}}
	}
}

// ReadSession says what became of a checkout.
func (s *Stripe) ReadSession(ctx context.Context, id string) (subscription.Session, error) {
	found, err := s.checkouts().Get(id, &stripe.CheckoutSessionParams{Params: stripe.Params{Context: ctx}})
	if err != nil {
		return subscription.Session{}, failed("read a checkout", err)
	}
	return sessionOf(found), nil
}

// ExpireSession ends a checkout that nobody paid, and says what became of it: one that was paid
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
