package stripe

import "net/http"

func (s *Server) routesOfPayments() {
	s.api("GET /v1/payment_intents/{id}", func(s *Server, c *call) (any, error) { return one(c, s.Intents) })
	s.api("GET /v1/payment_intents", listIntents)
	s.api("POST /v1/payment_intents/{id}", updateIntent)
	s.api("GET /v1/charges/{id}", func(s *Server, c *call) (any, error) { return one(c, s.Charges) })
	s.api("GET /v1/charges", listCharges)
	s.api("POST /v1/refunds", createRefund)
	s.api("GET /v1/refunds/{id}", func(s *Server, c *call) (any, error) { return one(c, s.Refunds) })
	s.api("GET /v1/refunds", listRefunds)
	s.api("GET /v1/disputes/{id}", func(s *Server, c *call) (any, error) { return one(c, s.Disputes) })
	s.api("GET /v1/disputes", listDisputes)
}

// The states of payment intents.
const (
	needsMethod = "requires_payment_method"
	succeeded   = "succeeded"
	failed      = "failed"
)

func (s *Server) newIntent(amount int64, currency, customer string, metadata map[string]string) *intent {
	p := &intent{
		thing: s.thing("pi", "payment_intent"), Amount: amount, CaptureMethod: "automatic", Currency: currency,
		Customer: word(customer), MethodTypes: []string{"card"}, Status: needsMethod,
	}
	p.Metadata, p.ClientSecret = metadata, p.ID+"_secret_"+s.newID("x")
	s.Intents.add(p)
	s.emit("payment_intent.created", p)
	return p
}

// charge charges a card, or returns why it was declined; m is nil when there is no card.
func (s *Server) charge(p *intent, m *paymentMethod) *apiError {
	if m == nil {
		refusal := &apiError{
			Status: http.StatusPaymentRequired, Type: invalidRequest, Code: "payment_intent_payment_attempt_failed",
			Message: "This customer has no attached payment method or default payment method.",
		}
		s.emit("payment_intent.payment_failed", p)
		return refusal
	}
	c := &charge{
		thing: s.thing("ch", "charge"), Amount: p.Amount, BillingDetails: m.BillingDetails, Currency: p.Currency,
		Customer: p.Customer, Description: p.Description, Invoice: p.Invoice, PaymentIntent: word(p.ID),
		PaymentMethod: m.ID, MethodDetails: methodDetails{m.Card, "card"},
	}
	c.Metadata = p.Metadata
	p.LatestCharge = word(c.ID)
	s.Charges.add(c)
	if refusal := m.refuses(); refusal != nil {
		c.Status, c.FailureCode, c.FailureMessage = failed, word(refusal.Code), word(refusal.Message)
		c.Outcome = outcome{"declined_by_network", word(refusal.DeclineCode), refusal.Message, "issuer_declined"}
		refusal.Charge = c.ID
		p.LastError = map[string]any{
			"type": refusal.Type, "code": refusal.Code, "decline_code": refusal.DeclineCode, "message": refusal.Message,
			"charge": c.ID,
		}
		s.emit("charge.failed", c)
		s.emit("payment_intent.payment_failed", p)
		return refusal
	}
	m.Charges++
	c.Status, c.Paid, c.Captured, c.AmountCaptured = succeeded, true, true, c.Amount
	c.Outcome = outcome{"approved_by_network", "", "Payment complete.", "authorized"}
	p.Status, p.AmountReceived, p.LastError, p.PaymentMethod = succeeded, p.Amount, nil, word(m.ID)
	s.emit("charge.succeeded", c)
	s.emit("payment_intent.succeeded", p)
	if Card(m.Number) == Disputes {
		s.due(s.now.Add(disputeAfter), dueComplaint, c.ID)
	}
	return nil
}

func listIntents(s *Server, c *call) (any, error) {
	owner := c.p.text("customer")
	return page(c, s.Intents, func(p *intent) bool { return owner == "" || string(p.Customer) == owner })
}

func updateIntent(s *Server, c *call) (any, error) {
	p, err := s.Intents.find(c.id, "id")
	if err != nil {
		return nil, err
	}
	meta := c.p.metadata(p.Metadata)
	if err := c.p.done(); err != nil {
		return nil, err
	}
	p.Metadata = meta
	return p, nil
}

