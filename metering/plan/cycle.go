package plan

import "time"

// Cycle defines when an account's metering periods begin: on the day of its subscription or,
// without one, on the first of the month. All periods are monthly, also those of yearly
// subscriptions (docs/decisions/0028).
type Cycle struct {
	// Anchor is the instant at which the subscription began; zero for calendar months.
	Anchor time.Time
	// Ends is the instant at which the subscription ended or will end, and calendar months follow;
	// zero while none is known.
	Ends time.Time
}

// Truncate rounds both instants down to multiples of step.
func (c Cycle) Truncate(step time.Duration) Cycle {
	return Cycle{Anchor: c.Anchor.Truncate(step), Ends: c.Ends.Truncate(step)}
}

// Period returns the metering period [start, end) that holds t. Every instant is in exactly one: a
// period that is cut by the begin or the end of a subscription is shorter than a month. A day that
// a month lacks becomes its last day, and the next period returns to the day of the anchor.
func (c Cycle) Period(t time.Time) (start, end time.Time) {
	switch {
	case c.Anchor.IsZero() || !c.Ends.IsZero() && !c.Ends.After(c.Anchor):
		return CalendarMonth(t)
	case t.Before(c.Anchor):
		start, end = CalendarMonth(t)
		return start, earlier(end, c.Anchor.UTC())
	case !c.Ends.IsZero() && !t.Before(c.Ends):
		start, end = CalendarMonth(t)
		return later(start, c.Ends.UTC()), end
	}
	at, from := t.UTC(), c.Anchor.UTC()
	n := (at.Year()-from.Year())*monthsPerYear + int(at.Month()) - int(from.Month())
	if AddMonths(from, n).After(at) {
		n--
	}
	start, end = AddMonths(from, n), AddMonths(from, n+1)
	if !c.Ends.IsZero() {
		end = earlier(end, c.Ends.UTC())
	}
	return start, end
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
