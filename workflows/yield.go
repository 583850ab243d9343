package workflows

import "go.temporal.io/sdk/workflow"

// yield lets every coroutine of the flow run that can, and comes back. What came with the task
// that runs now (a signal, an update) is handed to the coroutine that waits for it, which runs only
// after the one that is running: a flow that decides to end, or to continue as new, without
// breathing first loses it.
func yield(ctx workflow.Context) {
	done := workflow.NewChannel(ctx)
	workflow.Go(ctx, func(workflow.Context) { done.Close() })
	done.Receive(ctx, nil)
}

// drainHandlers waits until every handler of updates is done, and everything that came with the
// task is heard.
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
