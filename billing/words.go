package billing

import (
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v76"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/metering/plan"
)

// Conversions of Stripe's objects to our types.

// subscriptionOf converts a subscription. It uses the first item of a plan of ours, else the first
// item: items that were added by hand do not hide the plan.
func subscriptionOf(from *stripe.Subscription, now time.Time) subscription.Subscription {
	s := subscription.Subscription{
		ID: from.ID, Status: subscription.Status(from.Status), Checkout: from.Metadata[subscription.MetaCheckout],
		StartedAt: at(from.StartDate), PeriodStart: at(from.CurrentPeriodStart), PeriodEnd: at(from.CurrentPeriodEnd),
		CancelAtPeriodEnd: from.CancelAtPeriodEnd, EndedAt: at(from.EndedAt),
		Held: from.Metadata[subscription.MetaHeld], Taxed: len(from.DefaultTaxRates) > 0,
	}
	if seconds, err := strconv.ParseInt(from.Metadata[subscription.MetaHeldUntil], 10, 64); err == nil {
		s.HeldUntil = at(seconds)
	}
	if from.Items != nil {
		for _, item := range from.Items.Data {
			priced := s
			priceBy(&priced, item.Price)
			_, ours := priced.Sells()
			if ours || s.Price == "" {
				s = priced
			}
			if ours {
				break
			}
		}
	}
	offer := plan.Founding()
	if d := from.Discount; d != nil && d.Coupon != nil && d.Coupon.ID == offer.Key &&
		s.Price == offer.Plan+"_monthly" && (d.End == 0 || at(d.End).After(now)) {
		s.Founding, s.PriceCents = true, s.PriceCents-plan.Cents(d.Coupon.AmountOff)
	}
	return s
}

// priceBy sets a subscription's price; nil changes nothing.
func priceBy(s *subscription.Subscription, p *stripe.Price) {
	if p == nil {
		return
	}
	s.Price, s.Plan, s.PriceCents = keyOf(p), "", plan.Cents(p.UnitAmount)
	if p.Product == nil {
		return
	}
	if name, ours := strings.CutPrefix(p.Product.ID, productPrefix); ours {
		s.Plan = name
	}
}

// keyOf returns the key of the item that a price is for. A price whose lookup key was transferred
// to another price still has its metadata. For a price that is not ours it returns Stripe's id,
// which is no item's key.
func keyOf(p *stripe.Price) string {
	switch {
	case p.Metadata[metaOurs] != "":
		return p.Metadata[metaOurs]
	case p.LookupKey != "":
		return p.LookupKey
	}
	return p.ID
}

func invoiceOf(from *stripe.Invoice) subscription.Invoice {
	i := subscription.Invoice{
		ID: from.ID, Number: from.Number, Status: subscription.InvoiceStatus(from.Status),
		Reason: string(from.BillingReason), Currency: string(from.Currency),
		// Our tax is exclusive, so what is not tax is net.
		Net: plan.Cents(from.Total - from.Tax), VAT: plan.Cents(from.Tax), Total: plan.Cents(from.Total),
		Paid: plan.Cents(from.AmountPaid), CreatedAt: at(from.Created), Attempts: int(from.AttemptCount),
		NextAttempt: at(from.NextPaymentAttempt),
	}
	i.PeriodStart, i.PeriodEnd = servicePeriod(from)
	if from.Subscription != nil {
		i.Subscription = from.Subscription.ID
	}
	if from.PaymentIntent != nil {
		i.Payment = from.PaymentIntent.ID
	}
	if from.StatusTransitions != nil {
		i.PaidAt = at(from.StatusTransitions.PaidAt)
	}
	return i
}

// servicePeriod returns the time that an invoice is for: that of the line that ends last. The
// period of the invoice itself is the one before, in which its items were added.
func servicePeriod(from *stripe.Invoice) (start, end time.Time) {
	start, end = at(from.PeriodStart), at(from.PeriodEnd)
	if from.Lines == nil {
		return start, end
	}
	furthest := int64(0)
	for _, line := range from.Lines.Data {
		if line.Period != nil && line.Period.End > furthest {
			furthest = line.Period.End
			start, end = at(line.Period.Start), at(line.Period.End)
		}
	}
	return start, end
}

func paymentOf(from *stripe.PaymentIntent) subscription.Payment {
	p := subscription.Payment{
		ID: from.ID, Checkout: from.Metadata[subscription.MetaCheckout], Item: from.Metadata[subscription.MetaItem],
		Succeeded: from.Status == stripe.PaymentIntentStatusSucceeded, Amount: plan.Cents(from.Amount),
		CreatedAt: at(from.Created), Currency: string(from.Currency),
	}
	if c := from.LatestCharge; c != nil {
		p.Refunded, p.Disputed = plan.Cents(c.AmountRefunded), c.Disputed
	}
	return p
}

// cardOf returns nil when the payment method is not a card.
func cardOf(from *stripe.PaymentMethod) *subscription.Card {
	if from == nil || from.Card == nil {
		return nil
	}
	return &subscription.Card{
		Brand: string(from.Card.Brand), Last4: from.Card.Last4, ExpMonth: int(from.Card.ExpMonth),
		ExpYear: int(from.Card.ExpYear), Country: cardCountry(from.Card.Country),
	}
}

// cardCountry returns the code of a card's country; empty when it is not a country's.
func cardCountry(code string) string {
	if !plan.Located(code) {
		return ""
	}
	return code
}
