package testkit

import (
	"testing"
	"time"
)

// RoomIn makes sure that at least needs is left of the present UTC hour or day (unit); otherwise it
// waits for the next one. Real servers use the machine's clock, and what they count per hour, day
// or month starts over when one ends.
func RoomIn(t testing.TB, unit, needs time.Duration) {
	t.Helper()
	left := leftOf(time.Now(), unit)
	if left >= needs {
		return
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}

// leftOf returns the time until the next unit begins; never zero.
func leftOf(now time.Time, unit time.Duration) time.Duration {
	return now.Truncate(unit).Add(unit).Sub(now)
}
