package workflows

import (
	"context"
	"errors"
	"fmt"

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
