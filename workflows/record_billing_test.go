package workflows_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/workflows"
)

// purchases scripts what each poll finds while a history is recorded, by account and checkout.
type purchases struct {
	mu        sync.Mutex // guards what follows
	accounts  map[account.ID]int
	checkouts map[string]int
	followed  chan<- struct{} // one value per poll of a checkout
}

func recordedAccount(n byte) account.ID {
	var id account.ID
	id.UUID[0], id.UUID[6], id.UUID[8], id.UUID[15] = n, 0x70, 0x80, n
	return id
}

// find returns what the n-th poll of an account finds: a failure, a subscription, one in its next
// period, one that ended.
func (p *purchases) find(_ context.Context, id account.ID) (activities.Reconciled, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.accounts[id]++
	start := time.Date(2026, time.November, 30, 10, 0, 0, 0, time.UTC)
	known := activities.Reconciled{
		Customer: true, Subscription: "sub_1", Status: subscription.Active, Lasts: true, Plan: plan.Pro,
		Next: start.AddDate(0, 1, 0).Add(24 * 365 * 10 * time.Hour), Period: activities.BillingPeriod{
			Key: "2026-11-30", Start: start, End: start.AddDate(0, 1, 0), Plan: plan.Pro,
		},
	}
	switch n := p.accounts[id]; {
	case id == recordedAccount(2):
		return activities.Reconciled{}, nil
	case n == 1:
		return activities.Reconciled{}, temporal.NewNonRetryableApplicationError("no", activities.ErrStripeAway, nil)
	case n == 3:
		known.Status = subscription.PastDue
	case n == 4 && id == recordedAccount(1):
		known.Period = activities.BillingPeriod{
			Key: "2026-12-30", Start: known.Period.End, End: known.Period.End.AddDate(0, 1, 0), Plan: plan.Pro,
		}
	case n >= 4:
		known.Status, known.Lasts, known.Plan, known.Next = subscription.Canceled, false, plan.Free, time.Time{}
		known.Cut = []activities.BillingPeriod{
			{Key: "2026-11-30", Start: start.AddDate(-1, 0, 0), End: start.AddDate(-1, 0, 10), Plan: plan.Pro},
		}
	}
	return known, nil
}

// follow returns the state of a checkout at its n-th poll.
func (p *purchases) follow(_ context.Context, ref activities.CheckoutRef) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.checkouts[ref.Session]++
	p.followed <- struct{}{}
	switch n := p.checkouts[ref.Session]; {
	case n == 1:
		return "", temporal.NewNonRetryableApplicationError("no", activities.ErrStripeAway, nil)
	case n == 2:
		return activities.CheckoutOpen, nil
	case ref.Session == "cs_expired":
		return "expired", nil
	case n == 3:
		return activities.CheckoutPaying, nil
	}
	return "paid", nil
}

func registerBilling(w worker.Worker, followed chan<- struct{}) {
	workflows.RegisterBilling(w)
	p := &purchases{accounts: map[account.ID]int{}, checkouts: map[string]int{}, followed: followed}
	for name, run := range map[string]any{
		"Reconcile": p.find, "FollowCheckout": p.follow,
		"BeginClosing": func(context.Context, activities.Closing) error { return nil },
	} {
		w.RegisterActivityWithOptions(run, activity.RegisterOptions{Name: name})
	}
}

// recordBilling records subscriptions and checkouts that end in each way. Stripe is down at first.
func recordBilling(ctx context.Context, t *testing.T, c client.Client, followed <-chan struct{}) {
	t.Helper()
	flows := workflows.NewClient(c)
	look := func(id account.ID, want subscription.Status) {
		t.Helper()
		known, err := flows.LookAtSubscription(ctx, id)
		if (err != nil) != (want == "away") || err == nil && known.Status != want {
			t.Fatalf("%+v, %v", known, err)
		}
	}
	for n, last := range map[byte]subscription.Status{1: subscription.Active, 3: subscription.Canceled} {
		id := recordedAccount(n)
		look(id, "away")
		look(id, subscription.Active)
		look(id, subscription.PastDue)
		described, err := c.DescribeWorkflowExecution(ctx, workflows.SubscriptionID(id), "")
		if err != nil {
			t.Fatal(err)
		}
		look(id, last)
		run := described.GetWorkflowExecutionInfo().GetExecution().GetRunId()
		// A run that continued as new is closed; its result is that of the next run.
		testkit.Eventually(t, testTimeout, func() bool {
			closed, err := c.DescribeWorkflowExecution(ctx, workflows.SubscriptionID(id), run)
			return err == nil &&
				closed.GetWorkflowExecutionInfo().GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING
		}, "the run is over")
		saveRun(ctx, t, c, workflows.SubscriptionID(id), run, map[byte]string{
			1: "subscription.json", 3: "subscription-ended.json",
		}[n])
		if n == 1 { // the run that it continued as
			if err := flows.SignalSubscription(ctx, id, "invoice.paid"); err != nil {
				t.Fatal(err)
			}
			look(id, subscription.Canceled)
			_ = c.GetWorkflow(ctx, workflows.SubscriptionID(id), "").Get(ctx, nil)
			save(ctx, t, c, workflows.SubscriptionID(id), "subscription-next.json")
		}
	}
	nobody := recordedAccount(2)
	if err := flows.SignalSubscription(ctx, nobody, "charge.refunded"); err != nil {
		t.Fatal(err)
	}
	_ = c.GetWorkflow(ctx, workflows.SubscriptionID(nobody), "").Get(ctx, nil)
	save(ctx, t, c, workflows.SubscriptionID(nobody), "subscription-none.json")
	for session, file := range map[string]string{"cs_paid": "checkout.json", "cs_expired": "checkout-expired.json"} {
		ref := activities.CheckoutRef{
			Session: session, Checkout: "018f0000-0000-7000-8000-000000000000", Account: recordedAccount(1),
		}
		if err := flows.WatchCheckout(ctx, ref); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := flows.SignalCheckout(ctx, ref, "checkout.session.completed"); err != nil {
				t.Fatal(err)
			}
			<-followed
		}
		_ = c.GetWorkflow(ctx, workflows.CheckoutID(session), "").Get(ctx, nil)
		save(ctx, t, c, workflows.CheckoutID(session), file)
	}
}
