package stripe

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// Card is a card number; the sandbox's behaviour depends on it. Spaces in it are ignored.
type Card string

// The cards. All other numbers are declined as unknown.
const (
	Visa              Card = "4242424242424242" // pays
	Mastercard        Card = "5555555555554444" // pays
	German            Card = "4000002760000016" // pays; issued by a German bank, all others by banks in the US
	Declined          Card = "4000000000000002" // is declined
	InsufficientFunds Card = "4000000000009995" // is declined for insufficient funds
	Expired           Card = "4000000000000069" // is declined as expired
	DeclinesLater     Card = "4000000000000341" // pays once and is declined afterwards
	Disputes          Card = "4000000000000259" // pays; its holder disputes the charge a minute later
)

// declines are the codes, reasons and messages of cards that are declined.
var declines = map[Card]struct{ code, reason, message string }{
	Declined:          {"card_declined", "generic_decline", "Your card was declined."},
	InsufficientFunds: {"card_declined", "insufficient_funds", "Your card has insufficient funds."},
	Expired:           {"expired_card", "expired_card", "Your card has expired."},
	DeclinesLater:     {"card_declined", "generic_decline", "Your card was declined."},
}

// byToken maps Stripe's test payment methods to cards.
var byToken = map[string]Card{
	"pm_card_visa": Visa, "pm_card_mastercard": Mastercard, "pm_card_chargeDeclined": Declined,
	"pm_card_chargeCustomerFail": DeclinesLater,
}

func (c Card) plain() Card {
	return Card(strings.Map(func(r rune) rune {
		if r == ' ' || r == '-' {
			return -1
		}
		return r
	}, string(c)))
}

// known reports whether the card exists here.
func (c Card) known() bool {
	_, declined := declines[c]
	return declined || c == Visa || c == Mastercard || c == German || c == Disputes
}

// method creates a card payment method with the holder's address.
func (s *Server) method(card Card, details billingDetails) (*paymentMethod, error) {
	number := card.plain()
	if !number.known() {
		return nil, &apiError{
			Status: http.StatusPaymentRequired, Type: cardError, Code: "incorrect_number", Param: "number",
			Message: "Your card number is incorrect. The sandbox knows 4242 4242 4242 4242 and the other cards that " +
				"its page names.",
		}
	}
	m := &paymentMethod{
		thing: s.thing("pm", "payment_method"), BillingDetails: details, Type: "card", Number: string(number),
	}
	sum := sha256.Sum256([]byte(number))
	m.Card = cardDetails{
		Brand: "visa", Country: "US", ExpMonth: int(s.now.Month()), ExpYear: s.now.Year() + 3,
		Fingerprint: hex.EncodeToString(sum[:])[:16], Funding: "credit", Last4: string(number[len(number)-4:]),
	}
	if strings.HasPrefix(string(number), "5") {
		m.Card.Brand = "mastercard"
	}
	if number == German {
		m.Card.Country = "DE"
	}
	s.Methods.add(m)
	return m, nil
}

// refuses returns why a payment method would be declined now; nil when it pays.
func (m *paymentMethod) refuses() *apiError {
	d, declined := declines[Card(m.Number)]
	if !declined || Card(m.Number) == DeclinesLater && m.Charges == 0 {
		return nil
	}
	return &apiError{
		Status: http.StatusPaymentRequired, Type: cardError, Code: d.code, DeclineCode: d.reason, Message: d.message,
	}
}

func (s *Server) attach(m *paymentMethod, customer string) {
	if string(m.Customer) == customer {
		return
	}
	m.Customer = word(customer)
	s.emit("payment_method.attached", m)
}
