package statement

import (
	"cmp"
	"slices"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/billingdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// Period is a billing period of an account. Name is the date on which it began. Several that begin
// on one day have one name and one statement, from the start of the first to the end of the last
// (docs/decisions/0028).
type Period struct {
	Name       string
	Start, End time.Time
	Closed     bool      // frozen
	Plan       string    // plan at the cut; empty when the period was not cut short
	cut        time.Time // when it was cut; zero when it was not
	Requests   int64     // set for a closed one
	Units      plan.Units
}

// due returns the instant before which all usage must be recorded to close the period. Usage of a
// period that was cut short counts in it until the cut is in force, which may be later than its
// end.
func (p *Period) due() time.Time { return later(p.End, p.cut).Add(Grace) }

// Bounds of an account's history: more than ten years of periods.
const (
	maxPeriods = 130
	longest    = 31 * 24 * time.Hour
)

// history is what is known of an account's periods.
type history struct {
	account *accountdb.Account
	heads   []billingdb.StatementHead
	ended   []billingdb.EndedSpan
	used    []usagedb.UsagePeriod // have usage and no statement
}

// periods returns the periods of an account that have begun, newest first, at most maxPeriods:
// those that were closed, those that were cut short, those of its cycle, and those that only usage
// shows.
func (h *history) periods(now time.Time) []Period {
	known := map[string]*Period{}
	for i := range h.heads {
		s := &h.heads[i]
		known[s.Period] = &Period{
			Name: s.Period, Start: s.Start, End: s.End, Closed: true, Requests: s.Requests, Units: s.Units,
		}
	}
	for i := range h.ended {
		e := &h.ended[i]
		widen(known, e.Period, e.Start, e.End)
		if p := known[e.Period]; !p.Closed && p.End.Equal(e.End) {
			p.Plan = e.Plan
		}
		known[e.Period].cut = e.Cut
	}
	past := make([]Period, 0, len(known))
	for _, p := range known {
		past = append(past, *p)
	}
	h.walk(now, func(start, end time.Time) {
		name := account.Period{Start: start}.Key()
		// A past period of today's cycle is not added where one of an earlier cycle overlaps it.
		if !now.Before(end) && slices.ContainsFunc(past, func(p Period) bool {
			return p.Start.Before(end) && start.Before(p.End)
		}) {
			return
		}
		widen(known, name, start, end)
	})
	for _, u := range h.used {
		if known[u.Period] == nil {
			unexplained(known, u.Period)
		}
	}
	all := make([]Period, 0, len(known))
	for _, p := range known {
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b Period) int { return cmp.Compare(b.Name, a.Name) })
	return all[:min(len(all), maxPeriods)]
}

// walk visits the periods of the account's cycle since the account was made, at most those of
// maxPeriods × longest back from now.
func (h *history) walk(now time.Time, visit func(start, end time.Time)) {
	at := h.account.CreatedAt
	if earliest := now.Add(-maxPeriods * longest); at.Before(earliest) {
		at = earliest
	}
	if at.After(now) { // clocks differ
		at = now
	}
	for !at.After(now) {
		start, end := h.account.Cycle.Period(at)
		visit(start, end)
		at = end
	}
}

// widen adds a period, or extends the one of its name unless that is closed.
func widen(known map[string]*Period, name string, start, end time.Time) {
	p := known[name]
	switch {
	case p == nil:
		known[name] = &Period{Name: name, Start: start, End: end}
	case !p.Closed && (start.Before(p.Start) || p.End.Before(end)):
		if start.Before(p.Start) {
			p.Start = start
		}
		if p.End.Before(end) {
			p.End, p.Plan = end, ""
		}
	}
}

// unexplained adds a period that only usage shows: a month from its date, or until the next known
// period.
func unexplained(known map[string]*Period, name string) {
	start, err := time.Parse(time.DateOnly, name)
	if err != nil {
		return // cannot happen: PostgreSQL has dates
	}
	end := plan.AddMonths(start, 1)
	for _, p := range known {
		if p.Start.After(start) && p.Start.Before(end) {
			end = p.Start
		}
	}
	known[name] = &Period{Name: name, Start: start, End: end}
}
