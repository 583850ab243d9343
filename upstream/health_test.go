package upstream

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func newHealth() (*health, *testkit.Clock) {
	clock := testkit.NewClock(noon)
	return &health{now: clock.Now}, clock
}

func (h *health) fail(n int) {
	for range n {
		h.record(blameFailure, time.Millisecond, 0)
	}
}

func TestNobodyIsJudgedByFewSamples(t *testing.T) {
	t.Parallel()
	h, _ := newHealth()
	h.fail(2)
	if s := h.standing(); s.excluded || s.errorRate != 0 {
		t.Errorf("after two failures: %+v", s)
	}
	for range 6 {
		h.record(blameNobody, time.Millisecond, 0)
		h.fail(1)
	}
	if s := h.standing(); s.errorRate == 0 {
		t.Errorf("after fourteen calls with failures the error rate is %v", s.errorRate)
	}
}

func TestFailuresInARowExcludeForAWhileThatDoubles(t *testing.T) {
	t.Parallel()
	h, clock := newHealth()
	h.fail(failuresInARow)
	for _, seconds := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
		want := time.Duration(seconds) * time.Second
		clock.Advance(want - time.Millisecond)
		if !h.standing().excluded {
			t.Fatalf("back before %s were over", want)
		}
		clock.Advance(time.Millisecond)
		if h.standing().excluded {
			t.Fatalf("still excluded after %s", want)
		}
		h.fail(1)
	}
	clock.Advance(time.Minute)
	h.record(blameNobody, time.Millisecond, 0)
	clock.Advance(5 * time.Minute) // the failures leave the window
	h.fail(failuresInARow)
	clock.Advance(time.Second)
	if h.standing().excluded {
		t.Error("a success must let the exclusion begin anew at its shortest")
	}
}

func TestCallsThatFailTogetherExcludeOnce(t *testing.T) {
	t.Parallel()
	h, clock := newHealth()
	h.fail(100) // all in flight at the same time
	clock.Advance(firstExclusion)
	if h.standing().excluded {
		t.Error("a burst of failures must exclude no longer than one")
	}
}

func TestAThrottlingUpstreamIsLeftAloneAsLongAsItAsks(t *testing.T) {
	t.Parallel()
	h, clock := newHealth()
	h.record(blameThrottle, time.Millisecond, 7*time.Second)
	clock.Advance(7*time.Second - time.Millisecond)
	if !h.standing().excluded {
		t.Error("back before Retry-After was over")
	}
	clock.Advance(time.Millisecond)
	if h.standing().excluded {
		t.Error("still excluded after Retry-After")
	}
	h.record(blameThrottle, time.Millisecond, 24*time.Hour)
	clock.Advance(maxExclusion)
	if h.standing().excluded {
		t.Error("no upstream may exclude itself for longer than a minute")
	}
}

func TestOldSamplesLeaveTheWindow(t *testing.T) {
	t.Parallel()
	h, clock := newHealth()
	for range 20 {
		h.fail(1)
		h.record(blameNobody, time.Millisecond, 0)
	}
	if h.standing().errorRate != 0.5 {
		t.Fatalf("error rate %v, want a half", h.standing().errorRate)
	}
	clock.Advance(healthBuckets * bucketLength)
	if got := h.standing().errorRate; got != 0 {
		t.Errorf("error rate %v after the window", got)
	}
}

func TestMoreThanHalfFailingExcludes(t *testing.T) {
	t.Parallel()
	h, _ := newHealth()
	for range 5 {
		h.record(blameNobody, time.Millisecond, 0)
		h.fail(2)
	}
	if !h.standing().excluded {
		t.Error("ten failures of fifteen must exclude, though never three in a row")
	}
}

func TestAnUpstreamIsTakenAtItsWordForAWhile(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(noon)
	l := lacking{now: clock.Now}
	if l.has([]byte("trace_block")) {
		t.Error("nothing is known yet")
	}
	l.note([]byte("trace_block"))
	if !l.has([]byte("trace_block")) || l.has([]byte("eth_call")) {
		t.Error("exactly the method that it lacks is remembered")
	}
	clock.Advance(lackingFor)
	if l.has([]byte("trace_block")) {
		t.Error("it must be asked again after a while")
	}
}
