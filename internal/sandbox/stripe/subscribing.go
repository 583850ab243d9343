package stripe

import (
	"fmt"
	"slices"
)

// order holds the parameters of a new subscription.
type order struct {
	Customer, Price, Coupon, Method, Description string
	Quantity                                     int64
	Rates, ItemRates                             []string
	Metadata                                     map[string]string
	Session                                      string // id of the checkout session
}

// subscribe creates a subscription with its first invoice, which is due and unpaid.
func (s *Server) subscribe(o *order) (*subscription, *invoice) {
	p := s.Prices.rows[o.Price]
	sub := &subscription{
		thing: s.thing("sub", "subscription"), Anchor: s.unix(), CollectionMethod: "charge_automatically",
		Currency: p.Currency, PeriodStart: s.unix(), PeriodEnd: stamp(boundary(s.now, s.now, p.months()).Unix()),
		Customer: o.Customer, DefaultPaymentMethod: word(o.Method), DefaultTaxRates: append([]string{}, o.Rates...),
		Description: word(o.Description), StartDate: s.unix(), Status: incomplete,
	}
	sub.Metadata = o.Metadata
	item := &subscriptionItem{
		thing: s.thing("si", "subscription_item"), Price: p.ID, Quantity: o.Quantity, Subscription: sub.ID,
		TaxRates: append([]string{}, o.ItemRates...),
	}
	sub.Items = listOf("/v1/subscription_items?subscription="+sub.ID, item)
	if o.Coupon != "" {
		s.grant(sub, o.Coupon, o.Session)
	}
	s.Subscriptions.add(sub)
	s.emit("customer.subscription.created", sub)
	i := s.bill(s.Customers.rows[o.Customer], sub, "subscription_create", []*line{
		s.lineOf(sub, span{Start: sub.PeriodStart, End: sub.PeriodEnd}),
	})
	s.issue(sub, i)
	s.finalize(i)
	return sub, i
}

// issue stores an invoice as the latest of its subscription.
func (s *Server) issue(sub *subscription, i *invoice) {
	s.Invoices.add(i)
	sub.LatestInvoice = word(i.ID)
	s.emit("invoice.created", i)
}

// grant applies a coupon to a subscription from now on.
func (s *Server) grant(sub *subscription, id, session string) {
	k := s.Coupons.rows[id]
	sub.Discount = &discount{
		ID: s.newID("di"), Object: "discount", Coupon: id, Customer: sub.Customer, Start: s.unix(),
		Subscription: word(sub.ID), Session: word(session),
	}
	switch k.Duration {
	case "repeating":
		sub.Discount.End = stamp(boundary(s.now, s.now, int(k.DurationInMonths)).Unix())
	case "once":
		sub.Discount.End = s.unix() + 1
	}
	k.TimesRedeemed++
	s.emit("customer.discount.created", sub.Discount)
}

// renew begins a subscription's next period, or ends the subscription if it is cancelled at the
// period's end.
func (s *Server) renew(sub *subscription) {
	if sub.CancelAtPeriodEnd {
		s.end(sub, "cancellation_requested")
		return
	}
	over := span{Start: sub.PeriodStart, End: sub.PeriodEnd}
	months := s.Prices.rows[sub.item().Price].months()
	sub.PeriodStart, sub.PeriodEnd = over.End, stamp(boundary(instant(sub.Anchor), instant(over.End), months).Unix())
	if d := sub.Discount; d != nil && d.End != 0 && d.End <= s.unix() {
		sub.Discount = nil
		s.emit("customer.discount.deleted", d)
	}
	//nolint:gocritic // pending items are included
	lines := append(sub.Pending, s.lineOf(sub, span{Start: sub.PeriodStart, End: sub.PeriodEnd}))
	sub.Pending = nil
	i := s.bill(s.Customers.rows[sub.Customer], sub, "subscription_cycle", lines)
	i.PeriodStart, i.PeriodEnd = over.Start, over.End // an invoice covers the period before it
	i.AutoAdvance = sub.Status != unpaid              // invoices of an unpaid subscription stay drafts
	if i.AutoAdvance {
		at := s.now.Add(finalAfter)
		i.FinalizesAt = stamp(at.Unix())
		s.due(at, dueFinal, i.ID)
	}
	s.issue(sub, i)
	s.emit("customer.subscription.updated", sub)
	s.due(instant(sub.PeriodEnd), dueRenewal, sub.ID)
}

