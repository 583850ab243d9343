package workflows

import (
	"strconv"

	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/workflows/internal/flow"
)

// UsageNoticeWorkflow tells the owner of an account that a share of a period's allowance was used.
//
//   - ID: usage-notice/<account>/<period>/<percent>, one for ever: its row in usage_notices has the
//     result.
//   - Queue: gateway.
//   - Started by: a worker, within seconds of the row that the flush wrote; again when a run ended
//     without a result.
//   - Ends: with the result in the row: delivered, no_recipient, declined or superseded; failed
//     after three days of retries; cancelled when an operator cancels it. It fails when the row
//     does not exist.
const (
	UsageNoticeWorkflow = "usage-notice"
)

// UsageNoticeID is the workflow id of a notice.
func UsageNoticeID(ref activities.NoticeRef) string {
	return "usage-notice/" + ref.Account.String() + "/" + ref.Period + "/" + strconv.Itoa(ref.Percent)
}

// UsageNotice is the workflow.
func UsageNotice(ctx workflow.Context, ref activities.NoticeRef) (string, error) {
	var (
		notices *activities.Notices
		result  string
	)
	err := workflow.ExecuteActivity(flow.Telling(ctx, "tell the owner of the account"), notices.DeliverNotice,
		ref).Get(ctx,
		&result)
	if err == nil || flow.FailureKind(err) == activities.ErrNoticeMissing {
		return result, err
	}
	end := activities.NoticeEnd{NoticeRef: ref, Result: activities.NoticeFailed}
	if ctx.Err() != nil {
		end.Result = activities.NoticeCancelled
	}
	// Also record the cancellation: a notice without a result would be started again.
	ending, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	err = workflow.ExecuteActivity(flow.Upkeeping(ending, "record that it was given up"), notices.EndNotice,
		end).Get(ending,
		&result)
	return result, err
}
