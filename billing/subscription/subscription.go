// Package subscription owns the words of what is bought through Stripe: subscriptions, invoices,
// payments as Stripe tells of them, and the rules that say what follows for an account. It is pure:
// it asks nobody and keeps nothing.
package subscription

import (
	"cmp"
	"slices"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

// Status is a subscription's, as Stripe names it.
type Status string

// The states of a subscription.
const (
	Active            Status = "active"
	Trialing          Status = "trialing"
	PastDue           Status = "past_due"
	Unpaid            Status = "unpaid"
	Paused            Status = "paused"
	Canceled          Status = "canceled"
	Incomplete        Status = "incomplete"
	IncompleteExpired Status = "incomplete_expired"
)

// Lasting lists the states of subscriptions that something may still come of.
func Lasting() []Status { return []Status{Active, Trialing, PastDue, Unpaid, Paused, Incomplete} }

// Over reports whether nothing more comes of a subscription.
func (s Status) Over() bool { return s == Canceled || s == IncompleteExpired }

// Names of metadata on Stripe's objects.
const (
	MetaAccount   = "account"    // on customers and subscriptions: the account's id
	MetaCheckout  = "checkout"   // on sessions, subscriptions and payments: our id of the checkout
	MetaItem      = "item"       // on sessions, subscriptions and payments: the key of what is sold
	MetaHeld      = "held"       // on subscriptions: the price key whose plan is held after a downgrade
	MetaHeldUntil = "held_until" // seconds since 1970: until when
)

// Subscription is one as Stripe tells of it.
type Subscription struct {
	ID     string `json:"id"`
	Status Status `json:"status"`
	// Price is the key of the price that is charged next (plan.Item.Key), or Stripe's id of one
	// that is not on the ladder; Plan the plan that its product is of, which such a price has too
	// when support made it for one of our plans. Checkout is our id of the checkout that began it.
	Price string `json:"price"`
	Plan  string `json:"plan,omitempty"`
	// OddPrice is Stripe's id of what it charges instead when that is of no plan of ours: Price is
	// then what the record knew before (Keep).
	OddPrice string `json:"odd_price,omitempty"`
	Checkout string `json:"checkout,omitempty"`
	Founding bool   `json:"founding,omitempty"` // the founding discount is in force
	// PriceCents is what an interval costs now, net, after the discount.
	PriceCents        plan.Cents `json:"price_cents"`
	Taxed             bool       `json:"taxed,omitempty"` // VAT is added to its coming invoices; not recorded
	StartedAt         time.Time  `json:"started_at"`
	PeriodStart       time.Time  `json:"period_start"` // what is paid for: a month or a year
	PeriodEnd         time.Time  `json:"period_end"`
	CancelAtPeriodEnd bool       `json:"cancel_at_period_end,omitempty"`
	EndedAt           time.Time  `json:"ended_at"` // zero while it lasts
	// Held is the key of the price whose plan the account keeps until HeldUntil, after a change to
	// a smaller one.
	Held      string    `json:"held,omitempty"`
	HeldUntil time.Time `json:"held_until"`
}

// InvoiceStatus is an invoice's, as Stripe names it.
type InvoiceStatus string

// The states of an invoice. Drafts are not ours to show.
const (
	InvoiceOpen          InvoiceStatus = "open"
	InvoicePaid          InvoiceStatus = "paid"
	InvoiceVoid          InvoiceStatus = "void"
	InvoiceUncollectible InvoiceStatus = "uncollectible"
)

// Invoice is one as Stripe tells of it. Net + VAT = Total, always.
type Invoice struct {
	ID           string        `json:"id"`
	Number       string        `json:"number"`
	Subscription string        `json:"subscription,omitempty"` // empty for packs
	Payment      string        `json:"payment,omitempty"`      // its payment intent
	Status       InvoiceStatus `json:"status"`
	Reason       string        `json:"reason"`   // Stripe's billing_reason
	Currency     string        `json:"currency"` // usd
	Net          plan.Cents    `json:"net"`
	VAT          plan.Cents    `json:"vat"`
	Total        plan.Cents    `json:"total"`
	Paid         plan.Cents    `json:"paid"`
	CreatedAt    time.Time     `json:"created_at"`
	PaidAt       time.Time     `json:"paid_at"` // zero when it is not paid
	PeriodStart  time.Time     `json:"period_start"`
	PeriodEnd    time.Time     `json:"period_end"`
	Attempts     int           `json:"attempts,omitempty"` // charges that were tried
	NextAttempt  time.Time     `json:"next_attempt"`       // zero when Stripe tries no more
}

// Failed reports whether a charge of the invoice was declined and it is not paid.
func (i *Invoice) Failed() bool {
	return i.Attempts > 0 && (i.Status == InvoiceOpen || i.Status == InvoiceUncollectible) && i.Paid < i.Total
}

// Payment is money that came for a pack or an invoice.
type Payment struct {
	ID        string     `json:"id"`                 // of the payment intent
	Checkout  string     `json:"checkout,omitempty"` // our id of the checkout; empty for invoices of subscriptions
	Item      string     `json:"item,omitempty"`     // what was bought: pack_s
	Succeeded bool       `json:"succeeded"`
	Amount    plan.Cents `json:"amount"` // with VAT
	Refunded  plan.Cents `json:"refunded,omitempty"`
	Disputed  bool       `json:"disputed,omitempty"` // its owner's bank takes it back, or has
	Currency  string     `json:"currency,omitempty"` // usd
	CreatedAt time.Time  `json:"created_at"`
}

// TakenBack reports whether all of the money went back, so that what it bought is void.
func (p *Payment) TakenBack() bool {
	return p.Disputed || p.Succeeded && p.Amount > 0 && p.Refunded >= p.Amount
}

// Card is how a customer pays, as far as anybody may see it.
type Card struct {
	Brand    string `json:"brand"`
	Last4    string `json:"last4"`
	ExpMonth int    `json:"exp_month"`
	ExpYear  int    `json:"exp_year"`
	// of the bank that issued it, an ISO 3166-1 code; empty when Stripe does not know
	Country string `json:"country,omitempty"`
}

// Snapshot is everything that Stripe says of a customer, read in one go.
type Snapshot struct {
	Customer      string         `json:"customer"`
	Country       string         `json:"country,omitempty"` // ISO 3166-1 code; empty when none is known
	Card          *Card          `json:"card,omitempty"`
	Subscriptions []Subscription `json:"subscriptions,omitempty"`
	Invoices      []Invoice      `json:"invoices,omitempty"`
	Payments      []Payment      `json:"payments,omitempty"`
	ReadAt        time.Time      `json:"read_at"`
	// Deleted says that the customer was deleted at Stripe, which ends its subscriptions: nothing
	// else is told then.
	Deleted bool `json:"deleted,omitempty"`
}

// Sells is the plan that a subscription is of; false for what is none of ours, which somebody made
// for another purpose.
func (s *Subscription) Sells() (string, bool) {
	if item, known := plan.FindItem(s.Price); known && !item.IsPack() {
		return item.Plan, true
	}
	p, known := plan.Lookup(s.Plan)
	return p.Key, known
}

// Keep has the subscription that the record knows last stay of the plan that the record knows when
// Stripe tells a price of no plan of ours for it: somebody changed the price there, and did not end
// what was bought. It is taken as over when another one of ours is paid, and when Stripe does not
// tell of it at all. The plan of one whose recorded price is not on the ladder either is
// recorded.Plan, which the caller sets. Current and Others count with what it did.
func (s *Snapshot) Keep(recorded Subscription) { //nolint:gocritic // a copy is kept
	if recorded.ID == "" {
		return
	}
	n := slices.IndexFunc(s.Subscriptions, func(sub Subscription) bool { return sub.ID == recorded.ID })
	if n < 0 {
		if !recorded.Status.Over() {
			recorded.end(s.ReadAt)
		}
		s.Subscriptions = append(s.Subscriptions, recorded)
		return
	}
	sub := &s.Subscriptions[n]
	// what ended here does not come back by a price of another purpose
	if _, ours := sub.Sells(); ours || recorded.Status.Over() && !sub.Status.Over() {
		return
	}
	sub.OddPrice, sub.Price, sub.Plan = cmp.Or(sub.Price, noPrice), recorded.Price, recorded.Plan
	if sub.Status.Over() && sub.EndedAt.IsZero() {
		sub.EndedAt = s.ReadAt
	}
	for i := range s.Subscriptions {
		if other := &s.Subscriptions[i]; i != n && !sub.Status.Over() && other.counts() && other.paid() {
			sub.end(s.ReadAt) // of the two that last this one is not ours any more
		}
	}
}

// noPrice is the odd price of a subscription without any.
const noPrice = "none"

// end is what the record has of a subscription that Stripe does not tell as one of ours any more.
func (s *Subscription) end(at time.Time) {
	s.Status, s.EndedAt, s.CancelAtPeriodEnd = Canceled, at, false
}

// counts reports whether a subscription is of a plan of ours and was paid once.
func (s *Subscription) counts() bool {
	_, ours := s.Sells()
	return ours && s.Status != Incomplete && s.Status != IncompleteExpired
}

// paid reports whether a subscription gives its plan: it is paid, or may be paid still.
func (s *Subscription) paid() bool {
	return s.Status == Active || s.Status == Trialing || s.Status == PastDue
}

// Lasting lists the ids of the subscriptions that last at Stripe, of whatever price.
func (s *Snapshot) Lasting() []string {
	var ids []string
	for i := range s.Subscriptions {
		if sub := &s.Subscriptions[i]; !sub.Status.Over() {
			ids = append(ids, sub.ID)
		}
	}
	return ids
}

// Find is what Stripe says of a subscription; nil for nothing.
func (s *Snapshot) Find(id string) *Subscription {
	for i := range s.Subscriptions {
		if s.Subscriptions[i].ID == id {
			return &s.Subscriptions[i]
		}
	}
	return nil
}

// Current picks the subscription that counts among those of our plans: the one that the record
// knows while it lasts, else the oldest that lasts and was paid once, else the one that ended last.
// Nil when there is none.
func (s *Snapshot) Current(recorded string) *Subscription {
	var best *Subscription
	for i := range s.Subscriptions {
		sub := &s.Subscriptions[i]
		if !sub.counts() {
			continue
		}
		if !sub.Status.Over() && sub.ID == recorded {
			return sub
		}
		if best == nil || before(sub, best) {
			best = sub
		}
	}
	return best
}

// before reports whether a counts rather than b.
func before(a, b *Subscription) bool {
	if a.Status.Over() != b.Status.Over() {
		return !a.Status.Over()
	}
	if a.Status.Over() {
		return a.EndedAt.After(b.EndedAt)
	}
	return a.StartedAt.Before(b.StartedAt) || a.StartedAt.Equal(b.StartedAt) && a.ID < b.ID
}

// Others lists the subscriptions of our plans that last beside the one that counts and that a
// checkout of ours began: each is one too many. What somebody made by hand is left to them, and so
// is what the record had: it was the one that counts once, and months may be paid for it.
func (s *Snapshot) Others(current *Subscription, had []string) []Subscription {
	return slices.DeleteFunc(slices.Clone(s.Subscriptions), func(sub Subscription) bool {
		_, ours := sub.Sells()
		return !ours || sub.Checkout == "" || sub.Status.Over() || sub.Status == Incomplete || current == nil ||
			sub.ID == current.ID || slices.Contains(had, sub.ID)
	})
}

// Session is a checkout as Stripe tells of it.
type Session struct {
	ID           string        `json:"id"`
	Checkout     string        `json:"checkout"` // our id
	Status       SessionStatus `json:"status"`
	Paid         bool          `json:"paid"`
	Customer     string        `json:"customer"`
	Subscription string        `json:"subscription,omitempty"`
	Payment      string        `json:"payment,omitempty"`
	ExpiresAt    time.Time     `json:"expires_at"`
}

// SessionStatus is a checkout's, as Stripe names it.
type SessionStatus string

// The states of a checkout.
const (
	SessionOpen     SessionStatus = "open"
	SessionComplete SessionStatus = "complete"
	SessionExpired  SessionStatus = "expired"
)
