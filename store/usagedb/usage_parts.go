package usagedb

import "time"

// onlyHours is a time after all data: with it as the start of daily rows, only hourly rows are
// read.
var onlyHours = time.Date(9999, time.December, 31, 0, 0, 0, 0, time.UTC)

// midnightFrom returns the first UTC midnight not before at. A window's hours before it are no
// whole day.
func midnightFrom(at time.Time) time.Time {
	midnight := at.UTC().Truncate(day)
	if midnight.Before(at) {
		midnight = midnight.Add(day)
	}
	return midnight
}

// daysOfSteps returns from when daily rows can serve steps that start at since: onlyHours when a
// step starts or ends within a day.
func daysOfSteps(since time.Time, step time.Duration) time.Time {
	if step%day != 0 || !since.Equal(since.Truncate(day)) {
		return onlyHours
	}
	return since
}
