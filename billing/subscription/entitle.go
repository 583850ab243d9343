package subscription

import (
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

// Entitlement is what an account has by its subscription.
type Entitlement struct {
	Plan string `json:"plan"` // key of the plan that is in force
	// Cycle is anchored on the subscription's begin, for ever: quota periods are months of it, also
	// of yearly subscriptions.
	Cycle plan.Cycle `json:"cycle"`
	// Next takes over at NextFrom; empty when nothing is known to.
	Next     string    `json:"next,omitempty"`
	NextFrom time.Time `json:"next_from"`
}

// Entitle says what an account has at a time by the subscription that counts (docs/decisions/0055):
// service goes on while Stripe retries a charge, an unpaid one is the Free plan, one that was or
// will be cancelled ends in the Free plan, a smaller plan waits for the period's end. It reports
// false when the subscription says nothing: there is none, it is of none of our plans, or its first
// payment did not come (yet).
func Entitle(s *Subscription, at time.Time) (Entitlement, bool) {
	if s == nil || s.Status == Incomplete || s.Status == IncompleteExpired {
		return Entitlement{}, false
	}
	e := Entitlement{Plan: plan.Free, Cycle: plan.Cycle{Anchor: s.StartedAt.UTC()}}
	switch {
	case s.Status.Over():
		e.Cycle.Ends = s.EndedAt.UTC()
		return e, true
	case s.CancelAtPeriodEnd:
		e.Cycle.Ends = s.PeriodEnd.UTC()
	}
	bought, known := s.Sells()
	if !known {
		return Entitlement{}, false
	}
	if s.Status == Unpaid || s.Status == Paused {
		return e, true
	}
	if s.CancelAtPeriodEnd && !at.Before(s.PeriodEnd) { // Stripe will say so soon
		return e, true
	}
	e.Plan = bought
	if held, ok := plan.FindItem(s.Held); ok && at.Before(s.HeldUntil) {
		e.Plan, e.Next, e.NextFrom = held.Plan, bought, s.HeldUntil.UTC()
	}
	if s.CancelAtPeriodEnd {
		e.Next, e.NextFrom = plan.Free, s.PeriodEnd.UTC()
	}
	return e, true
}
