package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Presets of time-outs and retries. An activity takes one of them; its summary says what it does, in the Temporal UI.

// measuring is for what is done again soon anyway: two attempts, each within timeout.
func measuring(ctx workflow.Context, timeout time.Duration, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: timeout,
		// A worker that took the task and died costs one timeout, one that never takes it does not hold the round for ever.
		ScheduleToCloseTimeout: 3 * timeout,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, MaximumAttempts: 2},
		Summary:                summary,
	})
}

// upkeeping is for work on the database that takes its time and can be repeated: minutes per attempt, for hours.
func upkeeping(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout:    5 * time.Minute,
		ScheduleToCloseTimeout: 12 * time.Hour,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 10 * time.Minute,
		},
		Summary: summary,
	})
}

// telling is for messages to people: tried for three days, because a late one is better than none, and no longer, because it is news.
func telling(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout:    time.Minute,
		ScheduleToCloseTimeout: 72 * time.Hour,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 10 * time.Minute,
		},
		Summary: summary,
	})
}
