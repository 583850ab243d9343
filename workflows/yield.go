package workflows

import "go.temporal.io/sdk/workflow"

// yield runs every other coroutine of the flow that is ready, and returns. A signal or update that
// arrives with the current workflow task is delivered to a coroutine that runs only after the
// current one. A flow that ends or continues as new without yielding first would lose it.
func yield(ctx workflow.Context) {
	done := workflow.NewChannel(ctx)
	workflow.Go(ctx, func(workflow.Context) { done.Close() })
	done.Receive(ctx, nil)
}

// drainHandlers waits until all update handlers have finished and everything that arrived with the
// task was received.
func drainHandlers(ctx workflow.Context) error {
	for {
		if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
			return err
		}
		yield(ctx)
		if workflow.AllHandlersFinished(ctx) {
			return nil
		}
	}
}
