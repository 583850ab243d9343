package stripe

import (
	"fmt"
	"time"
)

// The following methods are actions of people and banks, for tests. Errors that a customer would
// see have the customer's message.

// disputeAfter is how long after a charge the holder of a disputing card disputes it.
const disputeAfter = time.Minute

func (s *Server) do(f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow()
	defer s.save()
	s.changed = true // a declined payment changes state too
	return f()
}

// Pay completes an open checkout session with a card. When the card is declined, the session stays
// open and the error says why.
func (s *Server) Pay(sessionID string, card Card) error { return s.PayFrom(sessionID, card, "") }

// PayFrom is like Pay, with the two-letter billing country that the customer typed.
func (s *Server) PayFrom(sessionID string, card Card, country string) error {
	return s.do(func() error {
		x, ok := s.Sessions.rows[sessionID]
		if !ok {
			return fmt.Errorf("checkout session %s: %w", sessionID, errNoSuch)
		}
		return s.pay(x, card, country)
	})
}

// SetCard replaces the card on file of a customer and of its subscriptions, as the portal does.
func (s *Server) SetCard(customerID string, card Card) error {
	return s.do(func() error {
		u, ok := s.Customers.rows[customerID]
		if !ok {
			return fmt.Errorf("customer %s: %w", customerID, errNoSuch)
		}
		return s.setCard(u, card)
	})
}

func (s *Server) setCard(u *customer, card Card) error {
	m, err := s.method(card, billingDetails{Address: u.Address, Email: u.Email, Name: u.Name})
	if err != nil {
		return err
	}
	if Card(m.Number) == DeclinesLater {
		m.Charges = 1 // the one payment that succeeds is for a checkout
	} else if refusal := m.refuses(); refusal != nil {
		return refusal
	}
	s.attach(m, u.ID)
	u.InvoiceSettings.DefaultPaymentMethod = word(m.ID)
	s.emit("customer.updated", u)
	for _, sub := range s.Subscriptions.all(func(x *subscription) bool { return x.Customer == u.ID && !x.ended() }) {
		sub.DefaultPaymentMethod = word(m.ID)
		s.emit("customer.subscription.updated", sub)
	}
	return nil
}

// SetCountry changes the two-letter country of a customer's address, as the portal does.
func (s *Server) SetCountry(customerID, country string) error {
	return s.do(func() error {
		u, ok := s.Customers.rows[customerID]
		if !ok {
			return fmt.Errorf("customer %s: %w", customerID, errNoSuch)
		}
		s.setCountry(u, country)
		return nil
	})
}

func (s *Server) setCountry(u *customer, country string) {
	moved := address{}
	if u.Address != nil {
		moved = *u.Address
	}
	moved.Country = word(country)
	u.Address = &moved
	s.emit("customer.updated", u)
}

// PayInvoice pays an open invoice with the card on file, as the portal does.
func (s *Server) PayInvoice(invoiceID string) error {
	return s.do(func() error {
		i, ok := s.Invoices.rows[invoiceID]
		if !ok {
			return fmt.Errorf("invoice %s: %w", invoiceID, errNoSuch)
		}
		return s.payNow(i, nil)
	})
}

// CancelAtEnd schedules the cancellation of a subscription at the end of its period, or revokes it,
// as the portal does.
func (s *Server) CancelAtEnd(subscriptionID string, atEnd bool) error {
	return s.do(func() error {
		sub, ok := s.Subscriptions.rows[subscriptionID]
		if !ok || sub.ended() {
			return fmt.Errorf("subscription %s that lives: %w", subscriptionID, errNoSuch)
		}
		_, err := s.apply(sub, &edit{atEnd: atEnd, atEndTold: true, metadata: sub.Metadata})
		return err
	})
}

// Refund refunds cents of a payment intent, as an operator does in Stripe's dashboard; 0 refunds
// all that is left.
func (s *Server) Refund(intentID string, cents int64) error {
	return s.do(func() error {
		x, err := s.chargeOf(intentID)
		if err != nil {
			return err
		}
		if cents == 0 {
			cents = x.Amount - x.AmountRefunded
		}
		_, err = s.refund(x, cents, "requested_by_customer", map[string]string{})
		return err
	})
}

// Dispute disputes the whole charge of a payment intent, as the card's holder does, and returns the
// dispute's id.
func (s *Server) Dispute(intentID string) (id string, err error) {
	err = s.do(func() error {
		x, err := s.chargeOf(intentID)
		if err != nil {
			return err
		}
		if x.Disputed {
			return fmt.Errorf("payment %s is disputed already", intentID)
		}
		id = s.complain(x, "fraudulent").ID
		return nil
	})
	return id, err
}

// CloseDispute decides a dispute, as the bank does. When it is won, the money is returned.
func (s *Server) CloseDispute(id string, won bool) error {
	return s.do(func() error {
		d, ok := s.Disputes.rows[id]
		if !ok || d.Status != "needs_response" {
			return fmt.Errorf("open dispute %s: %w", id, errNoSuch)
		}
		d.Status = "lost"
		if won {
			d.Status = "won"
			s.emit("charge.dispute.funds_reinstated", d)
		}
		s.emit("charge.dispute.closed", d)
		return nil
	})
}

func (s *Server) chargeOf(intentID string) (*charge, error) {
	p, ok := s.Intents.rows[intentID]
	if !ok || p.LatestCharge == "" {
		return nil, fmt.Errorf("payment intent %s that was charged: %w", intentID, errNoSuch)
	}
	return s.Charges.rows[string(p.LatestCharge)], nil
}
