package account

import (
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
)

// Custom are the figures of an Enterprise contract. They stand in for the plan's.
type Custom struct {
	Quota plan.Units // of a period; Unlimited for none
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

// maxRate is more requests than any window is sold with.
const maxRate = 1_000_000_000

// Terms is what an account has bought, as the meter needs it.
type Terms struct {
	Plan   plan.Plan
	Custom *Custom // nil: the plan's figures
	Cycle  plan.Cycle
	// Next takes over at NextFrom; nil when nothing is known to.
	Next     *plan.Plan
	NextFrom time.Time
}

// At is the terms as they are at a time: the next plan takes over by itself, whoever is late to say
// so. A contract's figures end with its plan.
func (t Terms) At(at time.Time) Terms {
	if t.Next != nil && !at.Before(t.NextFrom) {
		t.Plan, t.Custom, t.Next = *t.Next, nil, nil
	}
	return t
}

// Quota is what a period may use before packs are drawn and then the quota refuses; Unlimited for
// none.
func (t Terms) Quota() plan.Units {
	if t.Custom != nil {
		return t.Custom.Quota
	}
	return t.Plan.MonthlyQuota()
}

// Rate is the account's rate window.
func (t Terms) Rate() RateWindow {
	if t.Custom != nil {
		return t.Custom.Rate
	}
	return t.Plan.Rate
}

// Allowance is what a period includes, whether its end refuses or only slows: the figure by which
// its use is told to the owner. Unlimited for none, and for plans that count by the day.
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
// otherwise. Builder never refuses, so its packs stay whole.
func (t Terms) DrawsPacks() bool { return t.Quota() != Unlimited }

// Period is the metering period that holds at.
func (t Terms) Period(at time.Time) Period {
	start, end := t.Cycle.Period(at)
	return Period{Start: start, End: end, Quota: t.Quota()}
}

// Fences is the projection of an account with these terms at a time: the period that holds it and
// the next one, and the packs that have not expired by then and are not known to be used up. packs
// come in the order in which they are drawn.
func (t Terms) Fences(id ID, version int64, status Status, services ServiceFences, packs []Pack,
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

// figures are what the plan gives, or the contract in its stead.
func (t Terms) figures() Figures {
	f := Figures{Rate: t.Rate(), Supply: t.Plan.Supply, Data: t.Plan.Data, DrawsPacks: t.DrawsPacks()}
	if t.Custom == nil && t.Plan.SoftCeiling() != Unlimited {
		f.SoftCeiling, f.SoftRate = t.Plan.SoftCeiling(), t.Plan.SoftRate
	}
	return f
}
