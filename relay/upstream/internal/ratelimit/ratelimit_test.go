package ratelimit

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestPace_NoSecondHoldsMoreCalls(t *testing.T) {
	t.Parallel()
	for _, perSecond := range []float64{0.5, 1, 2.5, 10, 100} {
		clock := testkit.NewClock(noon)
		p := newPace(perSecond)
		var sent []time.Time
		for range 4000 {
			if p.take(clock.Now()) == 0 {
				sent = append(sent, clock.Now())
			}
			clock.Advance(1500 * time.Microsecond) // six seconds in all
		}
		for i, t0 := range sent {
			n := 0
			for _, later := range sent[i:] {
				if later.Sub(t0) < time.Second {
					n++
				}
			}
			if n > int(math.Ceil(perSecond)) {
				t.Fatalf("at %v per second a second holds %d", perSecond, n)
			}
		}
		if want := 6 * perSecond; float64(len(sent)) < 0.95*want-1 {
			t.Errorf("at %v per second only %d were let through in six seconds", perSecond, len(sent))
		}
	}
}

func TestPace_SaysWhenThereIsRoomAndSurvivesAClockSetBack(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(noon)
	p := newPace(2)
	p.take(clock.Now())
	p.take(clock.Advance(300 * time.Millisecond))
	if wait := p.take(clock.Advance(200 * time.Millisecond)); wait != 500*time.Millisecond {
		t.Errorf("room in %s", wait)
	}
	clock.Advance(-time.Hour)
	if p.take(clock.Now()) != 0 {
		t.Error("a clock that was set back stops the calls")
	}
	if n := len(newPace(1e6).sent); n > maxRemembered {
		t.Errorf("it remembers %d", n)
	}
}

func TestPace_ProbesCountAgainstItAndAreNotKeptWaiting(t *testing.T) {
	t.Parallel()
	l := New(config.Upstream{MaxPerSecond: 0.01, MaxConcurrent: 1})
	l.WaitToProbe(t.Context(), time.Now)
	if l.Take(time.Now()) {
		t.Error("the probe did not count")
	}
	started := time.Now()
	l.WaitToProbe(t.Context(), time.Now)
	if waited := time.Since(started); waited < probePatience || waited > 20*time.Second {
		t.Errorf("the next probe waited for %s", waited)
	}
	if counted := time.Unix(0, l.pace.sent[0]); counted.Sub(started) < probePatience {
		t.Error("a probe that was sent before its turn did not count")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	l.WaitToProbe(ended, func() time.Time { return time.Now().Add(time.Hour) })
	if l.inFlight.Load() != 0 {
		t.Error("probes take room of calls")
	}
}
