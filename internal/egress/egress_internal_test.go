package egress

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestRequestsUnderWayAreBounded(t *testing.T) {
	t.Parallel()
	c := New(Options{Timeout: time.Minute})
	if cap(c.places) != maxUnderWay {
		t.Fatalf("%d places, want %d", cap(c.places), maxUnderWay)
	}
	for range maxUnderWay {
		c.places <- struct{}{}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := c.Do(ctx, Request{URL: "https://127.0.0.1/"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with every place taken: %v, want the deadline", err)
	}
	<-c.places
	for range 2 { // a place is given back
		if _, err := c.Do(t.Context(), Request{URL: "https://127.0.0.1/"}); !errors.Is(err, ErrRefused) {
			t.Errorf("with a place left: %v, want ErrRefused", err)
		}
	}
}
