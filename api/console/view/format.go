package view

import (
	"cmp"
	"math/bits"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

// Truncate truncates a text to limit bytes, at a character boundary.
func Truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// AccountTitle returns the name of an account, or otherwise when it has none.
func AccountTitle(name, otherwise string) string {
	if name != "" {
		return name
	}
	return otherwise
}

// Detail is a name with its value. Code selects the font of keys and hashes.
type Detail struct {
	Label, Value string
	Code         bool
}

// Layouts of dates and times: 20 Nov 2026, 14:05 CET.
const (
	DayLayout    = "2 Jan 2006"
	shortDay     = "2 Jan"
	momentLayout = "2 Jan 2006, 15:04 MST"
)

// Reader is the current time, the time zone of the page's reader, and the chains that have titles.
type Reader struct {
	Now  time.Time
	Zone *time.Location
	// Chains are those that the gateway knows; nil stands for the built-in ones.
	Chains *chain.Set
}

// Moment is a formatted instant: relative, exact and machine-readable.
type Moment struct {
	Machine  string // RFC 3339, UTC
	Exact    string // 20 Nov 2026, 14:05 CET
	Relative string // 5 minutes ago
}

// IsZero reports whether the instant is the zero time.
func (m Moment) IsZero() bool { return m.Machine == "" }

// Moment formats t. The zero time becomes the zero moment.
func (r Reader) Moment(t time.Time) Moment {
	if t.IsZero() {
		return Moment{}
	}
	return Moment{
		Machine: t.UTC().Format(time.RFC3339), Exact: t.In(r.Zone).Format(momentLayout), Relative: r.relative(t),
	}
}

// Hour formats an instant that is known only to the hour.
func (r Reader) Hour(t time.Time) Moment {
	m := r.Moment(t)
	if !t.IsZero() && r.Now.Sub(t) < time.Hour {
		m.Relative = "in the last hour"
	}
	return m
}

// Day returns the date of t in the reader's zone.
func (r Reader) Day(t time.Time) string { return t.In(r.Zone).Format(DayLayout) }

const (
	// DayLength is the length of a day.
	DayLength = 24 * time.Hour
	// relativeDays is the largest distance in days that is shown as relative; beyond it a date is
	// more useful.
	relativeDays = 30
)

// relative formats how long ago or how far ahead t is, in one unit, rounded down.
func (r Reader) relative(t time.Time) string {
	off := r.Now.Sub(t)
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
		text = Count(int64(off/time.Minute), "minute")
	case off < DayLength:
		text = Count(int64(off/time.Hour), "hour")
	case off < relativeDays*DayLength:
		text = Count(int64(off/DayLength), "day")
	default:
		return r.Day(t)
	}
	if ahead {
		return "in " + text
	}
	return text + " ago"
}

// Period formats the days of a metering period. end is exclusive. Periods are in UTC.
func Period(start, end time.Time) string {
	first, last := start.UTC(), end.UTC().Add(-time.Nanosecond)
	switch {
	case first.Year() != last.Year():
		return first.Format(DayLayout) + " – " + last.Format(DayLayout)
	case first.YearDay() == last.YearDay():
		return last.Format(DayLayout)
	case first.Month() != last.Month():
		return first.Format(shortDay) + " – " + last.Format(DayLayout)
	}
	return strconv.Itoa(first.Day()) + " – " + last.Format(DayLayout)
}

// Left formats how much of a period remains.
func (r Reader) Left(end time.Time) string {
	rest := end.Sub(r.Now)
	switch {
	case rest <= 0:
		return "over"
	case rest < time.Hour:
		return "less than an hour left"
	case rest < DayLength:
		return Count(int64(rest/time.Hour), "hour") + " left"
	}
	return Count(int64(rest/DayLength), "day") + " left"
}

// Count returns a number with its noun, in the plural where necessary.
func Count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return Number(n) + " " + noun + "s"
}

// Number formats n with commas between thousands.
func Number(n int64) string { return plan.Group(strconv.FormatInt(n, 10)) }

// Units formats a number of units with the noun.
func Units(u plan.Units) string {
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

// OfferEnd formats the first instant after an offer, in UTC so that it reads the same on every page
// and in advice.
func OfferEnd(t time.Time) string { return t.UTC().Format(momentLayout) }

// Fact is a name with a value.
type Fact struct{ Name, Value string }

// Sum is a list of amounts with their total.
type Sum struct {
	Title, Unit string // no unit when the title has it
	Lines       []Fact
	Total       Fact
	Note        string
}

// HistoryLine is a line of a history.
type HistoryLine struct {
	Machine, Exact string
	Words          string
}

// UTC formats an instant in UTC.
func UTC(t time.Time) string { return t.UTC().Format(momentLayout) }

// CodeOf formats an error code.
func CodeOf(code int) string { return strconv.Itoa(code) }

// Plural returns a noun, in the plural unless n is 1.
func Plural(n int64, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// SentenceCase converts a name to words.
func SentenceCase(name string) string {
	words := strings.ReplaceAll(name, "_", " ")
	return strings.ToUpper(words[:1]) + words[1:]
}

// OrDash returns a text, or a dash when it is empty.
func OrDash(text string) string { return cmp.Or(text, "–") }
