package subscription

import (
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

// Entitlement is what an account is entitled to by its subscription.
type Entitlement struct {
	Plan string `json:"plan"` // key of the plan that is in force
	// Cycle is anchored at the start of the subscription: quota periods are months from then, also
	// for yearly subscriptions.
	Cycle plan.Cycle `json:"cycle"`
	// Next takes over at NextFrom; empty for none.
	Next     string    `json:"next,omitempty"`
	NextFrom time.Time `json:"next_from"`
}

// Entitle returns what an account is entitled to at an instant by its current subscription
// (docs/decisions/0055). Service continues while Stripe retries a charge. An unpaid or paused
// subscription means the Free plan, a cancelled one ends in the Free plan, and a downgrade waits
// for the end of the paid interval. Entitle reports false when nothing follows from the
// subscription: there is none, it runs and is not of a plan of ours, or its first payment has not
// succeeded.
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
	if s.CancelAtPeriodEnd && !at.Before(s.PeriodEnd) { // Stripe will report it soon
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
