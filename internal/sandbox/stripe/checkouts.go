package stripe

import (
	"strings"
	"time"
)

func (s *Server) routesOfCheckouts() {
	s.api("POST /v1/checkout/sessions", createSession)
	s.api("GET /v1/checkout/sessions/{id}", func(s *Server, c *call) (any, error) { return one(c, s.Sessions) })
	s.api("GET /v1/checkout/sessions", listSessions)
	s.api("GET /v1/checkout/sessions/{id}/line_items", func(s *Server, c *call) (any, error) {
		x, err := s.Sessions.find(c.id, "id")
		c.p.integer("limit")
		if err := errorsFirst(err, c.p.done()); err != nil {
			return nil, err
		}
		return x.LineItems, nil
	})
	s.api("POST /v1/checkout/sessions/{id}/expire", expireSession)
}

const (
	modePayment      = "payment"
	modeSubscription = "subscription"
	manual           = "manual" // the billing reason of one-off invoices
	complete         = "complete"
	expired          = "expired"
	shortestSession  = 30 * time.Minute
	longestSession   = 24 * time.Hour
	sessionMark      = "{CHECKOUT_SESSION_ID}" // placeholder in the success URL
)

func createSession(s *Server, c *call) (any, error) {
	x := &session{
		thing: s.thing("cs_test", "checkout.session"), CancelURL: word(c.p.text("cancel_url")),
		ClientReferenceID: word(c.p.text("client_reference_id")), Customer: word(c.p.text("customer")),
		CustomerEmail: word(c.p.text("customer_email")), Mode: c.p.oneOf("mode", modePayment, modeSubscription),
		PaymentStatus: unpaid, MethodTypes: []string{"card"}, Status: open,
		SuccessURL: word(c.p.require("success_url")), Locale: word(c.p.text("locale")),
	}
	c.p.require("mode")
	x.Metadata = c.p.metadata(nil)
	if types, ok := c.p.list("payment_method_types"); ok && (len(types) != 1 || types[0] != "card") {
		return nil, invalid("", "payment_method_types", "The sandbox takes cards only.")
	}
	until, told := c.p.integer("expires_at")
	if !told {
		until = s.now.Add(longestSession).Unix()
	}
	x.ExpiresAt = stamp(until)
	s.readSale(c.p, x)
	items := c.p.each("line_items")
	for _, item := range items {
		s.readItem(item, x)
	}
	if err := c.p.done(); err != nil {
		return nil, err
	}
	if err := s.checkSession(x); err != nil {
		return nil, err
	}
	s.price(x)
	x.Base = base(c.r)
	x.URL = word(x.Base + "/pay/" + x.ID)
	s.Sessions.add(x)
	s.due(instant(x.ExpiresAt), dueExpiry, x.ID)
	return x, nil
}

// readSale reads the parameters of the payment or subscription that the session creates.
func (s *Server) readSale(p params, x *session) {
	sale := &x.Sale
	if x.Mode == modeSubscription {
		under := p.in("subscription_data")
		sale.SubscriptionMetadata, sale.Description = under.metadata(nil), under.text("description")
		sale.TaxRates, _ = under.list("default_tax_rates")
		p.oneOf("payment_method_collection", "always", "if_required")
	} else {
		under := p.in("payment_intent_data")
		sale.IntentMetadata, sale.Description = under.metadata(nil), under.text("description")
		under.oneOf("setup_future_usage", "", "off_session", "on_session")
		on, _ := p.in("invoice_creation").boolean("enabled")
		x.InvoiceCreation = &enabled{on}
		data := p.in("invoice_creation").in("invoice_data")
		sale.InvoiceMetadata = data.metadata(nil)
		data.text("description")
		p.oneOf("submit_type", "auto", "pay")
	}
	for n, d := range p.each("discounts") {
		if sale.Coupon = d.require("coupon"); n > 0 {
			p.fail(invalid("", "discounts", "You may only specify one discount."))
		}
	}
	p.boolean("allow_promotion_codes")
	p.oneOf("billing_address_collection", "auto", "required")
	x.AddressUpdate = p.in("customer_update").oneOf("address", "never", "auto") == "auto"
	p.in("customer_update").oneOf("name", "never", "auto")
	p.in("tax_id_collection").boolean("enabled")
	if on, _ := p.in("automatic_tax").boolean("enabled"); on {
		p.fail(invalid("", "automatic_tax", "The sandbox works no taxes out by itself."))
	}
}

