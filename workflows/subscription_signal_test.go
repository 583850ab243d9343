package workflows_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/temporal"

	"github.com/chainaccess/gateway/billing/subscription"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
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

// A subscription whose price belongs to no plan of ours is shown as stuck until its price is
// corrected or it is over. A second one that lasts next to the one that counts is shown until it is
// over. Both are polled every day.
func TestSubscription_PriceOfNoPlanIsShownUntilCorrected(t *testing.T) {
	t.Parallel()
	s := subscribe(nil)
	s.found = func(after time.Duration) (activities.Reconciled, error) {
		known := s.monthly(0, subscription.Active)
		switch {
		case after < 12*time.Hour:
			known.OddPrice = "price_x"
		case after < 36*time.Hour:
			known.Beside = []string{"sub_first"}
		case after > 48*time.Hour:
			known = s.monthly(0, subscription.Canceled)
		}
		return known, nil
	}
	var shown []string
	for name, set := range map[string]temporal.SearchAttributeUpdate{
		"odd": workflows.StuckReason.ValueSet("price_of_no_plan"),
		"two": workflows.StuckReason.ValueSet("second_subscription"), "well": workflows.StuckReason.ValueUnset(),
	} {
		s.env.OnUpsertTypedSearchAttributes(temporal.NewSearchAttributes(set)).Run(func(mock.Arguments) {
			shown = append(shown, name)
		}).Return(nil).Maybe()
	}
	s.env.OnUpsertTypedSearchAttributes(mock.Anything).Return(nil).Maybe()
	s.tell(0)
	stage, _ := s.run(t, someSubscription())
	expect.Equal(t, stage, string(subscription.Canceled))
	expect.EqualSlices(t, shown, []string{"odd", "two", "well"})
	expect.AtLeast(t, len(s.looks), 3, s.looks)
}