// end cancels a subscription immediately. Nothing more is collected, and nothing is refunded.
func (s *Server) end(sub *subscription, reason string) {
	sub.Status, sub.EndedAt = canceled, s.unix()
	if sub.CanceledAt == 0 {
		sub.CanceledAt = s.unix()
	}
	sub.Cancellation.Reason = word(reason)
	sub.Pending = nil
	s.emit("customer.subscription.deleted", sub)
	for _, i := range s.Invoices.all(func(i *invoice) bool {
		return string(i.Subscription) == sub.ID && (i.Status == open || i.Status == draft)
	}) {
		i.AutoAdvance, i.NextPaymentAttempt = false, 0
		s.emit("invoice.updated", i)
	}
}

// lapse ends a subscription whose first payment was not made.
func (s *Server) lapse(sub *subscription) {
	sub.Status, sub.EndedAt = incompleteExpired, s.unix()
	if i := s.Invoices.rows[string(sub.LatestInvoice)]; i != nil && i.Status == open {
		s.giveUp(i, void)
	}
	s.emit("customer.subscription.updated", sub)
}

// change is a change of a subscription's price.
type change struct {
	price    *price
	quantity int64
	prorate  string // create_prorations, always_invoice, none
	restart  bool   // the billing cycle starts now
}

// reprice changes a subscription's price and returns the lines to bill at once; none when nothing
// is due yet.
func (s *Server) reprice(sub *subscription, to change) []*line {
	was := s.Prices.rows[sub.item().Price]
	restart := to.restart || was.months() != to.price.months()
	var lines []*line
	if to.prorate != "none" {
		lines = append(lines, s.prorated(sub, was, sub.item().Quantity, -1, "Unused time on %s after %s"))
	}
	item := *sub.item()
	item.Price, item.Quantity = to.price.ID, to.quantity
	sub.Items = listOf(sub.Items.URL, &item)
	switch {
	case restart:
		sub.Anchor, sub.PeriodStart, sub.PeriodEnd = s.unix(), s.unix(),
			stamp(boundary(s.now, s.now, to.price.months()).Unix())
		return append(lines, s.lineOf(sub, span{Start: sub.PeriodStart, End: sub.PeriodEnd}))
	case to.prorate == "none":
		return nil
	}
	lines = append(lines, s.prorated(sub, to.price, to.quantity, 1, "Remaining time on %s after %s"))
	if to.prorate == "always_invoice" {
		return lines
	}
	sub.Pending = append(slices.Clone(sub.Pending), lines...)
	return nil
}

// prorated returns the line for the rest of the period at a price, less the discount.
func (s *Server) prorated(sub *subscription, p *price, quantity, sign int64, text string) *line {
	net := p.UnitAmount * quantity
	if sub.Discount != nil {
		net -= s.off(sub.Discount, p.ID, net)
	}
	amount := sign * divide(net*int64(sub.PeriodEnd-s.unix()), int64(sub.PeriodEnd-sub.PeriodStart))
	l := s.newLine(p, quantity, amount, span{Start: s.unix(), End: sub.PeriodEnd})
	l.Description = fmt.Sprintf(text, s.Products.rows[p.Product].Name, s.now.Format("2 Jan 2006"))
	l.Proration, l.Subscription, l.SubscriptionItem, l.Metadata = true, word(sub.ID), sub.item().ID, sub.Metadata
	return l
}
