package testkit

import (
	"testing"
	"time"
)

// RoomIn makes sure that the present hour or day of UTC lasts for as long as a test needs: when
// less is left of unit, it waits until the next one has begun. The real servers that a test counts
// at have the machine's clock, and what they count by hours, days and months begins anew when one
// turns.
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

// leftOf is how long it is until the next unit begins, never zero.
func leftOf(now time.Time, unit time.Duration) time.Duration {
	return now.Truncate(unit).Add(unit).Sub(now)
}
