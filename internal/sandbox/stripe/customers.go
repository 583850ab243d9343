package stripe

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

func (s *Server) routesOfCustomers() {
	s.api("POST /v1/customers", createCustomer)
	s.api("POST /v1/customers/{id}", updateCustomer)
	s.api("GET /v1/customers/{id}", readCustomer)
	s.api("DELETE /v1/customers/{id}", deleteCustomer)
	s.api("GET /v1/customers", listCustomers)
	s.api("GET /v1/customers/{id}/payment_methods", listMethodsOf)
	s.api("GET /v1/payment_methods", listMethods)
	s.api("GET /v1/payment_methods/{id}", func(s *Server, c *call) (any, error) { return one(c, s.Methods) })
	s.api("POST /v1/payment_methods/{id}/attach", attachMethod)
	s.api("POST /v1/payment_methods/{id}/detach", detachMethod)
}

func createCustomer(s *Server, c *call) (any, error) {
	u := &customer{thing: s.thing("cus", "customer"), TaxExempt: "none", NextInvoice: 1}
	sum := sha256.Sum256([]byte(u.ID))
	u.InvoicePrefix = strings.ToUpper(hex.EncodeToString(sum[:])[:8])
	u.edit(c.p)
	if err := c.p.done(); err != nil {
		return nil, err
	}
	s.Customers.add(u)
	s.emit("customer.created", u)
	return u, nil
}

func (u *customer) edit(in params) {
	for name, field := range map[string]*word{
		"email": &u.Email, "name": &u.Name, "description": &u.Description, "phone": &u.Phone,
	} {
		if v, ok := in.lookup(name); ok {
			*field = word(v)
		}
	}
	if u.Email != "" && !strings.Contains(string(u.Email), "@") {
		in.fail(invalid("email_invalid", "email", "Invalid email address: %s", u.Email))
	}
	u.TaxExempt = in.oneOf("tax_exempt", u.TaxExempt, "none", "exempt", "reverse")
	if v, ok := in.in("invoice_settings").lookup("default_payment_method"); ok {
		u.InvoiceSettings.DefaultPaymentMethod = word(v)
	}
	u.Address = editAddress(in, "address", u.Address)
	u.Metadata = in.metadata(u.Metadata)
}

// editAddress replaces an address with the sent parameters under name; an empty string removes it.
func editAddress(in params, name string, old *address) *address {
	if v, ok := in.lookup(name); ok && v == "" {
		return nil
	}
	if !in.any(name) {
		return old
	}
	a := &address{}
	if old != nil {
		*a = *old
	}
	under := in.in(name)
	for field, at := range map[string]*word{
		"city": &a.City, "country": &a.Country, "line1": &a.Line1, "line2": &a.Line2, "postal_code": &a.PostalCode,
		"state": &a.State,
	} {
		if v, ok := under.lookup(field); ok {
			*at = word(v)
		}
	}
	if a.Country != "" && len(a.Country) != 2 {
		in.fail(invalid("", name+"[country]",
			"Country '%s' is unknown. Try using a 2-character alphanumeric country code instead.", a.Country))
	}
	return a
}

// liveCustomer returns a customer that was not deleted.
func (s *Server) liveCustomer(id, param string) (*customer, error) {
	u, err := s.Customers.find(id, param)
	if err == nil && u.Gone {
		return nil, missing("customer", id, param)
	}
	return u, err
}

func updateCustomer(s *Server, c *call) (any, error) {
	u, err := s.liveCustomer(c.id, "id")
	if err != nil {
		return nil, err
	}
	edited := *u
	edited.edit(c.p)
	if err := c.p.done(); err != nil {
		return nil, err
	}
	if m := string(edited.InvoiceSettings.DefaultPaymentMethod); m != "" {
		if err := s.owns(m, u.ID); err != nil {
			return nil, err
		}
	}
	*u = edited
	s.emit("customer.updated", u)
	return u, nil
}

// owns returns an error unless the payment method is attached to the customer.
func (s *Server) owns(method, customer string) error {
	m, err := s.Methods.find(method, "default_payment_method")
	if err != nil {
		return err
	}
	if string(m.Customer) != customer {
		return invalid("", "default_payment_method", "The customer does not have a payment method with the ID %s.",
			method)
	}
	return nil
}

func readCustomer(s *Server, c *call) (any, error) {
	u, err := s.Customers.find(c.id, "id")
	if err := errorsFirst(err, c.p.done()); err != nil {
		return nil, err
	}
	if u.Gone {
		return map[string]any{"id": u.ID, "object": "customer", "deleted": true}, nil
	}
	return u, nil
}

func deleteCustomer(s *Server, c *call) (any, error) {
	u, err := s.liveCustomer(c.id, "id")
	if err := errorsFirst(err, c.p.done()); err != nil {
		return nil, err
	}
	for _, sub := range s.Subscriptions.all(func(x *subscription) bool { return x.Customer == u.ID && !x.ended() }) {
		s.end(sub, "")
	}
	u.Gone = true
	s.emit("customer.deleted", u)
	return map[string]any{"id": u.ID, "object": "customer", "deleted": true}, nil
}

func listCustomers(s *Server, c *call) (any, error) {
	email := c.p.text("email")
	return page(c, s.Customers, func(u *customer) bool { return !u.Gone && (email == "" || string(u.Email) == email) })
}

func listMethodsOf(s *Server, c *call) (any, error) {
	if _, err := s.liveCustomer(c.id, "id"); err != nil {
		return nil, err
	}
	c.p.oneOf("type", "card")
	return page(c, s.Methods, func(m *paymentMethod) bool { return string(m.Customer) == c.id })
}

func listMethods(s *Server, c *call) (any, error) {
	owner := c.p.text("customer")
	c.p.oneOf("type", "card")
	return page(c, s.Methods, func(m *paymentMethod) bool { return m.Customer != "" && string(m.Customer) == owner })
}

func attachMethod(s *Server, c *call) (any, error) {
	owner := c.p.require("customer")
	if err := c.p.done(); err != nil {
		return nil, err
	}
	if _, err := s.liveCustomer(owner, "customer"); err != nil {
		return nil, err
	}
	card, token := byToken[c.id]
	if !token {
		m, err := s.Methods.find(c.id, "id")
		if err != nil {
			return nil, err
		}
		s.attach(m, owner)
		return m, nil
	}
	m, err := s.method(card, billingDetails{})
	if err != nil {
		return nil, err
	}
	s.attach(m, owner)
	return m, nil
}

func detachMethod(s *Server, c *call) (any, error) {
	m, err := s.Methods.find(c.id, "id")
	if err := errorsFirst(err, c.p.done()); err != nil {
		return nil, err
	}
	if m.Customer == "" {
		return nil, invalid("", "",
			"The payment method you provided is not attached to a customer so detachment is impossible.")
	}
	for _, u := range s.Subscriptions.rows {
		if string(u.DefaultPaymentMethod) == m.ID {
			u.DefaultPaymentMethod = ""
		}
	}
	if u := s.Customers.rows[string(m.Customer)]; string(u.InvoiceSettings.DefaultPaymentMethod) == m.ID {
		u.InvoiceSettings.DefaultPaymentMethod = ""
	}
	m.Customer = ""
	s.emit("payment_method.detached", m)
	return m, nil
}
