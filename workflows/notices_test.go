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
	if result, err := n.run(); err != nil || result != activities.NoticeDelivered || len(n.attempts) != 9 ||
		len(n.ends) != 0 {
		t.Errorf("ended with %q, %v after %d attempts and %d ends", result, err, len(n.attempts), len(n.ends))
	}
}

// The test environment gives up on activities after ten minutes; the three days are in the recorded
// history.
func TestNotice_GivenUpHasAResult(t *testing.T) {
	t.Parallel()
	n := newNotifying(func(int) (string, error) { return "", undelivered })
	if result, err := n.run(); err != nil || result != activities.NoticeFailed || len(n.attempts) < 9 {
		t.Fatalf("ended with %q, %v after %d attempts", result, err, len(n.attempts))
	}
	if last := n.ends[len(n.ends)-1]; last.NoticeRef != someNotice || last.Result != activities.NoticeFailed ||
		len(n.ends) != 3 {
		t.Errorf("the end was recorded as %+v", n.ends)
	}
}

func TestNotice_CancelledHasAResult(t *testing.T) {
	t.Parallel()
	n := newNotifying(func(int) (string, error) { return "", undelivered })
	n.env.RegisterDelayedCallback(n.env.CancelWorkflow, time.Minute)
	if result, err := n.run(); err != nil || result != activities.NoticeCancelled || len(n.ends) != 3 {
		t.Errorf("ended with %q, %v and %d attempts to record it", result, err, len(n.ends))
	}
}

func TestNotice_WithoutARowFails(t *testing.T) {
	t.Parallel()
	n := newNotifying(func(int) (string, error) {
		return "", temporal.NewNonRetryableApplicationError("no such notice", activities.ErrNoticeMissing, nil)
	})
	if result, err := n.run(); err == nil || len(n.attempts) != 1 || len(n.ends) != 0 {
		t.Errorf("ended with %q, %v after %d attempts and %d ends, want a failure at once", result, err,
			len(n.attempts), len(n.ends))
	}
}