func (s *Server) readItem(p params, x *session) {
	item := &lineItem{ID: s.newID("li"), Object: "item", Price: p.require("price"), Quantity: 1}
	if n, ok := p.integer("quantity"); ok {
		item.Quantity = n
	} else {
		p.require("quantity")
	}
	item.TaxRates, _ = p.list("tax_rates")
	x.LineItems.Data = append(x.LineItems.Data, item)
}

func (s *Server) checkSession(x *session) error {
	kind := map[string]string{modePayment: "one_time", modeSubscription: "recurring"}[x.Mode]
	if len(x.LineItems.Data) != 1 {
		return invalid("", "line_items", "The sandbox sells one item at a time, not %d.", len(x.LineItems.Data))
	}
	item := x.LineItems.Data[0]
	if _, err := s.sellable(item.Price, "line_items[0][price]", kind); err != nil {
		return err
	}
	if item.Quantity < 1 {
		return invalid("parameter_invalid_integer", "line_items[0][quantity]",
			"This value must be greater than or equal to 1.")
	}
	if err := errorsFirst(
		s.ratesExist(item.TaxRates, "line_items[0][tax_rates]"),
		s.ratesExist(x.Sale.TaxRates, "subscription_data[default_tax_rates]"),
	); err != nil {
		return err
	}
	if x.Sale.Coupon != "" {
		if x.Mode != modeSubscription {
			return invalid("", "discounts", "The sandbox takes coupons for subscriptions only.")
		}
		if err := s.redeemable(x.Sale.Coupon, "discounts[0][coupon]"); err != nil {
			return err
		}
	}
	switch life := instant(x.ExpiresAt).Sub(s.now); {
	case x.Customer == "" && x.Mode == modeSubscription:
		return invalid("parameter_missing", "customer", "The sandbox sells subscriptions to customers only: name one.")
	case x.Customer == "" && x.AddressUpdate:
		return invalid("", "customer_update", "`customer_update` can only be used with `customer`.")
	case life < shortestSession || life > longestSession:
		return invalid("", "expires_at",
			"The `expires_at` timestamp must be at least 30 minutes and at most 24 hours from Checkout Session "+
				"creation.")
	case !strings.HasPrefix(string(x.SuccessURL), "http"):
		return invalid("url_invalid", "success_url", "Not a valid URL")
	}
	if x.Customer != "" {
		_, err := s.liveCustomer(string(x.Customer), "customer")
		return err
	}
	return nil
}

// price computes the amounts of a session.
func (s *Server) price(x *session) {
	item := x.LineItems.Data[0]
	p := s.Prices.rows[item.Price]
	item.Currency, item.Description, item.Subtotal = p.Currency, s.Products.rows[p.Product].Name,
		p.UnitAmount*item.Quantity
	if x.Sale.Coupon != "" {
		item.Discount = s.off(&discount{Coupon: x.Sale.Coupon}, p.ID, item.Subtotal)
	}
	rates := item.TaxRates
	if len(rates) == 0 {
		rates = x.Sale.TaxRates
	}
	for _, id := range rates {
		item.Tax += percentOf(item.Subtotal-item.Discount, string(s.TaxRates.rows[id].Percentage))
	}
	item.Total = item.Subtotal - item.Discount + item.Tax
	x.LineItems = listOf("/v1/checkout/sessions/"+x.ID+"/line_items", item)
	x.Currency, x.Subtotal, x.Total = p.Currency, item.Subtotal, item.Total
	x.TotalDetails = totalDetails{Discount: item.Discount, Tax: item.Tax}
}

func listSessions(s *Server, c *call) (any, error) {
	owner, sub, by := c.p.text("customer"), c.p.text("subscription"), c.p.text("payment_intent")
	status := c.p.oneOf("status", "", open, complete, expired)
	return page(c, s.Sessions, func(x *session) bool {
		return (owner == "" || string(x.Customer) == owner) && (sub == "" || string(x.Subscription) == sub) &&
			(by == "" || string(x.PaymentIntent) == by) && (status == "" || x.Status == status)
	})
}

