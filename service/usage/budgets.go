package usage

import (
	"slices"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
)

// BudgetKind is the kind of a budget.
type BudgetKind string

// The budgets: a plan's period, a pack, the account's use of a service, a key's period, a key's use
// of a service, and a key's UTC day.
const (
	BudgetPlan       BudgetKind = "plan"
	BudgetPack       BudgetKind = "pack"
	BudgetService    BudgetKind = "service"
	BudgetKey        BudgetKind = "key"
	BudgetKeyService BudgetKind = "key_service"
	BudgetKeyDay     BudgetKind = "key_day"
)

// Budget is a counter and its limit.
type Budget struct {
	Kind      BudgetKind      `json:"kind" enum:"plan,pack,service,key,key_service,key_day" doc:"plan: the period's allowance; pack: prepaid, drawn after it; service: a cap of the account on a service; key: the key's own cap; key_service: its cap on a service; key_day: what it may use of a UTC day"`
	Service   account.Service `json:"service,omitempty" doc:"of service and key_service"`
	PackID    string          `json:"pack_id,omitempty" format:"uuid" doc:"of a pack"`
	Limit     plan.Units      `json:"limit"`
	Used      plan.Units      `json:"used" doc:"as the meter counts it now"`
	Left      plan.Units      `json:"left" doc:"never below 0"`
	ResetsAt  *time.Time      `json:"resets_at" nullable:"true" doc:"when used is 0 again; null for a pack"`
	ExpiresAt *time.Time      `json:"expires_at,omitempty" doc:"of a pack: the first instant at which it is no longer drawn"`
	Then      string          `json:"on_exhaustion" enum:"refused,slowed,nothing" doc:"what happens to calls once nothing is left: of a pack nothing by itself, other packs follow"`
	Code      int             `json:"code,omitempty" doc:"with which they are refused then"`
}

// budgetsOf returns the counters that limit the caller's calls.
func budgetsOf(s *State) []Budget {
	budgets := []Budget{}
	end := s.States.Period.End
	for i := range s.States.Counters {
		n := &s.States.Counters[i]
		b := Budget{
			Service: account.Service(n.Service), Limit: n.Limit, Used: n.ShouldBe, Left: max(0, n.Limit-n.ShouldBe),
			ResetsAt: &end, Then: ThenRefused,
		}
		pack, isPack := account.PackOf(n.Source)
		switch own := n.Key == s.Key.ID && !n.Key.IsZero(); {
		case s.Part && !own:
			continue
		case isPack:
			at := slices.IndexFunc(s.Packs, func(p account.Pack) bool { return p.ID == pack })
			if at < 0 { // expired, used up, or not drawn on this plan
				continue
			}
			b.Kind, b.PackID, b.ResetsAt, b.ExpiresAt, b.Then = BudgetPack, pack.String(), nil, &s.Packs[at].Expires,
				ThenNothing
		case !n.Day.IsZero():
			midnight := n.Day.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
			b.Kind, b.ResetsAt, b.Code = BudgetKeyDay, &midnight, fault.DoorKeyDay.Entry().Code
		case own && n.Service != "":
			b.Kind, b.Code = BudgetKeyService, fault.ServiceCap.Entry().Code
		case own:
			b.Kind, b.Code = BudgetKey, fault.KeyBudget.Entry().Code
		case n.Service != "":
			b.Kind, b.Code = BudgetService, fault.ServiceCap.Entry().Code
		case s.Terms.Quota() == account.Unlimited:
			b.Kind, b.Then = BudgetPlan, ThenSlowed
		default:
			b.Kind, b.Code = BudgetPlan, fault.PlanQuota.Entry().Code
		}
		budgets = append(budgets, b)
	}
	return budgets
}
