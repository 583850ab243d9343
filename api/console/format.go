package console

import (
	"math/bits"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

// Layouts of dates and times: 20 Nov 2026, 14:05 CET.
const (
	dayLayout    = "2 Jan 2006"
	shortDay     = "2 Jan"
	momentLayout = "2 Jan 2006, 15:04 MST"
)

// reader is the current time and the time zone of the page's reader.
type reader struct {
	now  time.Time
	zone *time.Location
}

// moment is a formatted instant: relative, exact and machine-readable.
type moment struct {
	Machine  string // RFC 3339, UTC
	Exact    string // 20 Nov 2026, 14:05 CET
	Relative string // 5 minutes ago
}

// IsZero reports whether the instant is the zero time.
func (m moment) IsZero() bool { return m.Machine == "" }

// moment formats t. The zero time becomes the zero moment.
func (r reader) moment(t time.Time) moment {
	if t.IsZero() {
		return moment{}
	}
	return moment{
		Machine: t.UTC().Format(time.RFC3339), Exact: t.In(r.zone).Format(momentLayout), Relative: r.relative(t),
	}
}

// hour formats an instant that is known only to the hour.
func (r reader) hour(t time.Time) moment {
	m := r.moment(t)
	if !t.IsZero() && r.now.Sub(t) < time.Hour {
		m.Relative = "in the last hour"
	}
	return m
}

// day returns the date of t in the reader's zone.
func (r reader) day(t time.Time) string { return t.In(r.zone).Format(dayLayout) }

const (
	dayLength = 24 * time.Hour
	// relativeDays is the largest distance in days that is shown as relative; beyond it a date is
	// more useful.
	relativeDays = 30
)

// relative formats how long ago or how far ahead t is, in one unit, rounded down.
func (r reader) relative(t time.Time) string {
	off := r.now.Sub(t)
	ahead := off < 0
	off = off.Abs()
	var text string
	switch {
	case off < time.Minute:
		if ahead {
			return "in less than a minute"
		}
		return "just now"
	case off < time.Hour:
		text = count(int64(off/time.Minute), "minute")
	case off < dayLength:
		text = count(int64(off/time.Hour), "hour")
	case off < relativeDays*dayLength:
		text = count(int64(off/dayLength), "day")
	default:
		return r.day(t)
	}
	if ahead {
		return "in " + text
	}
	return text + " ago"
}

// period formats the days of a metering period. end is exclusive. Periods are in UTC.
func period(start, end time.Time) string {
	first, last := start.UTC(), end.UTC().Add(-time.Nanosecond)
	switch {
	case first.Year() != last.Year():
		return first.Format(dayLayout) + " – " + last.Format(dayLayout)
	case first.YearDay() == last.YearDay():
		return last.Format(dayLayout)
	case first.Month() != last.Month():
		return first.Format(shortDay) + " – " + last.Format(dayLayout)
	}
	return strconv.Itoa(first.Day()) + " – " + last.Format(dayLayout)
}

// left formats how much of a period remains.
func (r reader) left(end time.Time) string {
	rest := end.Sub(r.now)
	switch {
	case rest <= 0:
		return "over"
	case rest < time.Hour:
		return "less than an hour left"
	case rest < dayLength:
		return count(int64(rest/time.Hour), "hour") + " left"
	}
	return count(int64(rest/dayLength), "day") + " left"
}

// count returns a number with its noun, in the plural where necessary.
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(n) + " " + noun + "s"
}

// number formats n with commas between thousands.
func number(n int64) string { return plan.Group(strconv.FormatInt(n, 10)) }

// units formats a number of units with the noun.
func units(u plan.Units) string {
	if u == plan.Unlimited {
		return "unlimited"
	}
	if u == plan.Unit {
		return "1 unit"
	}
	return u.Grouped() + " units"
}

// share returns used as a whole percentage of limit, rounded down, so that 100 means exhausted. It
// returns 0 without a limit.
func share(used, limit plan.Units) int {
	const whole = 100
	if limit <= 0 || used <= 0 {
		return 0
	}
	if used >= limit {
		return whole
	}
	high, low := bits.Mul64(uint64(used), whole)
	percent, _ := bits.Div64(high, low, uint64(limit))
	return int(percent)
}

// compact formats a number of units for the scale of a chart: 1.5M, 20k, 300.
func compact(u plan.Units) string {
	whole := u / plan.Unit
	for _, step := range []struct {
		size plan.Units
		name string
	}{{1_000_000_000, "B"}, {1_000_000, "M"}, {1_000, "k"}} {
		if whole < step.size {
			continue
		}
		tenths := whole * 10 / step.size
		if tenths%10 == 0 {
			return strconv.FormatInt(int64(tenths/10), 10) + step.name
		}
		return strconv.FormatInt(int64(tenths/10), 10) + "." + strconv.FormatInt(int64(tenths%10), 10) + step.name
	}
	return u.Grouped()
}