func expireSession(s *Server, c *call) (any, error) {
	x, err := s.Sessions.find(c.id, "id")
	if err := errorsFirst(err, c.p.done()); err != nil {
		return nil, err
	}
	if x.Status != open {
		return nil, invalid("", "",
			"Only Checkout Sessions with a status in [\"open\"] can be expired. This Checkout Session has a status "+
				"of `%s`.", x.Status)
	}
	s.expire(x)
	return x, nil
}

func (s *Server) expire(x *session) {
	x.Status, x.URL = expired, ""
	s.emit("checkout.session.expired", x)
}

// pay completes a session with a card and the holder's country, or returns why it cannot.
func (s *Server) pay(x *session, card Card, country string) error {
	if x.Status != open {
		return invalid("", "", "This checkout is %s: begin another.", x.Status)
	}
	u := s.Customers.rows[string(x.Customer)]
	details := billingDetails{}
	if u != nil {
		details = billingDetails{Address: u.Address, Email: u.Email, Name: u.Name}
	}
	if country != "" {
		details.Address = &address{Country: word(country)}
	}
	m, err := s.method(card, details)
	if err != nil {
		return err
	}
	if refusal := m.refuses(); refusal != nil {
		p := s.intentOf(x)
		return s.charge(p, m)
	}
	if u == nil {
		u = s.guest(x)
	}
	if x.AddressUpdate && details.Address != nil && (u.Address == nil || *u.Address != *details.Address) {
		u.Address = details.Address
		s.emit("customer.updated", u)
	}
	x.CustomerDetails = &customerDetails{Address: details.Address, Email: u.Email, Name: u.Name}
	if x.Mode == modeSubscription {
		s.attach(m, u.ID)
		s.completeSubscription(x, m)
	} else {
		s.completePayment(x, u, m)
	}
	x.Status, x.URL, x.PaymentStatus = complete, "", paid
	if x.Total == 0 {
		x.PaymentStatus = "no_payment_required"
	}
	s.emit("checkout.session.completed", x)
	return nil
}

// guest creates the customer of a session without one.
func (s *Server) guest(x *session) *customer {
	u := &customer{
		thing: s.thing("cus", "customer"), TaxExempt: "none", NextInvoice: 1, Email: x.CustomerEmail,
		InvoicePrefix: s.newID("x")[2:10],
	}
	s.Customers.add(u)
	x.Customer = word(u.ID)
	s.emit("customer.created", u)
	return u
}

// intentOf returns the payment intent of a session, which is kept across declined attempts.
func (s *Server) intentOf(x *session) *intent {
	if p := s.Intents.rows[x.Sale.Intent]; p != nil {
		return p
	}
	meta := x.Sale.IntentMetadata
	if meta == nil {
		meta = map[string]string{}
	}
	p := s.newIntent(x.Total, x.Currency, string(x.Customer), meta)
	p.Description = word(x.Sale.Description)
	x.Sale.Intent = p.ID
	if x.Mode == modePayment {
		x.PaymentIntent = word(p.ID)
	}
	return p
}

func (s *Server) completeSubscription(x *session, m *paymentMethod) {
	item := x.LineItems.Data[0]
	sub, i := s.subscribe(&order{
		Customer: string(x.Customer), Price: item.Price, Coupon: x.Sale.Coupon, Method: m.ID,
		Description: x.Sale.Description, Quantity: item.Quantity, Rates: x.Sale.TaxRates, ItemRates: item.TaxRates,
		Metadata: x.Sale.SubscriptionMetadata, Session: x.ID,
	})
	s.collect(i) // the card was just seen to pay
	x.Subscription, x.Invoice = word(sub.ID), word(i.ID)
}

func (s *Server) completePayment(x *session, u *customer, m *paymentMethod) {
	p := s.intentOf(x)
	p.Customer = word(u.ID)
	_ = s.charge(p, m) // the card was just seen to pay
	if !x.InvoiceCreation.Enabled {
		return
	}
	item := x.LineItems.Data[0]
	l := s.newLine(s.Prices.rows[item.Price], item.Quantity, item.Subtotal, span{Start: s.unix(), End: s.unix()})
	l.TaxRates = append([]string{}, item.TaxRates...)
	i := s.bill(u, nil, manual, []*line{l})
	i.Metadata, i.PaymentIntent, i.Currency = x.Sale.InvoiceMetadata, word(p.ID), p.Currency
	s.Invoices.add(i)
	s.emit("invoice.created", i)
	s.finalize(i)
	s.markPaid(i, string(p.LatestCharge))
	x.Invoice = word(i.ID)
}
