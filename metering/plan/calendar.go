package plan

import "time"

const monthsPerYear = 12

// AddMonths returns the same day and time n months later in UTC. A day that the month lacks becomes
// its last day: 29 February plus 12 months is 28 February.
func AddMonths(t time.Time, n int) time.Time {
	t = t.UTC()
	first := time.Date(t.Year(), t.Month()+time.Month(n), 1, t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(t.Day(), last)-1)
}

// CalendarMonth returns the UTC month that holds t: its first instant and the first instant of the
// next.
func CalendarMonth(t time.Time) (start, end time.Time) {
	t = t.UTC()
	start = time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	return start, start.AddDate(0, 1, 0)
}
