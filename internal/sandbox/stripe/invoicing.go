package stripe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

const (
	// finalAfter is how long a renewal's invoice stays a draft.
	finalAfter = time.Hour
	// lapseAfter is how long a subscription waits for its first payment.
	lapseAfter = 23 * time.Hour
)

// retryAfter are the pauses between attempts to collect an invoice: four attempts in three weeks.
var retryAfter = []time.Duration{5 * 24 * time.Hour, 7 * 24 * time.Hour, 9 * 24 * time.Hour}

// bill computes an invoice for lines, with discounts and taxes. It does not store the invoice. sub
// is nil for a one-off payment.
func (s *Server) bill(u *customer, sub *subscription, reason string, lines []*line) *invoice {
	i := &invoice{
		thing: s.thing("in", "invoice"), AccountCountry: "DE", BillingReason: reason,
		CollectionMethod: "charge_automatically", Currency: "usd", Customer: u.ID, CustomerAddress: u.Address,
		CustomerEmail: u.Email, DefaultTaxRates: []string{}, Status: draft, AutoAdvance: true, PeriodStart: s.unix(),
		PeriodEnd: s.unix(), TotalDiscounts: []discountAmount{}, TotalTaxes: []taxAmount{},
	}
	if sub != nil {
		i.Subscription, i.Currency, i.DefaultTaxRates = word(sub.ID), sub.Currency, slices.Clone(sub.DefaultTaxRates)
		i.SubscriptionDetails = &subscriptionDetails{sub.Metadata}
		i.Discount = sub.Discount
	}
	for _, l := range lines {
		if l.Discountable && i.Discount != nil {
			if off := s.off(i.Discount, l.Price, l.Amount); off > 0 {
				l.DiscountAmounts = []discountAmount{{off, i.Discount.ID}}
			}
		}
	}
	i.Lines = listOf("/v1/invoices/"+i.ID+"/lines", lines...)
	s.total(i)
	return i
}

// total computes an invoice's totals. Taxes are exclusive and rounded per line.
func (s *Server) total(i *invoice) {
	i.Subtotal, i.Tax, i.TotalDiscounts, i.TotalTaxes = 0, 0, []discountAmount{}, []taxAmount{}
	var off int64
	for _, l := range i.Lines.Data {
		i.Subtotal += l.Amount
		net := l.Amount
		for _, d := range l.DiscountAmounts {
			net, off = net-d.Amount, off+d.Amount
		}
		l.ExcludingTax, l.TaxAmounts = l.Amount, []taxAmount{}
		rates := l.TaxRates
		if len(rates) == 0 {
			rates = i.DefaultTaxRates
		}
		for _, id := range rates {
			tax := percentOf(net, string(s.TaxRates.rows[id].Percentage))
			l.TaxAmounts = append(l.TaxAmounts, taxAmount{
				Amount: tax, TaxRate: id, TaxableAmount: net, Reason: "standard_rated",
			})
			i.Tax += tax
			i.addTax(id, tax, net)
		}
	}
	if off > 0 {
		i.TotalDiscounts = append(i.TotalDiscounts, discountAmount{off, i.Discount.ID})
	}
	i.SubtotalNet, i.TotalNet = i.Subtotal, i.Subtotal-off
	i.Total = i.TotalNet + i.Tax
	i.AmountDue = max(0, i.Total)
	i.AmountRemaining = i.AmountDue
}

func (i *invoice) addTax(rate string, tax, net int64) {
	for n := range i.TotalTaxes {
		if t := &i.TotalTaxes[n]; t.TaxRate == rate {
			t.Amount, t.TaxableAmount = t.Amount+tax, t.TaxableAmount+net
			return
		}
	}
	i.TotalTaxes = append(i.TotalTaxes, taxAmount{
		Amount: tax, TaxRate: rate, TaxableAmount: net, Reason: "standard_rated",
	})
}

// off returns the discount on an amount of a price.
func (s *Server) off(d *discount, priceID string, amount int64) int64 {
	k, p := s.Coupons.rows[d.Coupon], s.Prices.rows[priceID]
	switch {
	case k == nil || amount <= 0, d.End != 0 && s.unix() >= d.End:
		return 0
	case k.AppliesTo != nil && !slices.Contains(k.AppliesTo.Products, p.Product):
		return 0
	case k.AmountOff != 0 && string(k.Currency) != p.Currency:
		return 0
	case k.AmountOff != 0:
		return min(int64(k.AmountOff), amount)
	}
	return percentOf(amount, strconv.FormatInt(int64(k.PercentOff), 10))
}

// percentOf returns a percentage of an amount, rounded half away from zero. The percentage has up
// to four decimals.
func percentOf(amount int64, percentage string) int64 {
	const decimals = 4
	whole, fraction, _ := strings.Cut(percentage, ".")
	fraction = (fraction + "0000")[:decimals]
	n, err := strconv.ParseInt(whole+fraction, 10, 64)
	if err != nil {
		return 0
	}
	return divide(amount*n, 100*10_000)
}

// divide rounds half away from zero.
func divide(a, b int64) int64 {
	if a < 0 {
		return -divide(-a, b)
	}
	return (2*a + b) / (2 * b)
}

// lineOf returns the line for a full period of a subscription.
func (s *Server) lineOf(sub *subscription, period span) *line {
	p := s.Prices.rows[sub.item().Price]
	l := s.newLine(p, sub.item().Quantity, p.UnitAmount*sub.item().Quantity, period)
	l.Subscription, l.SubscriptionItem, l.Type, l.Discountable = word(sub.ID), sub.item().ID, "subscription", true
	l.Metadata, l.TaxRates = sub.Metadata, slices.Clone(sub.item().TaxRates)
	l.Description = fmt.Sprintf("%d × %s (at %s / %s)", l.Quantity, s.Products.rows[p.Product].Name,
		dollars(p.UnitAmount), p.Recurring.Interval)
	return l
}

