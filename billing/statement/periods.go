package statement

import (
	"cmp"
	"slices"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
)

// Period is a billing period of an account. Name is the date on which it began. Several that begin
// on one day have one name and one statement, from the first one's start to the last one's end
// (docs/decisions/0028).
type Period struct {
	Name       string
	Start, End time.Time
	Closed     bool      // frozen
	Plan       string    // that it was cut short with; empty when it was not
	cut        time.Time // when that was done; zero when it was not
	Requests   int64     // of a closed one
	Units      plan.Units
}

// due is up to where usage must be recorded for the period to be closed. Usage of one that was cut
// short is counted into it until the cut is in force, which is after its end by as much as the cut
// was noticed late.
func (p *Period) due() time.Time { return later(p.End, p.cut).Add(Grace) }

// Bounds of what is looked at of an account: more than ten years of periods.
const (
	maxPeriods = 130
	longest    = 31 * 24 * time.Hour
)

// history is what is known of an account's periods.
type history struct {
	account *store.Account
	heads   []store.StatementHead
	ended   []store.EndedSpan
	used    []store.UsagePeriod // with usage and without a statement
}

// periods lists the periods of an account that began by now, newest first, and at most maxPeriods
// of them: what was closed, what was cut short, what its cycle says, and what usage says that is in
// none of these.
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
		// What an earlier cycle left is not what today's cycle says of the same time.
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

// walk visits the periods of the account's cycle since it was made, and no more than maxPeriods of
// them back from now.
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

// widen adds a period, or makes the one of its name longer. What is closed stays as it is.
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

// unexplained adds a period that only its usage tells of: a month from its day, or until the next
// period that is known.
func unexplained(known map[string]*Period, name string) {
	start, err := time.Parse(time.DateOnly, name)
	if err != nil {
		return // the record holds dates
	}
	end := plan.AddMonths(start, 1)
	for _, p := range known {
		if p.Start.After(start) && p.Start.Before(end) {
			end = p.Start
		}
	}
	known[name] = &Period{Name: name, Start: start, End: end}
}
