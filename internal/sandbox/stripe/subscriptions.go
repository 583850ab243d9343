package stripe

func (s *Server) routesOfSubscriptions() {
	s.api("POST /v1/subscriptions", createSubscription)
	s.api("POST /v1/subscriptions/{id}", updateSubscription)
	s.api("GET /v1/subscriptions/{id}", func(s *Server, c *call) (any, error) { return one(c, s.Subscriptions) })
	s.api("GET /v1/subscriptions", listSubscriptions)
	s.api("DELETE /v1/subscriptions/{id}", cancelSubscription)
}

const (
	allowIncomplete   = "allow_incomplete"
	errorIfIncomplete = "error_if_incomplete"
)

// sellable returns a price that may be sold by this kind of sale.
func (s *Server) sellable(id, param, kind string) (*price, error) {
	p, err := s.Prices.find(id, param)
	switch {
	case err != nil:
		return nil, err
	case !p.Active:
		return nil, invalid("price_inactive", param,
			"The price specified is inactive. This field only accepts active prices.")
	case !s.Products.rows[p.Product].Active:
		return nil, invalid("product_inactive", param, "The product %s of price %s is not active.", p.Product, id)
	case p.Type != kind:
		return nil, invalid("", param, "The price specified is %s, and %s is what can be sold here.", p.Type, kind)
	}
	return p, nil
}

func createSubscription(s *Server, c *call) (any, error) {
	o := order{Quantity: 1, Customer: c.p.require("customer"), Description: c.p.text("description")}
	o.Coupon, _ = c.p.readDiscount()
	items := c.p.each("items")
	if len(items) != 1 {
		return nil, invalid("", "items", "The sandbox takes subscriptions of one item, not of %d.", len(items))
	}
	o.Price = items[0].require("price")
	if n, ok := items[0].integer("quantity"); ok {
		o.Quantity = n
	}
	o.Rates, _ = c.p.list("default_tax_rates")
	o.ItemRates, _ = items[0].list("tax_rates")
	o.Metadata, o.Method = c.p.metadata(nil), c.p.text("default_payment_method")
	behavior := c.p.oneOf("payment_behavior", allowIncomplete, errorIfIncomplete)
	c.p.oneOf("collection_method", "charge_automatically")
	c.p.boolean("off_session")
	if err := c.p.done(); err != nil {
		return nil, err
	}
	u, err := s.liveCustomer(o.Customer, "customer")
	if err != nil {
		return nil, err
	}
	if _, err := s.sellable(o.Price, "items[0][price]", "recurring"); err != nil {
		return nil, err
	}
	if err := s.mayBegin(&o); err != nil {
		return nil, err
	}
	m := s.Methods.rows[o.Method]
	if m == nil {
		m = s.Methods.rows[string(u.InvoiceSettings.DefaultPaymentMethod)]
	}
	if behavior == errorIfIncomplete {
		if refusal := refusalOf(m); refusal != nil {
			return nil, refusal
		}
	}
	sub, i := s.subscribe(&o)
	if s.collect(i); sub.Status == incomplete {
		s.due(s.now.Add(lapseAfter), dueLapse, sub.ID)
	}
	return sub, nil
}

// mayBegin checks the objects that an order refers to.
func (s *Server) mayBegin(o *order) error {
	err := errorsFirst(s.ratesExist(o.Rates, "default_tax_rates"), s.ratesExist(o.ItemRates, "tax_rates"))
	if err == nil && o.Coupon != "" {
		err = s.redeemable(o.Coupon, "coupon")
	}
	if err == nil && o.Method != "" {
		err = s.owns(o.Method, o.Customer)
	}
	return err
}

// refusalOf returns why a payment method, which may be nil, would be declined now.
func refusalOf(m *paymentMethod) *apiError {
	if m == nil {
		return invalid("resource_missing", "",
			"This customer has no attached payment source or default payment method.")
	}
	return m.refuses()
}

