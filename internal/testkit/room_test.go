package testkit

import (
	"testing"
	"time"
)

func TestRoom_IsWaitedForOnlyAtTheEndOfAnHourOrDay(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for _, row := range []struct {
		now  string
		unit time.Duration
		left time.Duration
	}{
		{"2026-12-31T23:59:59Z", day, time.Second},
		{"2026-12-31T23:59:59Z", time.Hour, time.Second},
		{"2027-01-01T00:00:00Z", day, day},
		{"2028-02-29T22:59:30+02:00", day, 3*time.Hour + 30*time.Second},
		{"2028-02-29T22:59:30+02:00", time.Hour, 30 * time.Second},
	} {
		t.Run(row.now, func(t *testing.T) {
			now, err := time.Parse(time.RFC3339, row.now)
			if err != nil {
				t.Fatal(err)
			}
			if got := leftOf(now, row.unit); got != row.left {
				t.Errorf("at %s another %s is left of %s, want %s", row.now, got, row.unit, row.left)
			}
		})
	}
	// A unit is shorter than what is needed, so the next one is awaited.
	const unit = 50 * time.Millisecond
	before := time.Now().Truncate(unit)
	RoomIn(t, unit, 2*unit)
	if after := time.Now(); !after.After(before.Add(unit)) {
		t.Errorf("it went on at %s, within the unit that began at %s", after, before)
	}
}
