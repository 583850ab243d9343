package transport

import (
	"context"
	"time"
)

// WithDeadline returns a copy of ctx with a deadline but without a timer: Deadline and Err report
// it, Done does not. Reads set it on their connections, which costs a call far less than a timer
// and a goroutine's wake-up.
func WithDeadline(ctx context.Context, deadline time.Time, now func() time.Time) context.Context {
	return &deadlined{Context: ctx, deadline: deadline, now: now}
}

type deadlined struct {
	context.Context //nolint:containedctx // the parent

	deadline time.Time
	now      func() time.Time
}

// Deadline returns the earlier of the parent's deadline and its own.
func (d *deadlined) Deadline() (time.Time, bool) {
	if parent, ok := d.Context.Deadline(); ok && parent.Before(d.deadline) {
		return parent, true
	}
	return d.deadline, true
}

// Err returns the parent's error, or context.DeadlineExceeded after the deadline.
func (d *deadlined) Err() error {
	if err := d.Context.Err(); err != nil {
		return err
	}
	if !d.now().Before(d.deadline) {
		return context.DeadlineExceeded
	}
	return nil
}
