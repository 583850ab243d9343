package subscription

import (
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
)

// Change is the kind of change of a subscription to another price.
type Change uint8

// An upgrade is charged and in force at once. A downgrade waits for the end of the paid interval;
// until then it can be taken back at no cost.
const (
	NoChange Change = iota
	Upgrade
	Downgrade
	TakeBack
)

// HeldAt returns the key of the price that is paid for at an instant: the held one after a
// downgrade, else that of the next charge.
func (s *Subscription) HeldAt(at time.Time) string {
	if s.Held != "" && at.Before(s.HeldUntil) {
		return s.Held
	}
	return s.Price
}

// ChangeTo returns the kind of change to another item at an instant, or why it is refused. It
// compares with what is paid for, not with what will be charged.
func (s *Subscription) ChangeTo(key string, at time.Time) (Change, *fault.Error) {
	to, ok := plan.FindItem(key)
	if !ok || to.IsPack() || to.PaidAs != "" {
		return NoChange, fault.New(fault.FieldRefused,
			"item takes a plan that is on sale, %s. The founding price is for new subscriptions only.", plansOnSale())
	}
	from, known := plan.FindItem(s.HeldAt(at))
	if !known || s.OddPrice != "" {
		return NoChange, fault.New(fault.FieldRefused,
			"This subscription has a price of its own, which is changed by support. File a ticket.")
	}
	switch {
	case s.Status == PastDue || s.Status == Unpaid:
		return NoChange, fault.New(fault.FieldRefused,
			"The last invoice is not paid. Pay the open invoice first, from the billing page; then change the plan.")
	case s.Status != Active && s.Status != Trialing:
		return NoChange, fault.New(fault.FieldRefused,
			"There is no running subscription to change. Choose a plan on the billing page.")
	case s.CancelAtPeriodEnd:
		return NoChange, fault.New(fault.FieldRefused,
			"The subscription is cancelled for the end of its period. Resume it first; then change the plan.")
	case to.Key == s.Price:
		return NoChange, nil
	case to.Key == from.Key:
		return TakeBack, nil
	case from.Interval == plan.ByYear && to.Interval == plan.ByMonth:
		return NoChange, fault.New(fault.FieldRefused,
			"What is paid by the year is not changed to a monthly plan. Cancel at the period's end, then take the "+
				"monthly plan.")
	case plan.Rank(to.Plan) >= plan.Rank(from.Plan) && from.Key != s.Price:
		return NoChange, fault.New(fault.FieldRefused,
			"A smaller plan is to follow on %s. Keep the present one first, by choosing %s; then change to a larger "+
				"one.", s.HeldUntil.UTC().Format("2 Jan 2006"), from.Title)
	case plan.Rank(to.Plan) >= plan.Rank(from.Plan):
		return Upgrade, nil
	case from.Interval != to.Interval:
		return NoChange, fault.New(fault.FieldRefused,
			"A smaller plan by the year cannot follow a monthly one directly. Change to the smaller plan by the "+
				"month first.")
	}
	return Downgrade, nil
}

func plansOnSale() string {
	list := ""
	for _, item := range plan.Items() {
		if item.IsPack() || item.PaidAs != "" {
			continue
		}
		if list != "" {
			list += ", "
		}
		list += item.Key
	}
	return list
}
