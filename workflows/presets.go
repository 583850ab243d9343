package workflows

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Presets of time-outs and retries. An activity takes one of them; its summary says what it does,
// in the Temporal UI.

// measuring is for what is done again soon anyway: two attempts, each within timeout.
func measuring(ctx workflow.Context, timeout time.Duration, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: timeout,
		// A worker that took the task and died costs one timeout, one that never takes it does not
		// hold the round for ever.
		ScheduleToCloseTimeout: 3 * timeout,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, MaximumAttempts: 2},
		Summary:                summary,
	})
}

// reading is for what a chain says while somebody waits: an attempt is shorter than the wait, and
// what cannot be read now is asked again later.
func reading(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout:    6 * time.Second, // the reading itself has five
		ScheduleToCloseTimeout: time.Minute,
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, MaximumAttempts: 3},
		Summary:                summary,
	})
}

// upkeeping is for work on the database that takes its time and can be repeated: minutes per
// attempt, for hours.
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

// closingOne is for the statement of one account: short, and tried for as long as it takes, because
// nothing is lost meanwhile.
func closingOne(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: time.Minute,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 5 * time.Minute,
		},
		Summary: summary,
	})
}

// looking is for a look at one row and what is due there: short, and repeated for as long as it
// takes.
func looking(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 20 * time.Second,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 5 * time.Minute,
		},
		Summary: summary,
	})
}

// closingMany is for statements of a page of accounts: minutes at most, with a sign of life now and
// then, so that another worker takes over soon.
func closingMany(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 30 * time.Minute,
		HeartbeatTimeout:    5 * time.Minute,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 5 * time.Minute,
		},
		Summary: summary,
	})
}

// telling is for messages to people: tried for three days, because a late one is better than none,
// and no longer, because it is news. An attempt reads and writes some rows; one that is lost on its
// way to a worker is made again after its time-out, so that is short.
func telling(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout:    20 * time.Second,
		ScheduleToCloseTimeout: 72 * time.Hour,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: 10 * time.Minute,
		},
		Summary: summary,
	})
}

// changing is for a change of the record that somebody waits for: short attempts in quick
// succession, and minutes of them, for the change goes on when whoever asked has left.
func changing(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout:    6 * time.Second, // a change's own push has half of it
		ScheduleToCloseTimeout: 10 * time.Minute,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second,
		},
		Summary: summary,
	})
}

// pushing is for a change that is saved and that the meter must be told, as soon as it answers.
func pushing(ctx workflow.Context, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout:    20 * time.Second,
		ScheduleToCloseTimeout: 24 * time.Hour,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 500 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 15 * time.Second,
		},
		Summary: summary,
	})
}

// asking is for what Stripe says and what follows from it: some requests and changes of the record
// in one attempt, few attempts in a row, because the flow itself tries again with longer and longer
// pauses.
func asking(ctx workflow.Context, summary string) workflow.Context {
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
