package workflows_test

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/workflows"
)

// notifying is a notice's workflow in Temporal's test environment, which skips time. Activities are
// scripted.
type notifying struct {
	env      *testsuite.TestWorkflowEnvironment
	attempts []time.Time
	ends     []activities.NoticeEnd
	deliver  func(attempt int) (string, error)
}

func newNotifying(deliver func(attempt int) (string, error)) *notifying {
	n := &notifying{env: newEnvironment(), deliver: deliver}
	workflows.RegisterGateway(n.env)
	n.env.RegisterActivityWithOptions(func(_ context.Context, _ activities.NoticeRef) (string, error) {
		n.attempts = append(n.attempts, n.env.Now())
		return n.deliver(len(n.attempts))
	}, activity.RegisterOptions{Name: "DeliverNotice"})
	n.env.RegisterActivityWithOptions(func(_ context.Context, end activities.NoticeEnd) (string, error) {
		n.ends = append(n.ends, end)
		if len(n.ends) < 3 {
			return "", undelivered
		}
		return end.Result, nil
	}, activity.RegisterOptions{Name: "EndNotice"})
	return n
}

var (
	undelivered = temporal.NewApplicationError("not now", activities.ErrNoticeUndelivered)
	someNotice  = activities.NoticeRef{Account: account.NewID(), Period: "2026-11-01", Percent: 80}
)

func (n *notifying) run() (result string, err error) {
	n.env.ExecuteWorkflow(workflows.UsageNoticeWorkflow, someNotice)
	err = n.env.GetWorkflowResult(&result)
	return result, err
}

func TestNotice_IsRetriedUntilItArrives(t *testing.T) {
	t.Parallel()
	n := newNotifying(func(attempt int) (string, error) {
		if attempt < 9 {
			return "", undelivered
		}
		return activities.NoticeDelivered, nil
	})
	result, err := n.run()
	require.NoError(t, err)
	expect.Equal(t, result, activities.NoticeDelivered)
	expect.Len(t, n.attempts, 9)
	expect.Empty(t, n.ends)
}

// The test environment gives up on activities after ten minutes; the three days are in the recorded
// history.
func TestNotice_GivenUpHasAResult(t *testing.T) {
	t.Parallel()
	n := newNotifying(func(int) (string, error) { return "", undelivered })
	result, err := n.run()
	require.NoError(t, err)
	require.Equal(t, result, activities.NoticeFailed)
	require.AtLeast(t, len(n.attempts), 9, n.attempts)
	last := n.ends[len(n.ends)-1]
	in := expect.In(t, "the end was recorded")
	expect.Equal(in, last.NoticeRef, someNotice)
	expect.Equal(in, last.Result, activities.NoticeFailed)
	expect.Len(in, n.ends, 3)
}

func TestNotice_CancelledHasAResult(t *testing.T) {
	t.Parallel()
	n := newNotifying(func(int) (string, error) { return "", undelivered })
	n.env.RegisterDelayedCallback(n.env.CancelWorkflow, time.Minute)
	result, err := n.run()
	require.NoError(t, err)
	expect.Equal(t, result, activities.NoticeCancelled)
	expect.Len(t, n.ends, 3)
}

func TestNotice_WithoutARowFails(t *testing.T) {
	t.Parallel()
	n := newNotifying(func(int) (string, error) {
		return "", temporal.NewNonRetryableApplicationError("no such notice", activities.ErrNoticeMissing, nil)
	})
	result, err := n.run()
	in := expect.In(t, "a failure at once")
	expect.Error(in, err, result)
	expect.Len(in, n.attempts, 1, result)
	expect.Empty(in, n.ends, result)
}
