package flow

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Yield runs every other coroutine of the flow that is ready, and returns. A signal or update that
// arrives with the current workflow task is delivered to a coroutine that runs only after the
// current one. A flow that ends or continues as new without yielding first would lose it.
func Yield(ctx workflow.Context) {
	done := workflow.NewChannel(ctx)
	workflow.Go(ctx, func(workflow.Context) { done.Close() })
	done.Receive(ctx, nil)
}

// DrainHandlers waits until all update handlers have finished and everything that arrived with the
// task was received.
func DrainHandlers(ctx workflow.Context) error {
	for {
		if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
			return err
		}
		Yield(ctx)
		if workflow.AllHandlersFinished(ctx) {
			return nil
		}
	}
}

// Backoff returns the exponential backoff after some tries: first, doubled with each, at most
// limit.
func Backoff(first time.Duration, tries int, limit time.Duration) time.Duration {
	for ; tries > 0 && first < limit; tries-- {
		first *= 2
	}
	return min(first, limit)
}

// FailureKind returns the type of an activity's failure, which contains no external text.
func FailureKind(err error) string {
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return failed.Type()
	}
	if temporal.IsTimeoutError(err) {
		return "worker_timeout"
	}
	return "unknown"
}
