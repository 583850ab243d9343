package workflows

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/chainaccess/gateway/payments/x402"
)

// RedeemSettlement redeems the payment of a payer who has proved itself. It waits for the answer
// until the earliest of the request's deadline, ctx's and eight seconds; the flow gets that
// deadline too. finality is how long after the grant the transaction is read again; 0 means the
// default.
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

// LookAtSettlement makes the flow of a settlement read the chain now. It starts the flow from
// PostgreSQL if none runs.
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
