package upstream

import (
	"context"
	"time"
)

// WithDeadline returns ctx a deadline without a timer: Deadline and Err tell it, Done does not.
// Reads hold their connections to it, which costs a call far less than a timer and a goroutine's
// wake-up would.
func WithDeadline(ctx context.Context, deadline time.Time, now func() time.Time) context.Context {
	return &deadlined{Context: ctx, deadline: deadline, now: now}
}

type deadlined struct {
	context.Context //nolint:containedctx // the parent

	deadline time.Time
	now      func() time.Time
}

// Deadline is the earlier of the parent's and its own.
func (d *deadlined) Deadline() (time.Time, bool) {
	if parent, ok := d.Context.Deadline(); ok && parent.Before(d.deadline) {
		return parent, true
	}
	return d.deadline, true
}

// Err is the parent's, or tells that the deadline is over.
func (d *deadlined) Err() error {
	if err := d.Context.Err(); err != nil {
		return err
	}
	if !d.now().Before(d.deadline) {
		return context.DeadlineExceeded
	}
	return nil
}
