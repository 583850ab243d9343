// Package subscription defines subscriptions, invoices and payments as Stripe reports them, and the
// rules of what follows from them for an account. It does no I/O.
package subscription

import (
	"cmp"
	"slices"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

// Status is the status of a subscription, by Stripe's names.
type Status string

// The statuses of a subscription.
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

// Lasting lists the statuses that are not final.
func Lasting() []Status { return []Status{Active, Trialing, PastDue, Unpaid, Paused, Incomplete} }

// Over reports whether the status is final.
func (s Status) Over() bool { return s == Canceled || s == IncompleteExpired }

// Names of metadata on Stripe's objects.
const (
	MetaAccount   = "account"    // on customers and subscriptions: the account's id
	MetaCheckout  = "checkout"   // on sessions, subscriptions and payments: our id of the checkout
	MetaItem      = "item"       // on sessions, subscriptions and payments: the key of what is sold
	MetaHeld      = "held"       // on subscriptions: the key of the price whose plan is held after a downgrade
	MetaHeldUntil = "held_until" // on subscriptions: end of Held, in seconds since 1970
)

// Subscription is a subscription as Stripe reports it.
type Subscription struct {
	ID     string `json:"id"`
	Status Status `json:"status"`
	// Price is the key of the price that is charged next (plan.Item.Key), or Stripe's id of a price
	// that is not on the ladder. Plan is the plan of its product, which a price has too that
	// support made for one of our plans. Checkout is our id of the checkout that started it.
	Price string `json:"price"`
	Plan  string `json:"plan,omitempty"`
	// OddPrice is Stripe's id of the price that it charges when that is of no plan of ours. Price
	// is then what was recorded before (Keep).
	OddPrice string `json:"odd_price,omitempty"`
	Checkout string `json:"checkout,omitempty"`
	Founding bool   `json:"founding,omitempty"` // the founding discount is in force
	// PriceCents is the current price of an interval, net, after the discount.
	PriceCents        plan.Cents `json:"price_cents"`
	Taxed             bool       `json:"taxed,omitempty"` // VAT is added to its future invoices; not recorded
	StartedAt         time.Time  `json:"started_at"`
	PeriodStart       time.Time  `json:"period_start"` // the paid interval: a month or a year
	PeriodEnd         time.Time  `json:"period_end"`
	CancelAtPeriodEnd bool       `json:"cancel_at_period_end,omitempty"`
	EndedAt           time.Time  `json:"ended_at"` // zero until it ends
	// Held is the key of the price whose plan the account keeps until HeldUntil, after a downgrade.
	Held      string    `json:"held,omitempty"`
	HeldUntil time.Time `json:"held_until"`
}

// InvoiceStatus is the status of an invoice, by Stripe's names.
type InvoiceStatus string

// The statuses of an invoice. Drafts are never shown.
const (
	InvoiceOpen          InvoiceStatus = "open"
	InvoicePaid          InvoiceStatus = "paid"
	InvoiceVoid          InvoiceStatus = "void"
	InvoiceUncollectible InvoiceStatus = "uncollectible"
)

// Invoice is an invoice as Stripe reports it. Net + VAT = Total.
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
	Attempts     int           `json:"attempts,omitempty"` // attempted charges
	NextAttempt  time.Time     `json:"next_attempt"`       // zero when Stripe does not retry
}

// Failed reports whether a charge of the invoice was declined and it is not paid.
func (i *Invoice) Failed() bool {
	return i.Attempts > 0 && (i.Status == InvoiceOpen || i.Status == InvoiceUncollectible) && i.Paid < i.Total
}

// Payment is a payment for a pack or an invoice.
type Payment struct {
	ID        string     `json:"id"`                 // of the payment intent
	Checkout  string     `json:"checkout,omitempty"` // our id of the checkout; empty for invoices of subscriptions
	Item      string     `json:"item,omitempty"`     // what was bought: pack_s
	Succeeded bool       `json:"succeeded"`
	Amount    plan.Cents `json:"amount"` // with VAT
	Refunded  plan.Cents `json:"refunded,omitempty"`
	Disputed  bool       `json:"disputed,omitempty"` // charged back, or a chargeback is open
	Currency  string     `json:"currency,omitempty"` // usd
	CreatedAt time.Time  `json:"created_at"`
}

// TakenBack reports whether all of the money was returned or is disputed, so that what it bought is
// void.
func (p *Payment) TakenBack() bool {
	return p.Disputed || p.Succeeded && p.Amount > 0 && p.Refunded >= p.Amount
}

// Card is the visible part of a customer's card.
type Card struct {
	Brand    string `json:"brand"`
	Last4    string `json:"last4"`
	ExpMonth int    `json:"exp_month"`
	ExpYear  int    `json:"exp_year"`
	// Country is that of the issuing bank, an ISO 3166-1 code; empty when Stripe does not know it.
	Country string `json:"country,omitempty"`
}

