package workflows

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/payments/x402"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/relay/chain"
)

// Client starts workflows. It owns no connection.
type Client struct{ temporal client.Client }

// NewClient returns a client that uses a connection owned by the caller.
func NewClient(c client.Client) *Client { return &Client{temporal: c} }

// StartProbe makes sure that the chain's probe runs with this input. It starts one, or sends the
// input to the running one, which begins its next round at once.
func (c *Client) StartProbe(ctx context.Context, in ProbeInput) error {
	options := client.StartWorkflowOptions{
		ID: ProbeID(in.Chain), TaskQueue: QueueProbe,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:            "Measures the upstreams of " + string(in.Chain),
	}
	_, err := c.temporal.SignalWithStartWorkflow(ctx, options.ID, SignalConfigure, in, options, ProbeWorkflow, in)
	if err != nil {
		return fmt.Errorf("start workflow %s: %w", options.ID, err)
	}
	return nil
}

// Probes reports whether the chain's probe is running.
func (c *Client) Probes(ctx context.Context, id chain.ID) (bool, error) {
	run, err := c.temporal.DescribeWorkflowExecution(ctx, ProbeID(id), "")
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up workflow %s: %w", ProbeID(id), err)
	}
	return run.GetWorkflowExecutionInfo().GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING, nil
}

// HasSchedule reports whether a schedule exists.
func (c *Client) HasSchedule(ctx context.Context, id string) (bool, error) {
	_, err := c.temporal.ScheduleClient().GetHandle(ctx, id).Describe(ctx)
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up schedule %s: %w", id, err)
	}
	return true, nil
}

// StartUsageNotice starts the delivery of a notice. It is idempotent: a run that is open or that
// completed is left alone; only a failed one is replaced.
func (c *Client) StartUsageNotice(ctx context.Context, ref activities.NoticeRef) error {
	options := client.StartWorkflowOptions{
		ID: UsageNoticeID(ref), TaskQueue: QueueGateway,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE_FAILED_ONLY,
		StaticSummary: fmt.Sprintf("Tells that %d %% of the allowance of %s is used", ref.Percent,
			ref.Period),
	}
	_, err := c.temporal.ExecuteWorkflow(ctx, options, UsageNoticeWorkflow, ref)
	if _, before := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); before {
		return nil
	}
	if err != nil {
		return fmt.Errorf("start workflow %s: %w", options.ID, err)
	}
	return nil
}

// SchedulePartitionUpkeep creates the schedule or updates an existing one, and triggers one run
// now. Call records are kept for keepCallDays, or for 30 days if it is 0.
func (c *Client) SchedulePartitionUpkeep(ctx context.Context, keepCallDays int) error {
	in := PartitionInput()
	in.KeepCallDays = cmp.Or(keepCallDays, in.KeepCallDays)
	options := client.ScheduleOptions{
		ID:   PartitionSchedule,
		Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: partitionEvery}}},
		Action: &client.ScheduleWorkflowAction{
			ID: PartitionWorkflow, Workflow: PartitionWorkflow, Args: []any{in}, TaskQueue: QueueGateway,
			StaticSummary: "Makes and drops the partitions of call records",
		},
		Overlap:            enums.SCHEDULE_OVERLAP_POLICY_SKIP,
		CatchupWindow:      partitionCatchup,
		TriggerImmediately: true,
	}
	schedules := c.temporal.ScheduleClient()
	_, err := schedules.Create(ctx, options)
	if err == nil {
		return nil
	}
	if !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return fmt.Errorf("create schedule %s: %w", options.ID, err)
	}
	handle := schedules.GetHandle(ctx, options.ID)
	err = handle.Update(ctx, client.ScheduleUpdateOptions{
		DoUpdate: func(current client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			schedule := current.Description.Schedule
			schedule.Spec, schedule.Action = &options.Spec, options.Action
			schedule.Policy = &client.SchedulePolicies{Overlap: options.Overlap, CatchupWindow: options.CatchupWindow}
			return &client.ScheduleUpdate{Schedule: &schedule}, nil
		},
	})
	if err != nil {
		return fmt.Errorf("update schedule %s: %w", options.ID, err)
	}
	if err := handle.Trigger(ctx, client.ScheduleTriggerOptions{Overlap: options.Overlap}); err != nil {
		return fmt.Errorf("trigger schedule %s: %w", options.ID, err)
	}
	return nil
}

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