func (s *Server) newLine(p *price, quantity, amount int64, period span) *line {
	return &line{
		ID: s.newID("il"), Object: "line_item", Amount: amount, Currency: p.Currency,
		Description: s.Products.rows[p.Product].Name, DiscountAmounts: []discountAmount{},
		Metadata: map[string]string{}, Period: period, Price: p.ID, Quantity: quantity, TaxAmounts: []taxAmount{},
		TaxRates: []string{}, Type: "invoiceitem",
	}
}

// finalize makes an invoice due: it assigns the number and applies the customer's credit. An
// invoice with nothing to pay is paid.
func (s *Server) finalize(i *invoice) {
	u := s.Customers.rows[i.Customer]
	i.Status, i.Transitions.FinalizedAt = open, s.unix()
	i.Number = word(fmt.Sprintf("%s-%04d", u.InvoicePrefix, u.NextInvoice))
	u.NextInvoice++
	i.HostedURL = word("/invoice/" + i.ID)
	i.StartingBalance = u.Balance
	switch { // a negative balance is the customer's credit
	case i.BillingReason == manual: // it was paid before the invoice was created
	case i.Total < 0:
		i.AmountDue, u.Balance = 0, u.Balance+i.Total
	default:
		used := min(i.Total, max(0, -u.Balance))
		i.AmountDue, u.Balance = i.Total-used, u.Balance+used
	}
	i.AmountRemaining = i.AmountDue
	ending := u.Balance
	i.EndingBalance = &ending
	if i.AmountDue > 0 && i.PaymentIntent == "" {
		p := s.newIntent(i.AmountDue, i.Currency, u.ID, map[string]string{})
		p.Invoice = word(i.ID)
		i.PaymentIntent = word(p.ID)
	}
	s.emit("invoice.finalized", i)
}

// collect tries to pay an invoice with the card on file. When the card is declined, the
// subscription becomes past due.
func (s *Server) collect(i *invoice) {
	if i.AmountDue == 0 {
		s.markPaid(i, "")
		return
	}
	m := s.cardFor(i)
	i.Attempted = true
	i.AttemptCount++
	p := s.Intents.rows[string(i.PaymentIntent)]
	if s.charge(p, m) == nil {
		s.markPaid(i, string(p.LatestCharge))
		return
	}
	i.Charge = p.LatestCharge
	s.Customers.rows[i.Customer].Delinquent = true
	i.NextPaymentAttempt = 0
	sub := s.Subscriptions.rows[string(i.Subscription)]
	again := int(i.AttemptCount) <= len(retryAfter) && i.AutoAdvance && sub != nil && !sub.ended() &&
		sub.Status != incomplete
	if again {
		at := s.now.Add(retryAfter[i.AttemptCount-1])
		i.NextPaymentAttempt = stamp(at.Unix())
		s.due(at, dueRetry, i.ID)
	} else {
		i.AutoAdvance = false
	}
	s.emit("invoice.payment_failed", i)
	s.emit("invoice.updated", i)
	if sub != nil && !sub.ended() && sub.Status != incomplete {
		s.fallBehind(sub, again)
	}
}

// fallBehind marks a subscription past due when there will be a retry, else unpaid.
func (s *Server) fallBehind(sub *subscription, again bool) {
	was := sub.Status
	switch {
	case !again:
		sub.Status = unpaid
	case sub.Status == active:
		sub.Status = pastDue
	}
	if sub.Status != was {
		s.emit("customer.subscription.updated", sub)
	}
}

// cardFor returns the payment method for an invoice: the subscription's, else the customer's; nil
// when there is none.
func (s *Server) cardFor(i *invoice) *paymentMethod {
	if sub := s.Subscriptions.rows[string(i.Subscription)]; sub != nil {
		return s.methodOf(sub)
	}
	return s.Methods.rows[string(s.Customers.rows[i.Customer].InvoiceSettings.DefaultPaymentMethod)]
}

// markPaid marks an invoice as paid and updates its subscription.
func (s *Server) markPaid(i *invoice, charge string) {
	i.Status, i.Paid, i.Transitions.PaidAt, i.NextPaymentAttempt = paid, true, s.unix(), 0
	i.AmountPaid, i.AmountRemaining, i.Charge = i.AmountDue, 0, word(charge)
	i.Attempted, i.AutoAdvance = true, false
	s.Customers.rows[i.Customer].Delinquent = false
	s.emit("invoice.updated", i)
	s.emit("invoice.paid", i)
	s.emit("invoice.payment_succeeded", i)
	sub := s.Subscriptions.rows[string(i.Subscription)]
	if sub == nil || sub.ended() || sub.Status == active {
		return
	}
	final := s.Invoices.all(func(o *invoice) bool {
		return o.Subscription == i.Subscription && o.Status != draft && o.Status != void
	})
	if len(final) == 0 || final[len(final)-1].ID != i.ID {
		return // a newer invoice is still unpaid
	}
	began := sub.Status == incomplete
	sub.Status = active
	if began {
		s.due(instant(sub.PeriodEnd), dueRenewal, sub.ID)
	}
	s.emit("customer.subscription.updated", sub)
}

// boundary returns the end of the period that begins at start: an anniversary of the anchor, or the
// last day of a month that lacks that day.
func boundary(anchor, start time.Time, months int) time.Time {
	for n := 1; ; n++ {
		if end := plan.AddMonths(anchor, n*months); end.After(start) {
			return end
		}
	}
}
