package workflows

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/chainaccess/gateway/payments/x402"
)

// RedeemSettlement redeems what a payer sent, who has proved itself, and waits for the answer until
// the request's deadline, ctx's or eight seconds, whichever is first; the flow is told until when.
// finality is how long after the grant the transaction is looked at again; 0 for the flow's own.
//
//nolint:gocritic // a copy does no harm
func (c *Client) RedeemSettlement(ctx context.Context, id x402.ID, finality time.Duration,
	in Redeem,
) (RedeemAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	if until, _ := ctx.Deadline(); in.Request.Deadline.IsZero() || until.Before(in.Request.Deadline) {
		in.Request.Deadline = until
	}
	input := SettlementInput{ID: id, FinalityMillis: finality.Milliseconds()}
	return beginning[RedeemAnswer](ctx, c, settlementOptions(id), SettlementWorkflow, input, UpdateRedeem,
		UpdateRedeem+"/"+in.Credential.Key.String(), in)
}

// LookAtSettlement has the flow of a settlement look at the chain now: the one that runs, or one
// that it starts and that goes on from the record.
func (c *Client) LookAtSettlement(ctx context.Context, id x402.ID, finality time.Duration) error {
	options := settlementOptions(id)
	input := SettlementInput{ID: id, FinalityMillis: finality.Milliseconds()}
	if _, err := c.temporal.SignalWithStartWorkflow(ctx, options.ID, SignalRetry, nil, options, SettlementWorkflow,
		input); err != nil {
		return fmt.Errorf("signal workflow %s: %w", options.ID, err)
	}
	return nil
}

func settlementOptions(id x402.ID) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: SettlementID(id), TaskQueue: QueueGateway, StaticSummary: "Redeems what was paid by the call",
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}
}
