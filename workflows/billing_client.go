package workflows

import (
	"context"
	"errors"
	"fmt"

	"github.com/chainaccess/gateway/identity/account"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/chainaccess/gateway/activities"
)

// CloseStatement starts the closing of a period's statement unless it runs already. It is
// idempotent.
//
//nolint:gocritic // a copy does no harm
func (c *Client) CloseStatement(ctx context.Context, closing activities.Closing) error {
	options := client.StartWorkflowOptions{
		ID: StatementID(&closing), TaskQueue: QueueBilling, StaticSummary: "Closes the statement of " +
			closing.Period.Key,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
	}
	if _, err := c.temporal.ExecuteWorkflow(ctx, options, StatementWorkflow, closing); err != nil {
		return fmt.Errorf("start workflow %s: %w", options.ID, err)
	}
	return nil
}

// ScheduleStatementSweep creates the schedule or updates an existing one.
func (c *Client) ScheduleStatementSweep(ctx context.Context) error {
	options := client.ScheduleOptions{
		ID: StatementSweepSchedule,
		Spec: client.ScheduleSpec{
			Calendars: []client.ScheduleCalendarSpec{{
				Hour: []client.ScheduleRange{{Start: 0}}, Minute: []client.ScheduleRange{{Start: sweepMinute}},
				Comment: "daily at 00:10 UTC",
			}},
			TimeZoneName: "UTC",
		},
		Action: &client.ScheduleWorkflowAction{
			ID: StatementSweepWorkflow, Workflow: StatementSweepWorkflow, Args: []any{StatementSweep{}},
			TaskQueue: QueueBilling, StaticSummary: "Closes the statements of periods that are over",
		},
		Overlap:       enums.SCHEDULE_OVERLAP_POLICY_SKIP,
		CatchupWindow: sweepCatchup,
	}
	schedules := c.temporal.ScheduleClient()
	_, err := schedules.Create(ctx, options)
	if err == nil {
		return nil
	}
	if !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return fmt.Errorf("create schedule %s: %w", options.ID, err)
	}
	err = schedules.GetHandle(ctx, options.ID).Update(ctx, client.ScheduleUpdateOptions{
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
	return nil
}

// SignalSubscription makes the flow of an account's subscription poll Stripe soon; it starts the
// flow if none runs. hint is shown to operators, for example the type of an event.
func (c *Client) SignalSubscription(ctx context.Context, id account.ID, hint string) error {
	options := subscriptionOptions(id)
	_, err := c.temporal.SignalWithStartWorkflow(ctx, options.ID, SignalLook, hint, options, SubscriptionWorkflow,
		SubscriptionInput{Account: id})
	if err != nil {
		return fmt.Errorf("signal workflow %s: %w", options.ID, err)
	}
	return nil
}

// LookAtSubscription makes the flow of an account's subscription poll Stripe now and returns what
// the account has then, in force. The error is a refusal: fault.DurableUnavailable when Stripe or
// the flow does not answer in time; the flow then continues by itself.
func (c *Client) LookAtSubscription(ctx context.Context, id account.ID) (activities.Reconciled, error) {
	// No update id: each poll has its own answer.
	return beginning[activities.Reconciled](ctx, c, subscriptionOptions(id), SubscriptionWorkflow,
		SubscriptionInput{Account: id}, UpdateLook, "")
}

func subscriptionOptions(id account.ID) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: SubscriptionID(id), TaskQueue: QueueBilling, StaticSummary: "Keeps an account at what it bought",
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		TypedSearchAttributes:    temporal.NewSearchAttributes(AccountID.ValueSet(id.String())),
	}
}

// WatchCheckout starts the flow that follows a checkout unless it runs already.
func (c *Client) WatchCheckout(ctx context.Context, ref activities.CheckoutRef) error {
	if _, err := c.temporal.ExecuteWorkflow(ctx, checkoutOptions(&ref), CheckoutWorkflow, ref); err != nil {
		return fmt.Errorf("start workflow %s: %w", CheckoutID(ref.Session), err)
	}
	return nil
}

// SignalCheckout makes the flow of a checkout poll Stripe now; it starts the flow if none runs.
func (c *Client) SignalCheckout(ctx context.Context, ref activities.CheckoutRef, hint string) error {
	options := checkoutOptions(&ref)
	if _, err := c.temporal.SignalWithStartWorkflow(ctx, options.ID, SignalLook, hint, options, CheckoutWorkflow,
		ref); err != nil {
		return fmt.Errorf("signal workflow %s: %w", options.ID, err)
	}
	return nil
}

func checkoutOptions(ref *activities.CheckoutRef) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: CheckoutID(ref.Session), TaskQueue: QueueBilling,
		StaticSummary:            "Gives what a checkout bought, or frees its seat",
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		TypedSearchAttributes:    temporal.NewSearchAttributes(AccountID.ValueSet(ref.Account.String())),
	}
}
