package workflows

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/workflows/internal/flow"
)

// TicketWorkflow closes a resolved ticket that nobody answered for seven days. PostgreSQL has the
// ticket's state; the flow provides the timer.
//
//   - ID: ticket/<reference>.
//   - Queue: gateway.
//   - Started by: the API, by signal-with-start "look", when a ticket is resolved, answered after
//     that, or reopened; a worker's sweep, for tickets whose flow missed a change or that should
//     have closed.
//   - Signal look: read the ticket again.
//   - Ends: when the ticket is closed or does not exist. A later reopen starts another run.
const (
	TicketWorkflow = "ticket"
)

// TicketID is the workflow id of a ticket.
func TicketID(n ticket.Number) string { return "ticket/" + n.Reference() }

// againTicket is the pause before another read of a ticket that should be closed by the flow's
// clock but is not yet by the worker's.
const againTicket = time.Minute

// KeepTicket is the workflow. It returns the last status.
func KeepTicket(ctx workflow.Context, ref activities.TicketRef) (ticket.Status, error) {
	if err := workflow.UpsertTypedSearchAttributes(ctx, AccountID.ValueSet(ref.Account.String())); err != nil {
		return "", err
	}
	looks := workflow.GetSignalChannel(ctx, SignalLook)
	shown := ticket.Status("")
	for {
		for looks.ReceiveAsync(nil) { // one read answers all signals before it
		}
		var (
			tickets *activities.Tickets
			now     activities.TicketState
		)
		if err := workflow.ExecuteActivity(flow.Looking(ctx, "look at the ticket"), tickets.LookAtTicket, ref).Get(ctx,
			&now); err != nil {
			return "", err
		}
		if err := showTicket(ctx, &shown, &now); err != nil {
			return "", err
		}
		flow.Yield(ctx)
		over := !now.Known || now.Status == ticket.Closed
		switch {
		case looks.Len() > 0:
		case over:
			return now.Status, nil
		default:
			if err := awaitLook(ctx, looks, &now); err != nil {
				return "", err
			}
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			for looks.ReceiveAsync(nil) { // the next run begins with a read
			}
			return "", workflow.NewContinueAsNewError(ctx, TicketWorkflow, ref)
		}
	}
}

// awaitLook waits for a signal, or until a resolved ticket is due to close.
func awaitLook(ctx workflow.Context, looks workflow.ReceiveChannel, now *activities.TicketState) error {
	told := func() bool { return looks.Len() > 0 }
	if now.Status != ticket.Resolved {
		return workflow.Await(ctx, told)
	}
	pause := max(now.Closes.Sub(workflow.Now(ctx)), againTicket)
	_, err := workflow.AwaitWithTimeout(ctx, pause, told)
	return err
}

// showTicket shows the ticket's status to operators.
func showTicket(ctx workflow.Context, shown *ticket.Status, now *activities.TicketState) error {
	words := "Waits until the ticket is resolved."
	switch {
	case !now.Known:
		words = "There is no such ticket."
	case now.Status == ticket.Closed:
		words = "The ticket is closed."
	case now.Status == ticket.Resolved:
		words = "Closes at " + now.Closes.UTC().Format(time.RFC3339) + " unless somebody answers before."
	}
	workflow.SetCurrentDetails(ctx, words)
	if !now.Known || now.Status == *shown {
		return nil
	}
	*shown = now.Status
	return workflow.UpsertTypedSearchAttributes(ctx, Stage.ValueSet(string(now.Status)))
}

// TellTicket makes the flow of a ticket read it; it starts the flow if none runs.
func (c *Client) TellTicket(ctx context.Context, ref activities.TicketRef) error {
	options := client.StartWorkflowOptions{
		ID: TicketID(ref.Number), TaskQueue: QueueGateway, StaticSummary: "Closes ticket " + ref.Number.Reference() +
			" in time",
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}
	if _, err := c.temporal.SignalWithStartWorkflow(ctx, options.ID, SignalLook, nil, options, TicketWorkflow,
		ref); err != nil {
		return fmt.Errorf("signal workflow %s: %w", options.ID, err)
	}
	return nil
}