func listCharges(s *Server, c *call) (any, error) {
	owner, by := c.p.text("customer"), c.p.text("payment_intent")
	return page(c, s.Charges, func(x *charge) bool {
		return (owner == "" || string(x.Customer) == owner) && (by == "" || string(x.PaymentIntent) == by)
	})
}

func createRefund(s *Server, c *call) (any, error) {
	by, direct := c.p.text("payment_intent"), c.p.text("charge")
	amount, partial := c.p.integer("amount")
	reason := c.p.oneOf("reason", "", "duplicate", "fraudulent", "requested_by_customer")
	meta := c.p.metadata(nil)
	if err := c.p.done(); err != nil {
		return nil, err
	}
	if (by == "") == (direct == "") {
		return nil, invalid("parameter_missing", "charge",
			"One of the following params should be provided for this request: payment_intent or charge.")
	}
	if by != "" {
		p, err := s.Intents.find(by, "payment_intent")
		if err != nil {
			return nil, err
		}
		if p.Status != succeeded {
			return nil, invalid("", "payment_intent",
				"This PaymentIntent (%s) does not have a successful charge to refund.", by)
		}
		direct = string(p.LatestCharge)
	}
	x, err := s.Charges.find(direct, "charge")
	if err != nil {
		return nil, err
	}
	if !partial {
		amount = x.Amount - x.AmountRefunded
	}
	return s.refund(x, amount, reason, meta)
}

func (s *Server) refund(x *charge, amount int64, reason string, meta map[string]string) (*refund, error) {
	switch {
	case x.Status != succeeded:
		return nil, invalid("", "charge", "Charge %s did not succeed and cannot be refunded.", x.ID)
	case x.Refunded:
		return nil, invalid("charge_already_refunded", "charge", "Charge %s has already been refunded.", x.ID)
	case s.contested(x.ID):
		return nil, invalid("charge_disputed", "charge", "Charge %s is disputed and cannot be refunded.", x.ID)
	case amount < 1 || amount > x.Amount-x.AmountRefunded:
		return nil, invalid("", "amount",
			"Refund amount (%s) is greater than unrefunded amount on charge (%s), or not positive.", dollars(amount),
			dollars(x.Amount-x.AmountRefunded))
	}
	r := &refund{
		thing: s.thing("re", "refund"), Amount: amount, Charge: x.ID, Currency: x.Currency,
		PaymentIntent: x.PaymentIntent, Reason: word(reason), Status: succeeded,
	}
	r.Metadata = meta
	s.Refunds.add(r)
	x.AmountRefunded += amount
	x.Refunded = x.AmountRefunded == x.Amount
	s.emit("refund.created", r)
	s.emit("charge.refunded", x)
	return r, nil
}

func listRefunds(s *Server, c *call) (any, error) {
	by, direct := c.p.text("payment_intent"), c.p.text("charge")
	return page(c, s.Refunds, func(r *refund) bool {
		return (by == "" || string(r.PaymentIntent) == by) && (direct == "" || r.Charge == direct)
	})
}

func listDisputes(s *Server, c *call) (any, error) {
	by, direct := c.p.text("payment_intent"), c.p.text("charge")
	return page(c, s.Disputes, func(d *dispute) bool {
		return (by == "" || string(d.PaymentIntent) == by) && (direct == "" || d.Charge == direct)
	})
}

// contested reports whether a dispute over a charge is open or lost.
func (s *Server) contested(charge string) bool {
	for _, d := range s.Disputes.rows {
		if d.Charge == charge && d.Status != "won" {
			return true
		}
	}
	return false
}

// complain opens a dispute about the whole charge; the money is withdrawn at once.
func (s *Server) complain(x *charge, reason string) *dispute {
	d := &dispute{
		thing: s.thing("du", "dispute"), Amount: x.Amount, Charge: x.ID, Currency: x.Currency,
		PaymentIntent: x.PaymentIntent, Reason: reason, Status: "needs_response",
	}
	x.Disputed = true
	s.Disputes.add(d)
	s.emit("charge.dispute.created", d)
	s.emit("charge.dispute.funds_withdrawn", d)
	return d
}
