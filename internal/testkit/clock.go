package testkit

import (
	"sync"
	"time"
)

// Clock is a clock that moves only by Advance. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that is set to start, in UTC.
func NewClock(start time.Time) *Clock { return &Clock{now: start.UTC()} }

// Now returns the clock's time; pass it as a `now func() time.Time`.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock by d, which may be negative, and returns the new time.
func (c *Clock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}
