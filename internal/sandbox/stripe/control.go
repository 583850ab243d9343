package stripe

import (
	"fmt"
	"time"
)

// What follows is what people and their banks do, for tests. Errors of the kind that customers see
// have the sentence that they see.

// disputeAfter is how long the holder of a disputing card takes.
const disputeAfter = time.Minute

func (s *Server) do(f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follow()
	defer s.save()
	s.changed = true // what is declined leaves traces too
	return f()
}

// Pay completes an open checkout session with a card. A card that is declined leaves it open, with
// an error that says why.
func (s *Server) Pay(sessionID string, card Card) error { return s.PayFrom(sessionID, card, "") }

// PayFrom is Pay by somebody who types a country of billing, two letters, besides.
func (s *Server) PayFrom(sessionID string, card Card, country string) error {
	return s.do(func() error {
		x, ok := s.Sessions.rows[sessionID]
		if !ok {
			return fmt.Errorf("checkout session %s: %w", sessionID, errNoSuch)
		}
		return s.pay(x, card, country)
	})
}

// SetCard replaces the card on file of a customer, as the portal does: of the customer and of its
// subscriptions.
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
		m.Charges = 1 // what it pays once is a checkout
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

// SetCountry changes the country of a customer's address, two letters, as the portal does.
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

// PayInvoice has an open invoice paid by the card on file, as the portal does.
func (s *Server) PayInvoice(invoiceID string) error {
	return s.do(func() error {
		i, ok := s.Invoices.rows[invoiceID]
		if !ok {
			return fmt.Errorf("invoice %s: %w", invoiceID, errNoSuch)
		}
		return s.payNow(i, nil)
	})
}

// CancelAtEnd has a subscription end, or go on after all, at the end of its period, as the portal
// does.
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

// Refund refunds money of a payment intent, as an operator does in the dashboard; all that is left
// of it when cents is 0.
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

// Dispute has the holder of the card that paid a payment intent dispute all of it, and gives the
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

// CloseDispute has the bank decide; when it is won the money comes back.
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
