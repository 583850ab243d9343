package usage

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/usagedb"
)

// SpendSummary is how fast units are used, and the projection from that.
type SpendSummary struct {
	Pace        plan.Units  `json:"pace_per_day" doc:"weighted units of a day, as used in the window, or since the account began where that is later"`
	PeriodStart time.Time   `json:"period_start" doc:"of the allowance: the billing period, or the UTC day of a key that counts by the day"`
	PeriodEnd   time.Time   `json:"period_end"`
	Used        plan.Units  `json:"used" doc:"of the allowance, as the meter counted it at most 10 seconds ago"`
	Limit       *plan.Units `json:"limit" nullable:"true" doc:"the allowance: quota, soft ceiling, the day's units or, in the scopes agent and key, the cap of the key; null for none"`
	Packs       plan.Units  `json:"pack_units" doc:"left in packs that can still be drawn after the allowance; 0 in the scopes agent and key, which are not shown them"`
	Projected   plan.Units  `json:"projected_at_period_end" doc:"used, and what the pace adds until the period ends"`
	ExhaustsAt  *time.Time  `json:"exhausts_at" nullable:"true" doc:"when allowance and packs end at this pace; null when not before the period does"`
	Risk        Risk        `json:"exhaustion_risk" enum:"low,medium,high" doc:"high: at this pace allowance and packs end before the period does, or have ended; medium: they would at one and a half times this pace; low: neither, or there is no limit"`
	Then        string      `json:"on_exhaustion" enum:"refused,slowed,nothing" doc:"what happens to calls then"`
}

// Risk is how likely it is that an allowance is used up before its period ends.
type Risk string

// The risks.
const (
	LowRisk    Risk = "low"
	MediumRisk Risk = "medium"
	HighRisk   Risk = "high"
)

// What happens to calls when an allowance is used up.
const (
	ThenRefused = "refused"
	ThenSlowed  = "slowed"
	ThenNothing = "nothing"
)

func (h *handlers) spendReport(ctx context.Context, l *look) error {
	steps, err := h.steps(ctx, l)
	if err != nil {
		return err
	}
	l.series("units", "units", steps, func(s *usagedb.UsageStep) MaybeFigure { return figureOf(int64(s.Units)) })
	l.series("pack_units", "units", steps,
		func(s *usagedb.UsageStep) MaybeFigure { return figureOf(int64(s.PackUnits)) })
	var used plan.Units
	for i := range steps {
		used += steps[i].Units
	}
	state, err := h.Usage.State(ctx, l.Call)
	if err != nil {
		return err
	}
	s := state.Spend(used, l.window.Since, l.now)
	l.out.Summary.Spend = &s
	return nil
}

// Spend projects the usage since an instant.
func (s *State) Spend(used plan.Units, since, now time.Time) SpendSummary {
	return s.allowance().spend(s.Account.CreatedAt, used, since, now)
}

// spend projects the usage of an account that began at created.
func (a *allowance) spend(created time.Time, used plan.Units, since, now time.Time) SpendSummary {
	const day = 24 * time.Hour
	began := since
	if created.After(began) {
		began = created
	}
	measured := max(time.Hour, now.Sub(began)) // less is too short to project
	s := SpendSummary{
		Pace:        plan.Units(plan.MulDiv(int64(max(0, used)), int64(day), int64(measured))),
		PeriodStart: a.start, PeriodEnd: a.end, Used: a.used, Then: a.then, Risk: LowRisk,
	}
	s.Projected = s.Used + plan.Units(plan.MulDiv(int64(s.Pace), int64(max(0, a.end.Sub(a.at))), int64(day)))
	for _, p := range a.packs {
		s.Packs += p.Units - p.Used
	}
	if a.limit != account.Unlimited {
		s.Limit = &a.limit
		s.ExhaustsAt = operation.NullTime(a.exhausts(s.Pace))
		switch {
		case s.ExhaustsAt != nil:
			s.Risk = HighRisk
		case !a.exhausts(s.Pace + s.Pace/2).IsZero(): //nolint:mnd // at one and a half times the pace
			s.Risk = MediumRisk
		}
	}
	return s
}

// allowance is the units that a caller may use in a period, and the packs that are drawn after it,
// in order.
type allowance struct {
	at, start, end time.Time // at is the time of the meter
	used, limit    plan.Units
	packs          []account.Pack
	then           string
}

// allowance returns the limit that the caller's usage is projected against: the day of a key that
// has a daily allowance, otherwise the plan's allowance. For a caller who sees only a part of the
// account it is the cap of its key, because the account's usage is not its own.
func (s *State) allowance() *allowance {
	a := &allowance{
		at: s.States.At, start: s.States.Period.Start, end: s.States.Period.End, limit: account.Unlimited,
		then: ThenNothing,
	}
	for i := range s.States.Counters {
		n := &s.States.Counters[i]
		switch {
		case s.Part && n.Key == s.Key.ID && n.Service == "" && n.Day.IsZero():
			a.used, a.limit, a.then = n.ShouldBe, n.Limit, ThenRefused
		case s.Part:
		case !n.Day.IsZero():
			a.start = n.Day.UTC().Truncate(24 * time.Hour)
			a.end = a.start.Add(24 * time.Hour)
			a.used, a.limit, a.then = n.ShouldBe, n.Limit, ThenRefused
			return a
		case n.Source == account.SourcePlan && n.Period == s.States.Period.Key():
			a.used, a.limit, a.then = n.ShouldBe, n.Limit, ThenRefused
			if s.Terms.Quota() == account.Unlimited {
				a.then = ThenSlowed
			}
		}
	}
	a.packs = s.Packs
	return a
}

// exhausts returns when the allowance and then its packs are used up at a pace in units per day. It
// is zero if that is not before the period ends, when the allowance starts again. A pack that
// expires before it is reached adds nothing.
func (a *allowance) exhausts(pace plan.Units) time.Time {
	const day = 24 * time.Hour
	at := a.at
	draw := func(left plan.Units, until time.Time) {
		if left <= 0 || !until.After(at) {
			return
		}
		lasts := until.Sub(at)
		if pace > 0 {
			lasts = min(lasts, time.Duration(plan.MulDiv(int64(left), int64(day), int64(pace))))
		}
		at = at.Add(lasts)
	}
	draw(a.limit-a.used, a.end)
	for _, p := range a.packs {
		draw(p.Units-p.Used, p.Expires)
	}
	if at.Before(a.end) {
		return at.UTC().Truncate(time.Second)
	}
	return time.Time{}
}
