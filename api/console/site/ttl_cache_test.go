package site

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
)

// An answer that is the same for everybody is requested once in ten seconds, whatever the traffic,
// and once a second while it fails.
func TestTTLCache_VisitorsShareWhatIsTheSameForAll(t *testing.T) {
	t.Parallel()
	now, asked := time.Date(2026, time.November, 20, 14, 5, 0, 0, time.UTC), 0
	var k TTLCache[int]
	get := func(err error) (int, error) {
		return k.Get(context.Background(), func() time.Time {
			return now
		}, func() (int, error) { asked++; return asked, err })
	}
	for range 2 {
		if _, err := get(fault.New(fault.RateWindow, "")); err == nil || asked != 1 {
			t.Fatalf("a failure was lost, or asked for %d times", asked)
		}
	}
	now = now.Add(failureKept)
	for range 3 {
		if got, err := get(nil); got != 2 || err != nil {
			t.Fatalf("it gives %d, %v", got, err)
		}
	}
	now = now.Add(publicKept)
	if got, _ := get(nil); got != 3 || asked != 3 {
		t.Errorf("afterwards it gives %d after %d questions", got, asked)
	}
}

// A visitor who waits for another's request stops waiting when their own request ends. The failure
// of a request that ended is not cached.
func TestTTLCache_WaitsForAnotherVisitorsReadWithinTheRequest(t *testing.T) {
	t.Parallel()
	var k TTLCache[int]
	clock := func() time.Time { return time.Date(2026, time.November, 20, 14, 5, 0, 0, time.UTC) }
	under, release, answered := make(chan struct{}), make(chan struct{}), make(chan error)
	first, leave := context.WithCancel(context.Background())
	go func() {
		_, err := k.Get(first, clock, func() (int, error) { close(under); <-release; return 0, first.Err() })
		answered <- err
	}()
	<-under
	gone, end := context.WithCancel(context.Background())
	end()
	if _, err := k.Get(gone, clock, func() (int, error) { t.Error("two ask at once"); return 0, nil }); !errors.Is(err,
		context.Canceled) {
		t.Errorf("whoever goes is told %v", err)
	}
	leave()
	close(release)
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Errorf("the first is told %v", err)
	}
	if got, err := k.Get(context.Background(), clock, func() (int, error) { return 7, nil }); got != 7 || err != nil {
		t.Errorf("the next is given %d, %v", got, err)
	}
}
