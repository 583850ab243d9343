// Package flow holds what workflow definitions share: presets of activities' timeouts and retries,
// backoff, kinds of failures, and how a flow ends without losing a signal.
package flow

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Presets of timeouts and retries. Each activity uses one of them. The summary is shown in the
// Temporal UI.

// Measuring is for measurements that are soon repeated anyway: two attempts, each within timeout.
func Measuring(ctx workflow.Context, timeout time.Duration, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: timeout,
		// A worker that dies with the task costs one timeout. A task that no worker takes does not
		// block the round for ever.
		ScheduleToCloseTimeout: 3 * timeout,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, MaximumAttempts: 2},
		Summary:                summary,
	})
}

// Reading is for reading a chain while a client waits: an attempt is shorter than the client's
// timeout, and a failed read is retried later by the flow.
func Reading(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout:    6 * time.Second, // the read itself has a timeout of five
		ScheduleToCloseTimeout: time.Minute,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, MaximumAttempts: 3},
		Summary:                summary,
	})
}

// Upkeeping is for slow, idempotent work on the database: minutes per attempt, retried for hours.
func Upkeeping(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout:    5 * time.Minute,
		ScheduleToCloseTimeout: 12 * time.Hour,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 10 * time.Minute,
		},
		Summary: summary,
	})
}

// ClosingOne is for the statement of one account: short, and retried without limit, because nothing
// is lost meanwhile.
func ClosingOne(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 5 * time.Minute,
		},
		Summary: summary,
	})
}

// Looking is for reading one row and acting on it: short, and retried without limit.
func Looking(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 20 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 5 * time.Minute,
		},
		Summary: summary,
	})
}

// ClosingMany is for the statements of a page of accounts: up to half an hour, with heartbeats so
// that another worker takes over soon.
func ClosingMany(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 30 * time.Minute,
		HeartbeatTimeout:    5 * time.Minute,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 5 * time.Minute,
		},
		Summary: summary,
	})
}

// Telling is for messages to people: retried for three days, because late is better than never, and
// no longer, because by then it is no news. An attempt reads and writes a few rows. A task that is
// lost on its way to a worker is retried only after its timeout, so that is short.
func Telling(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout:    20 * time.Second,
		ScheduleToCloseTimeout: 72 * time.Hour,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 10 * time.Minute,
		},
		Summary: summary,
	})
}

// Changing is for a change in PostgreSQL that a client waits for: short attempts in quick
// succession, and retried for minutes, because the change continues after the client has left.
func Changing(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout:    6 * time.Second, // the push within a change has half of it
		ScheduleToCloseTimeout: 10 * time.Minute,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second,
		},
		Summary: summary,
	})
}

// Pushing is for pushing a committed change to the meter as soon as that answers.
func Pushing(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout:    20 * time.Second,
		ScheduleToCloseTimeout: 24 * time.Hour,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 500 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 15 * time.Second,
		},
		Summary: summary,
	})
}

// Asking is for reading Stripe and acting on it: several requests and writes in one attempt. Few
// attempts in a row, because the flow itself retries with backoff.
func Asking(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout:    time.Minute,
		ScheduleToCloseTimeout: 5 * time.Minute,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 500 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 10 * time.Second,
			MaximumAttempts: 3,
		},
		Summary: summary,
	})
}