// edit holds the parameters of a subscription's update.
type edit struct {
	to                   *change
	behavior             string
	atEnd, atEndTold     bool
	rates                []string
	ratesTold            bool
	method, coupon       string
	methodTold, coupTold bool
	description          *string
	comment              *string
	metadata             map[string]string
}

func updateSubscription(s *Server, c *call) (any, error) {
	sub, err := s.Subscriptions.find(c.id, "id")
	if err != nil {
		return nil, err
	}
	e, err := s.readEdit(c.p, sub)
	if err := errorsFirst(err, c.p.done()); err != nil {
		return nil, err
	}
	if sub.ended() {
		if e.to != nil || e.atEndTold || e.ratesTold || e.methodTold || e.coupTold || e.description != nil {
			return nil, invalid("", "",
				"A canceled subscription can only update its cancellation_details and metadata.")
		}
	}
	if err := s.check(sub, &e); err != nil {
		return nil, err
	}
	return s.apply(sub, &e)
}

func (s *Server) readEdit(p params, sub *subscription) (edit, error) {
	var e edit
	prorate := p.oneOf("proration_behavior", "create_prorations", "always_invoice", "none")
	restart := p.oneOf("billing_cycle_anchor", "unchanged", "now") == "now"
	e.behavior = p.oneOf("payment_behavior", allowIncomplete, errorIfIncomplete)
	e.atEnd, e.atEndTold = p.boolean("cancel_at_period_end")
	e.rates, e.ratesTold = p.list("default_tax_rates")
	e.method, e.methodTold = p.lookup("default_payment_method")
	e.coupon, e.coupTold = p.readDiscount()
	if v, ok := p.lookup("description"); ok {
		e.description = &v
	}
	if v, ok := p.in("cancellation_details").lookup("comment"); ok {
		e.comment = &v
	}
	p.boolean("off_session")
	e.metadata = p.metadata(sub.Metadata)
	items := p.each("items")
	if len(items) == 0 && !restart {
		return e, nil
	}
	e.to = &change{
		price: s.Prices.rows[sub.item().Price], quantity: sub.item().Quantity, prorate: prorate, restart: restart,
	}
	for n, item := range items {
		if id := item.require("id"); n > 0 || id != sub.item().ID {
			return e, invalid("", "items",
				"The sandbox takes subscriptions of one item: name its id, %s, and no other.", sub.item().ID)
		}
		if id, ok := item.lookup("price"); ok {
			to, err := s.sellable(id, item.key("price"), "recurring")
			if err != nil {
				return e, err
			}
			e.to.price = to
		}
		if n, ok := item.integer("quantity"); ok {
			e.to.quantity = n
		}
	}
	return e, nil
}

// readDiscount reads a coupon, or a list with at most one discount; an empty string removes the
// discount.
func (p params) readDiscount() (coupon string, told bool) {
	if coupon, told = p.lookup("coupon"); told {
		return coupon, true
	}
	if v, sent := p.lookup("discounts"); sent {
		if v != "" {
			p.fail(invalid("", "discounts", "Invalid array"))
		}
		return "", true
	}
	for n, d := range p.each("discounts") {
		if coupon, told = d.require("coupon"), true; n > 0 {
			p.fail(invalid("", "discounts", "The sandbox gives one discount at a time."))
		}
	}
	return coupon, told
}

// check refuses an invalid edit.
func (s *Server) check(sub *subscription, e *edit) error {
	if err := s.ratesExist(e.rates, "default_tax_rates"); err != nil {
		return err
	}
	if e.method != "" {
		if err := s.owns(e.method, sub.Customer); err != nil {
			return err
		}
	}
	if e.coupon != "" {
		return s.redeemable(e.coupon, "coupon")
	}
	if e.to != nil && e.to.price.Currency != sub.Currency {
		return invalid("", "items[0][price]", "The price is in %s, and the subscription in %s.", e.to.price.Currency,
			sub.Currency)
	}
	if e.to != nil && sub.Status == incomplete {
		return invalid("", "items",
			"A subscription that is incomplete can only update its metadata and default payment method.")
	}
	return nil
}

