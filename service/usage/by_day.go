package usage

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/operation"
)

// UsageByDayInput is empty: the current period is shown.
type UsageByDayInput struct{}

// UsageByDay is the usage of an account's period by UTC day, zero-filled up to today.
type UsageByDay struct {
	Plan        string      `json:"plan" doc:"key of the plan"`
	PlanTitle   string      `json:"plan_title"`
	PeriodStart time.Time   `json:"period_start"`
	PeriodEnd   time.Time   `json:"period_end"`
	Used        plan.Units  `json:"used" doc:"weighted units of the period's allowance, as the meter counts them now; all recorded ones where nothing is included"`
	Allowance   *plan.Units `json:"allowance" nullable:"true" doc:"what the period includes; null for none"`
	Refuses     bool        `json:"refuses" doc:"whether calls are refused once the allowance and the packs are used up"`
	PackUnits   plan.Units  `json:"pack_units" doc:"left in packs that have not expired"`
	Days        []DayUsage  `json:"days" doc:"recorded usage of the period; some seconds late; a first day on which the period begins later than at 00:00 UTC has what came since; the last day is under way"`
}

// DayUsage is one UTC day.
type DayUsage struct {
	Day      string     `json:"day" format:"date"`
	Requests int64      `json:"requests" doc:"calls that came, hits and refusals included"`
	Standard plan.Units `json:"standard" doc:"units of standard calls"`
	Heavy    plan.Units `json:"heavy" doc:"units of heavy calls"`
	Other    plan.Units `json:"other" doc:"units of all other calls"`
	Hits     int64      `json:"hits" doc:"calls answered from the cache, which cost nothing"`
	Refused  int64      `json:"refused" doc:"calls that were refused, which cost nothing"`
}

func (h *handlers) usageByDay() *operation.Operation[UsageByDayInput, UsageByDay] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "usage_by_day", Title: "Usage of the period by day", Access: operation.Users, Reads: true,
		Description: "Shows what the account used of its present period against its allowance, day by day. It costs " +
			"nothing.",
		Fails: []fault.Reason{fault.MeterUnreachable, fault.DurableUnavailable},
	}, h.runUsageByDay)
}

func (h *handlers) runUsageByDay(ctx context.Context, c *operation.Call, _ UsageByDayInput) (UsageByDay, error) {
	terms, err := c.Account.Terms()
	if err != nil {
		return UsageByDay{}, err
	}
	standings, err := h.Limits.CounterStates(ctx, &c.Account, nil, true)
	if err != nil {
		return UsageByDay{}, operation.MeterUnavailable(err)
	}
	period := standings.Period
	terms = terms.At(standings.At)
	u := UsageByDay{
		Plan: c.Account.Plan, PlanTitle: terms.Plan.Title, PeriodStart: period.Start, PeriodEnd: period.End,
		Refuses: terms.Quota() != account.Unlimited,
	}
	if allowance := terms.Allowance(); allowance != account.Unlimited {
		u.Allowance = &allowance
	}
	for _, p := range c.Account.Packs {
		if standings.At.Before(p.Expires) {
			u.PackUnits += max(0, p.Units-p.Used)
		}
	}
	days, err := h.Store.UsageByDay(ctx, c.Account.ID, period.Start, standings.At, period)
	if err != nil {
		return UsageByDay{}, operation.ToFault(err, "usage")
	}
	for _, d := range days {
		u.Used += d.Standard + d.Heavy + d.Other
		u.Days = append(u.Days, DayUsage{
			Day: d.Day.Format(time.DateOnly), Requests: d.Requests, Standard: d.Standard, Heavy: d.Heavy,
			Other: d.Other, Hits: d.Hits, Refused: d.Refused,
		})
	}
	for _, s := range standings.Counters { // the recorded usage is some seconds late
		if s.Source == account.SourcePlan && s.Period == period.Key() {
			u.Used = s.ShouldBe
		}
	}
	return u, nil
}
