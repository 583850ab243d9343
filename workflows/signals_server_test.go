package workflows_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/workflows"
)

// A signal that arrives in the same workflow task as the end of the last poll causes another poll.
// The event's row says "signalled" already, so nobody would signal it again. The test forces both
// into one task by running no workflow worker while they arrive.
func TestSignal_ArrivingWithTheLastLookIsLookedAt(t *testing.T) {
	t.Parallel()
	c := setupCarried(t)
	var looks atomic.Int64
	looking, look := make(chan struct{}), make(chan struct{})
	acts := worker.New(c.client, workflows.QueueBilling, worker.Options{DisableWorkflowWorker: true})
	acts.RegisterActivityWithOptions(func(context.Context, any) (activities.Reconciled, error) {
		if looks.Add(1) == 1 {
			close(looking)
			<-look
		}
		return activities.Reconciled{Customer: true}, nil
	}, activity.RegisterOptions{Name: "Reconcile"})
	flows := func() worker.Worker {
		w := worker.New(c.client, workflows.QueueBilling, worker.Options{
			LocalActivityWorkerOnly: true, StickyScheduleToStartTimeout: time.Second,
		})
		workflows.RegisterBilling(w)
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		return w
	}
	if err := acts.Start(); err != nil {
		t.Fatal(err)
	}
	defer acts.Stop()
	id := account.NewID()
	first := flows()
	if err := c.flows.SignalSubscription(c.ctx, id, "charge.succeeded"); err != nil {
		t.Fatal(err)
	}
	<-looking
	first.Stop()
	close(look)
	testkit.Eventually(t, testTimeout, func() bool {
		described, err := c.client.DescribeWorkflowExecution(c.ctx, workflows.SubscriptionID(id), "")
		return err == nil && len(described.PendingActivities) == 0
	}, "the look is over")
	if err := c.flows.SignalSubscription(c.ctx, id, "charge.refunded"); err != nil {
		t.Fatal(err)
	}
	second := flows()
	defer second.Stop()
	var stage string
	if err := c.client.GetWorkflow(c.ctx, workflows.SubscriptionID(id), "").Get(c.ctx, &stage); err != nil {
		t.Fatal(err)
	}
	if n := looks.Load(); n != 2 {
		t.Errorf("it ended after %d looks: what came with the last one is lost", n)
	}
}