// edited returns the subscription after an edit, and the lines to bill at once.
func (s *Server) edited(sub *subscription, e *edit) (next subscription, lines []*line) {
	next = *sub
	if e.ratesTold {
		next.DefaultTaxRates = append([]string{}, e.rates...)
	}
	if e.methodTold {
		next.DefaultPaymentMethod = word(e.method)
	}
	if e.description != nil {
		next.Description = word(*e.description)
	}
	if e.comment != nil {
		next.Cancellation.Comment = word(*e.comment)
	}
	next.Metadata = e.metadata
	if e.to != nil && (e.to.restart || e.to.price.ID != sub.item().Price || e.to.quantity != sub.item().Quantity) {
		lines = s.reprice(&next, *e.to)
	}
	if e.atEndTold && e.atEnd != next.CancelAtPeriodEnd {
		next.CancelAtPeriodEnd, next.CancelAt, next.CanceledAt, next.Cancellation.Reason = e.atEnd, 0, 0, ""
		if e.atEnd {
			next.CanceledAt, next.Cancellation.Reason = s.unix(), "cancellation_requested"
		}
	}
	if next.CancelAtPeriodEnd {
		next.CancelAt = next.PeriodEnd
	}
	return next, lines
}

// apply executes an edit. When its payment is declined and payment_behavior is error_if_incomplete,
// nothing changes.
func (s *Server) apply(sub *subscription, e *edit) (any, error) {
	next, lines := s.edited(sub, e)
	var i *invoice
	if lines != nil {
		i = s.bill(s.Customers.rows[sub.Customer], &next, "subscription_update", lines)
		if m := s.methodOf(&next); i.Total > 0 && e.behavior == errorIfIncomplete {
			if refusal := refusalOf(m); refusal != nil {
				return nil, refusal
			}
		}
	}
	moved := next.PeriodEnd != sub.PeriodEnd
	*sub = next
	if e.coupTold {
		sub.Discount = nil
		if e.coupon != "" {
			s.grant(sub, e.coupon, "")
		}
	}
	if moved {
		s.due(instant(sub.PeriodEnd), dueRenewal, sub.ID)
	}
	if i != nil {
		s.issue(sub, i)
	}
	s.emit("customer.subscription.updated", sub)
	if i != nil {
		s.finalize(i)
		s.collect(i)
	}
	return sub, nil
}

func (s *Server) methodOf(sub *subscription) *paymentMethod {
	if sub.DefaultPaymentMethod != "" {
		return s.Methods.rows[string(sub.DefaultPaymentMethod)]
	}
	return s.Methods.rows[string(s.Customers.rows[sub.Customer].InvoiceSettings.DefaultPaymentMethod)]
}

func cancelSubscription(s *Server, c *call) (any, error) {
	sub, err := s.Subscriptions.find(c.id, "id")
	if err != nil {
		return nil, err
	}
	now, _ := c.p.boolean("invoice_now")
	prorate, _ := c.p.boolean("prorate")
	comment := c.p.in("cancellation_details").text("comment")
	if err := c.p.done(); err != nil {
		return nil, err
	}
	switch {
	case sub.ended():
		return nil, missing("subscription", c.id, "id")
	case now || prorate:
		return nil, invalid("", "prorate", "The sandbox cancels without prorating or invoicing.")
	}
	sub.Cancellation.Comment = word(comment)
	s.end(sub, "cancellation_requested")
	return sub, nil
}

func listSubscriptions(s *Server, c *call) (any, error) {
	owner, by := c.p.text("customer"), c.p.text("price")
	status := c.p.oneOf("status", "", "all", active, pastDue, unpaid, canceled, incomplete, incompleteExpired, "ended",
		"trialing", "paused")
	return page(c, s.Subscriptions, func(u *subscription) bool {
		var fits bool
		switch status {
		case "":
			fits = u.Status != canceled
		case "all":
			fits = true
		case "ended":
			fits = u.ended()
		default:
			fits = u.Status == status
		}
		return fits && (owner == "" || u.Customer == owner) && (by == "" || u.item().Price == by)
	})
}