// Snapshot is everything that Stripe has of a customer, read in one pass.
type Snapshot struct {
	Customer      string         `json:"customer"`
	Country       string         `json:"country,omitempty"` // ISO 3166-1 code; empty when none is known
	Card          *Card          `json:"card,omitempty"`
	Subscriptions []Subscription `json:"subscriptions,omitempty"`
	Invoices      []Invoice      `json:"invoices,omitempty"`
	Payments      []Payment      `json:"payments,omitempty"`
	ReadAt        time.Time      `json:"read_at"`
	// Deleted reports whether the customer was deleted at Stripe, which ends its subscriptions;
	// everything else is then empty.
	Deleted bool `json:"deleted,omitempty"`
}

// Sells returns the plan of a subscription. It reports false for a subscription that is not of a
// plan of ours, which somebody made for another purpose.
func (s *Subscription) Sells() (string, bool) {
	if item, known := plan.FindItem(s.Price); known && !item.IsPack() {
		return item.Plan, true
	}
	p, known := plan.Lookup(s.Plan)
	return p.Key, known
}

// Keep applies what is recorded of the last subscription. When its price at Stripe is of no plan of
// ours any more, it keeps the recorded plan: somebody changed the price by hand, and did not end
// what was bought. It counts as ended when another one of ours is paid, or when Stripe does not
// list it. If the recorded price is not on the ladder either, its plan is recorded.Plan, which the
// caller sets. Call Keep before Current and Others.
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
	// an ended subscription does not return with a price for another purpose
	if _, ours := sub.Sells(); ours || recorded.Status.Over() && !sub.Status.Over() {
		return
	}
	sub.OddPrice, sub.Price, sub.Plan = cmp.Or(sub.Price, noPrice), recorded.Price, recorded.Plan
	if sub.Status.Over() && sub.EndedAt.IsZero() {
		sub.EndedAt = s.ReadAt
	}
	for i := range s.Subscriptions {
		if other := &s.Subscriptions[i]; i != n && !sub.Status.Over() && other.counts() && other.paid() {
			sub.end(s.ReadAt) // of two lasting ones this one is not ours any more
		}
	}
}

// noPrice is the OddPrice of a subscription without a price.
const noPrice = "none"

// end marks a subscription as ended that Stripe does not report as one of ours any more.
func (s *Subscription) end(at time.Time) {
	s.Status, s.EndedAt, s.CancelAtPeriodEnd = Canceled, at, false
}

// counts reports whether a subscription is of a plan of ours and was paid at least once.
func (s *Subscription) counts() bool {
	_, ours := s.Sells()
	return ours && s.Status != Incomplete && s.Status != IncompleteExpired
}

// paid reports whether a subscription entitles to its plan: it is paid, or Stripe retries its
// charge.
func (s *Subscription) paid() bool {
	return s.Status == Active || s.Status == Trialing || s.Status == PastDue
}

// Lasting returns the ids of the subscriptions that last at Stripe, of any price.
func (s *Snapshot) Lasting() []string {
	var ids []string
	for i := range s.Subscriptions {
		if sub := &s.Subscriptions[i]; !sub.Status.Over() {
			ids = append(ids, sub.ID)
		}
	}
	return ids
}

// Find returns a subscription by its id; nil when there is none.
func (s *Snapshot) Find(id string) *Subscription {
	for i := range s.Subscriptions {
		if s.Subscriptions[i].ID == id {
			return &s.Subscriptions[i]
		}
	}
	return nil
}

// Current returns the subscription that counts among those of our plans: the recorded one while it
// lasts, else the oldest lasting one that was paid at least once, else the one that ended last. It
// returns nil when there is none.
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

// before reports whether a counts before b.
func before(a, b *Subscription) bool {
	if a.Status.Over() != b.Status.Over() {
		return !a.Status.Over()
	}
	if a.Status.Over() {
		return a.EndedAt.After(b.EndedAt)
	}
	return a.StartedAt.Before(b.StartedAt) || a.StartedAt.Equal(b.StartedAt) && a.ID < b.ID
}

// Others returns the lasting subscriptions of our plans, other than the current one, that a
// checkout of ours started: each is one too many. Those that were made by hand are left out, and so
// are those in had: each was the current one once, and months of it may be paid.
func (s *Snapshot) Others(current *Subscription, had []string) []Subscription {
	return slices.DeleteFunc(slices.Clone(s.Subscriptions), func(sub Subscription) bool {
		_, ours := sub.Sells()
		return !ours || sub.Checkout == "" || sub.Status.Over() || sub.Status == Incomplete || current == nil ||
			sub.ID == current.ID || slices.Contains(had, sub.ID)
	})
}

// Session is a Checkout Session as Stripe reports it.
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

// SessionStatus is the status of a Checkout Session, by Stripe's names.
type SessionStatus string

// The statuses of a Checkout Session.
const (
	SessionOpen     SessionStatus = "open"
	SessionComplete SessionStatus = "complete"
	SessionExpired  SessionStatus = "expired"
)
