package account

import (
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
)

// Custom are the figures of an Enterprise contract. They replace the plan's.
type Custom struct {
	Quota plan.Units // per period; Unlimited for none
	Rate  RateWindow
}

// Check refuses figures that no account can have.
func (c Custom) Check() *fault.Error {
	switch {
	case c.Quota != Unlimited && (c.Quota < 0 || c.Quota > MaxCap):
		return refuse("quota is %s; it takes units from 0 to %s, or none.", c.Quota, MaxCap)
	case c.Rate.Limit < 1 || c.Rate.Limit > maxRate:
		return refuse("rate is %d; it takes requests from 1 to %d.", c.Rate.Limit, maxRate)
	case c.Rate.Per < time.Second || c.Rate.Per > time.Hour || c.Rate.Per%time.Millisecond != 0:
		return refuse("the rate's window is %s; it takes a second to an hour.", c.Rate.Per)
	}
	return nil
}

// maxRate is above every limit that is sold.
const maxRate = 1_000_000_000

// Terms are what an account has bought, as the meter needs it.
type Terms struct {
	Plan   plan.Plan
	Custom *Custom // nil: the plan's figures
	Cycle  plan.Cycle
	// Next takes over at NextFrom; nil for none.
	Next     *plan.Plan
	NextFrom time.Time
}

// At returns the terms at an instant: from NextFrom on, the next plan applies even when no change
// was recorded. A contract's figures end with its plan.
func (t Terms) At(at time.Time) Terms {
	if t.Next != nil && !at.Before(t.NextFrom) {
		t.Plan, t.Custom, t.Next = *t.Next, nil, nil
	}
	return t
}

// Quota returns the units of a period, after which packs are drawn and then calls are refused;
// Unlimited for none.
func (t Terms) Quota() plan.Units {
	if t.Custom != nil {
		return t.Custom.Quota
	}
	return t.Plan.MonthlyQuota()
}

// Rate returns the account's steady rate.
func (t Terms) Rate() RateWindow {
	if t.Custom != nil {
		return t.Custom.Rate
	}
	return t.Plan.Rate
}

// Allowance returns what a period includes, whether its end refuses calls or slows them. Reports of
// usage to the owner are shares of it. Unlimited for none, and for plans that count by the day.
func (t Terms) Allowance() plan.Units {
	if t.Plan.Kind == plan.PerCall { // a settlement's units are a pack
		return Unlimited
	}
	if ceiling := t.Plan.SoftCeiling(); t.Custom == nil && ceiling != Unlimited {
		return ceiling
	}
	return t.Quota()
}

// DrawsPacks reports whether a call may be drawn from a pack: only where a quota would refuse it
// otherwise. Builder never refuses, so its packs are not drawn.
func (t Terms) DrawsPacks() bool { return t.Quota() != Unlimited }

// Period returns the metering period that holds at.
func (t Terms) Period(at time.Time) Period {
	start, end := t.Cycle.Period(at)
	return Period{Start: start, End: end, Quota: t.Quota()}
}

// Limits returns the projection of an account with these terms at an instant: the period that holds
// it, the next one, and the packs that have not expired and are not recorded as used up. packs must
// be in the order in which they are drawn.
func (t Terms) Limits(id ID, version int64, status Status, services ServiceLimits, packs []Pack,
	at time.Time,
) AccountLimits {
	now := t.At(at)
	f := AccountLimits{
		Account: id, Version: version, Status: status, Services: services, Current: now.Period(at),
		Figures: now.figures(),
	}
	following := now.At(f.Current.End)
	f.Next = following.Period(f.Current.End)
	if now.Next != nil && following.Next == nil {
		figures := following.figures()
		f.Following = &figures
	}
	if !f.DrawsPacks && (f.Following == nil || !f.Following.DrawsPacks) {
		return f
	}
	for _, p := range packs {
		if at.Before(p.Expires) && p.Used < p.Units {
			f.Packs = append(f.Packs, p)
		}
	}
	return f
}

// figures returns the figures of the contract, or else of the plan.
func (t Terms) figures() Figures {
	f := Figures{Rate: t.Rate().Window(), Supply: t.Plan.Supply, Data: t.Plan.Data, DrawsPacks: t.DrawsPacks()}
	if t.Custom == nil && t.Plan.SoftCeiling() != Unlimited {
		f.SoftCeiling, f.SoftRate = t.Plan.SoftCeiling(), t.Plan.SoftRate.Window()
	}
	return f
}
