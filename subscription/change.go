package subscription

import (
	"github.com/chainaccess/gateway/fault"
	"github.com/chainaccess/gateway/plan"
)

// Change is how a subscription comes to another price.
type Change uint8

// An upgrade is charged and in force at once; a downgrade waits for the end of what is paid.
const (
	NoChange Change = iota
	Upgrade
	Downgrade
)

// ChangeTo says how a subscription would come to another item, or why it may not.
func (s *Subscription) ChangeTo(key string) (Change, *fault.Error) {
	to, ok := plan.FindItem(key)
	if !ok || to.IsPack() || to.PaidAs != "" {
		return NoChange, fault.New(fault.FieldRefused, "item takes a plan that is on sale, %s. The founding price is for new subscriptions only.", plansOnSale())
	}
	from, known := plan.FindItem(s.Price)
	if !known {
		return NoChange, fault.New(fault.FieldRefused, "This subscription has a price of its own, which is changed by support. File a ticket.")
	}
	switch {
	case s.Status == PastDue || s.Status == Unpaid:
		return NoChange, fault.New(fault.FieldRefused, "The last invoice is not paid. Pay the open invoice first, from the billing page; then change the plan.")
	case s.Status != Active && s.Status != Trialing:
		return NoChange, fault.New(fault.FieldRefused, "There is no running subscription to change. Choose a plan on the billing page.")
	case s.CancelAtPeriodEnd:
		return NoChange, fault.New(fault.FieldRefused, "The subscription is cancelled for the end of its period. Resume it first; then change the plan.")
	case from.Key == to.Key:
		return NoChange, nil
	case from.Interval == plan.ByYear && to.Interval == plan.ByMonth:
		return NoChange, fault.New(fault.FieldRefused, "What is paid by the year is not changed to a monthly plan. Cancel at the period's end, then take the monthly plan.")
	case plan.Rank(to.Plan) >= plan.Rank(from.Plan):
		return Upgrade, nil
	case from.Interval != to.Interval:
		return NoChange, fault.New(fault.FieldRefused, "A smaller plan by the year cannot follow a monthly one directly. Change to the smaller plan by the month first.")
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
