package testkit

import (
	"sync"
	"time"
)

// Clock is a clock that stands still until it is told to advance. It may be used from several
// goroutines.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows start, in UTC.
func NewClock(start time.Time) *Clock { return &Clock{now: start.UTC()} }

// Now is what the clock shows; pass it where a `now func() time.Time` is taken.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock by d, which may be negative, and gives the new time.
func (c *Clock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}
