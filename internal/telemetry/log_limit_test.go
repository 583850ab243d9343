package telemetry_test

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/internal/testkit"
)

func TestLogLimit_WritesAFewOfAKindAndCountsTheOthers(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	l := telemetry.NewLogLimit[string](3, 10*time.Second, clock.Now)
	let := func(kind string, times int) (written int) {
		for range times {
			if _, ok := l.Let(kind); ok {
				written++
			}
		}
		return written
	}
	if got := let("down", 1000); got != 3 {
		t.Errorf("%d of a thousand were written, want 3", got)
	}
	if got := let("slow", 2); got != 2 {
		t.Errorf("%d of another kind were written, want 2", got)
	}
	clock.Advance(10 * time.Second)
	if leftOut, ok := l.Let("down"); !ok || leftOut != 997 {
		t.Errorf("the next is let %v and tells of %d left out, want 997", ok, leftOut)
	}
	if leftOut, ok := l.Let("down"); !ok || leftOut != 0 {
		t.Errorf("the one after is let %v and tells of %d left out, want none", ok, leftOut)
	}
}
