package stripe

import (
	"strings"
)

func (s *Server) routesOfInvoices() {
	s.api("GET /v1/invoices/{id}", readInvoice)
	s.api("GET /v1/invoices", listInvoices)
	s.api("GET /v1/invoices/{id}/lines", listLines)
	s.api("POST /v1/invoices/{id}", updateInvoice)
	s.api("POST /v1/invoices/{id}/finalize", finalizeInvoice)
	s.api("POST /v1/invoices/{id}/pay", payInvoice)
	s.api("POST /v1/invoices/{id}/void", func(s *Server, c *call) (any, error) { return s.closeInvoice(c, void) })
	s.api("POST /v1/invoices/{id}/mark_uncollectible", func(s *Server, c *call) (any, error) {
		return s.closeInvoice(c, uncollectible)
	})
	s.api("DELETE /v1/invoices/{id}", deleteInvoice)
}

// hosted returns an invoice with the absolute URL of its page.
func (c *call) hosted(i *invoice) *invoice {
	shown := *i
	if strings.HasPrefix(string(i.HostedURL), "/") {
		shown.HostedURL = word(base(c.r)) + i.HostedURL
	}
	return &shown
}

func readInvoice(s *Server, c *call) (any, error) {
	i, err := s.Invoices.find(c.id, "id")
	if err := errorsFirst(err, c.p.done()); err != nil {
		return nil, err
	}
	return c.hosted(i), nil
}

func listInvoices(s *Server, c *call) (any, error) {
	owner, of := c.p.text("customer"), c.p.text("subscription")
	status := c.p.oneOf("status", "", draft, open, paid, void, uncollectible)
	c.p.oneOf("collection_method", "charge_automatically")
	found, err := page(c, s.Invoices, func(i *invoice) bool {
		return (owner == "" || i.Customer == owner) && (of == "" || string(i.Subscription) == of) &&
			(status == "" || i.Status == status)
	})
	if all, ok := found.(list[*invoice]); ok {
		for n, i := range all.Data {
			all.Data[n] = c.hosted(i)
		}
	}
	return found, err
}

func listLines(s *Server, c *call) (any, error) {
	i, err := s.Invoices.find(c.id, "id")
	if err != nil {
		return nil, err
	}
	c.p.integer("limit")
	if err := c.p.done(); err != nil {
		return nil, err
	}
	return i.Lines, nil
}

func updateInvoice(s *Server, c *call) (any, error) {
	i, err := s.Invoices.find(c.id, "id")
	if err != nil {
		return nil, err
	}
	meta := c.p.metadata(i.Metadata)
	advance, told := c.p.boolean("auto_advance")
	rates, retaxed := c.p.list("default_tax_rates")
	if err := c.p.done(); err != nil {
		return nil, err
	}
	if retaxed {
		if i.Status != draft {
			return nil, invalid("invoice_not_editable", "default_tax_rates",
				"Finalized invoices can't be updated in this way.")
		}
		if err := s.ratesExist(rates, "default_tax_rates"); err != nil {
			return nil, err
		}
		i.DefaultTaxRates = append([]string{}, rates...)
		s.total(i)
	}
	i.Metadata = meta
	if told {
		i.AutoAdvance = advance
	}
	s.emit("invoice.updated", i)
	return c.hosted(i), nil
}

func finalizeInvoice(s *Server, c *call) (any, error) {
	i, err := s.Invoices.find(c.id, "id")
	advance, told := c.p.boolean("auto_advance")
	if err := errorsFirst(err, c.p.done()); err != nil {
		return nil, err
	}
	if i.Status != draft {
		return nil, invalid("", "", "This invoice is already finalized, you can't finalize a non-draft invoice.")
	}
	if told {
		i.AutoAdvance = advance
	}
	s.finalize(i)
	return c.hosted(i), nil
}

func payInvoice(s *Server, c *call) (any, error) {
	i, err := s.Invoices.find(c.id, "id")
	c.p.boolean("off_session")
	method := c.p.text("payment_method")
	if err := errorsFirst(err, c.p.done()); err != nil {
		return nil, err
	}
	if method != "" {
		if err := s.owns(method, i.Customer); err != nil {
			return nil, err
		}
	}
	if err := s.payNow(i, s.Methods.rows[method]); err != nil {
		return nil, err
	}
	return c.hosted(i), nil
}

// payNow pays an invoice at once, with the card on file unless another one is given.
func (s *Server) payNow(i *invoice, m *paymentMethod) error {
	switch i.Status {
	case draft:
		s.finalize(i)
	case open, uncollectible:
	case paid:
		return invalid("invoice_already_paid", "", "Invoice is already paid")
	default:
		return invalid("invoice_not_editable", "", "Invoices that are %s cannot be paid.", i.Status)
	}
	if i.AmountDue == 0 {
		s.markPaid(i, "")
		return nil
	}
	if m == nil {
		m = s.cardFor(i)
	}
	p := s.Intents.rows[string(i.PaymentIntent)]
	i.Attempted, i.AttemptCount = true, max(1, i.AttemptCount) // attempts by people do not count as automatic retries
	if refusal := s.charge(p, m); refusal != nil {
		s.emit("invoice.payment_failed", i)
		return refusal
	}
	s.markPaid(i, string(p.LatestCharge))
	return nil
}

// closeInvoice ends an open invoice as void or uncollectible.
func (s *Server) closeInvoice(c *call, status string) (any, error) {
	i, err := s.Invoices.find(c.id, "id")
	if err := errorsFirst(err, c.p.done()); err != nil {
		return nil, err
	}
	if i.Status != open {
		return nil, invalid("invoice_not_editable", "", "Only open invoices can be given up; this one is %s.", i.Status)
	}
	s.giveUp(i, status)
	return c.hosted(i), nil
}

func (s *Server) giveUp(i *invoice, status string) {
	i.Status, i.NextPaymentAttempt, i.AutoAdvance = status, 0, false
	if status == void {
		i.Transitions.VoidedAt, i.AmountRemaining = s.unix(), 0
		s.emit("invoice.voided", i)
		return
	}
	i.Transitions.MarkedUncollectibleAt = s.unix()
	s.emit("invoice.marked_uncollectible", i)
}

func deleteInvoice(s *Server, c *call) (any, error) {
	i, err := s.Invoices.find(c.id, "id")
	if err := errorsFirst(err, c.p.done()); err != nil {
		return nil, err
	}
	if i.Status != draft || i.Subscription != "" {
		return nil, invalid("invoice_not_editable", "", "Only drafts that belong to no subscription can be deleted.")
	}
	s.Invoices.drop(i.ID)
	s.emit("invoice.deleted", i)
	return map[string]any{"id": i.ID, "object": "invoice", "deleted": true}, nil
}

func (s *Server) ratesExist(ids []string, param string) error {
	for _, id := range ids {
		t, err := s.TaxRates.find(id, param)
		if err != nil {
			return err
		}
		if !t.Active {
			return invalid("tax_rate_inactive", param, "The tax rate %s is not active.", id)
		}
	}
	return nil
}
