package workflows_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/workflows"
)

// subscriber is the flow of a subscription in Temporal's test environment, which skips time.
// Reconcile is scripted.
type subscriber struct {
	env   *testsuite.TestWorkflowEnvironment
	begun time.Time

	// found returns what a poll finds some time after the flow's start.
	found  func(after time.Duration) (activities.Reconciled, error)
	looks  []time.Duration
	closed []activities.Closing
}

func subscribe(found func(after time.Duration) (activities.Reconciled, error)) *subscriber {
	s := &subscriber{env: newEnvironment(), found: found}
	s.begun = s.env.Now()
	workflows.RegisterBilling(s.env)
	s.env.RegisterActivityWithOptions(func(context.Context, any) (activities.Reconciled, error) {
		s.looks = append(s.looks, s.after().Round(time.Second))
		return s.found(s.after())
	}, activity.RegisterOptions{Name: "Reconcile"})
	s.env.RegisterActivityWithOptions(func(_ context.Context, c activities.Closing) error {
		s.closed = append(s.closed, c)
		return nil
	}, activity.RegisterOptions{Name: "BeginClosing"})
	return s
}

func (s *subscriber) after() time.Duration { return s.env.Now().Sub(s.begun) }

func (s *subscriber) tell(after time.Duration) {
	s.env.RegisterDelayedCallback(func() {
		s.env.SignalWorkflow(workflows.SignalLook, "customer.subscription.updated")
	}, after)
}

// run runs the flow until it ends or continues as new; carried is then the input of the next run.
func (s *subscriber) run(t *testing.T,
	in workflows.SubscriptionInput,
) (stage string, carried *workflows.SubscriptionInput) {
	t.Helper()
	s.env.ExecuteWorkflow(workflows.SubscriptionWorkflow, in)
	err := s.env.GetWorkflowError()
	if next, ok := errors.AsType[*workflow.ContinueAsNewError](err); ok {
		carried = &workflows.SubscriptionInput{}
		err := converter.GetDefaultDataConverter().FromPayloads(next.Input, carried)
		require.NoError(t, err)
		require.NotNil(t, carried.Carried)
		require.Equal(t, carried.Account, in.Account)
		return "", carried
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.env.GetWorkflowResult(&stage); err != nil {
		t.Fatal(err)
	}
	return stage, nil
}

const month = 30*24*time.Hour + 7*time.Hour

// monthly returns what an account has in month n of a subscription that began with the flow.
func (s *subscriber) monthly(n int, status subscription.Status) activities.Reconciled {
	start := s.begun.Add(time.Duration(n) * month)
	return activities.Reconciled{
		Customer: true, Subscription: "sub_1", Status: status, Lasts: !status.Over(), Plan: plan.Pro,
		Next: start.Add(month), Period: activities.BillingPeriod{
			Key: start.Format(time.DateOnly), Start: start, End: start.Add(month), Plan: plan.Pro,
		},
	}
}

// active is a subscription that renews every month.
func (s *subscriber) active(after time.Duration) (activities.Reconciled, error) {
	return s.monthly(int(after/month), subscription.Active), nil
}

func someSubscription() workflows.SubscriptionInput {
	return workflows.SubscriptionInput{Account: someOwner}
}

func TestSubscription_EndingPeriodIsReconciledClosedAndCarriedOver(t *testing.T) {
	t.Parallel()
	s := subscribe(nil)
	s.found = s.active
	s.tell(0)
	_, next := s.run(t, someSubscription())
	require.NotNil(t, next)
	require.Len(t, s.closed, 1)
	require.Equal(t, s.closed[0].Account, someOwner)
	require.True(t, s.closed[0].Period.Start.Equal(s.begun), s.closed[0].Period.Start, s.begun)
	require.Equal(t, s.closed[0].Period.Plan, plan.Pro)
	// Once a day, because an event may be lost within a period, and a minute after its end.
	if last := s.looks[len(s.looks)-1]; len(s.looks) != 32 || last != month+time.Minute {
		t.Errorf("looked %d times, the last %s after the begin", len(s.looks), last)
	}
	// The next run polls again two hours after the period's end, whatever happened in between, and
	// then once a day.
	later := subscribe(nil)
	later.env.SetStartTime(s.env.Now())
	later.begun = s.begun
	later.found = later.active
	later.tell(30 * time.Minute)
	_, third := later.run(t, *next)
	want := []time.Duration{month + 31*time.Minute, month + 2*time.Hour, month + 26*time.Hour}
	expect.NotNil(t, third)
	require.AtLeast(t, len(later.looks), 3, later.looks)
	expect.EqualSlices(t, roundly(later.looks[:3]), want)
	if len(later.closed) != 1 || !later.closed[0].Period.Start.Equal(s.begun.Add(month)) {
		t.Errorf("closed %+v", later.closed)
	}
}

// roundly rounds all durations to minutes.
func roundly(all []time.Duration) []time.Duration {
	round := make([]time.Duration, len(all))
	for i, d := range all {
		round[i] = d.Round(time.Minute)
	}
	return round
}

func TestSubscription_PeriodThatStripeDoesNotTurnIsAskedForEveryTwoHours(t *testing.T) {
	t.Parallel()
	s := subscribe(nil)
	turned := month + 5*time.Hour
	s.found = func(after time.Duration) (activities.Reconciled, error) {
		known := s.monthly(int(after/month), subscription.Active)
		known.Late = after >= month && after < turned
		return known, nil
	}
	s.tell(0)
	_, next := s.run(t, someSubscription())
	later := subscribe(nil)
	later.env.SetStartTime(s.env.Now())
	later.begun, later.found = s.begun, func(after time.Duration) (activities.Reconciled, error) {
		return s.found(after)
	}
	later.run(t, *next)
	want := []time.Duration{month + 2*time.Hour, month + 4*time.Hour, month + 6*time.Hour, month + 30*time.Hour}
	if got := roundly(later.looks[:4]); !slices.Equal(got, want) {
		t.Errorf("looked %s, want %s first", got, want)
	}
}

func TestSubscription_DueBeforeThePeriodsEndIsReconciledToo(t *testing.T) {
	t.Parallel()
	s := subscribe(nil)
	retry := 3*24*time.Hour + 5*time.Hour
	s.found = func(after time.Duration) (activities.Reconciled, error) {
		known := s.monthly(0, subscription.PastDue)
		switch {
		case after < retry:
			known.Next = s.begun.Add(retry)
		case after >= 10*24*time.Hour:
			return s.monthly(0, subscription.Canceled), nil
		}
		return known, nil
	}
	s.tell(0)
	if stage, _ := s.run(t, someSubscription()); stage != string(subscription.Canceled) {
		t.Errorf("ended %s", stage)
	}
	for _, want := range []time.Duration{retry + time.Minute, retry + 2*time.Hour} {
		if !slices.Contains(s.looks, want) {
			t.Errorf("looked %s, want %s among them", s.looks, want)
		}
	}
}

func TestSubscription_IsStuckWithBackoffWhileStripeIsAway(t *testing.T) {
	t.Parallel()
	s := subscribe(nil)
	s.found = func(after time.Duration) (activities.Reconciled, error) {
		if after < 2*time.Hour {
			return activities.Reconciled{}, temporal.NewNonRetryableApplicationError("no",
				activities.ErrStripeAway, nil)
		}
		return s.monthly(0, subscription.Canceled), nil
	}
	s.tell(0)
	asked := (&door{env: s.env}).send(10*time.Minute, workflows.UpdateLook, "look")
	if stage, _ := s.run(t, someSubscription()); stage != string(subscription.Canceled) {
		t.Errorf("ended %s", stage)
	}
	asked.refused(t, "a look while Stripe is away", fault.DurableUnavailable)
	n := len(s.looks)
	expect.Between(t, n, 8, 14)
	expect.Between(t, s.looks[n-1], 2*time.Hour, 2*time.Hour+30*time.Minute)
}

func TestSubscription_UpdateIsAnsweredWithWhatTheAccountHasThen(t *testing.T) {
	t.Parallel()
	s := subscribe(nil)
	s.found = func(after time.Duration) (activities.Reconciled, error) {
		if after >= 48*time.Hour {
			return s.monthly(0, subscription.Canceled), nil
		}
		return s.monthly(0, subscription.Active), nil
	}
	begins := (&door{env: s.env}).send(0, workflows.UpdateLook, "look")
	later := (&door{env: s.env}).send(5*time.Hour, workflows.UpdateLook, "later")
	if stage, _ := s.run(t, someSubscription()); stage != string(subscription.Canceled) {
		t.Errorf("ended %s", stage)
	}
	for _, asked := range []*sent{begins, later} {
		known, _ := asked.answer.(activities.Reconciled)
		in := expect.In(t, "answered %t", asked.done)
		expect.True(in, asked.done)
		require.NoError(in, asked.err)
		expect.Equal(in, known.Status, subscription.Active)
		expect.Equal(in, known.Plan, plan.Pro)
	}
	if want := []time.Duration{0, 5 * time.Hour, 29 * time.Hour}; !slices.Equal(s.looks[:3], want) {
		t.Errorf("looked %s, want %s first", s.looks, want)
	}
}

func TestSubscription_AccountWithoutOneHasNoFlow(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]activities.Reconciled{
		"no customer": {}, "packs only": {Customer: true, Plan: plan.Free},
	} {
		s := subscribe(func(time.Duration) (activities.Reconciled, error) { return known, nil })
		s.tell(0)
		if stage, _ := s.run(t, someSubscription()); stage != "none" || len(s.looks) != 1 {
			t.Errorf("%s: ended %s, looked %s", name, stage, s.looks)
		}
	}
	s := subscribe(nil)
	stage, _ := s.run(t, someSubscription())
	in := expect.In(t, "nothing came")
	expect.Equal(in, stage, "")
	expect.Equal(in, s.after(), time.Minute)
	expect.Empty(in, s.looks)
}

func TestSubscription_PeriodsCutByAChangeAreClosedOnceWithTheirBounds(t *testing.T) {
	t.Parallel()
	s := subscribe(nil)
	cut := activities.BillingPeriod{
		Key: "2026-11-01", Start: s.begun.Add(-5 * 24 * time.Hour), End: s.begun, Plan: plan.Free,
	}
	last := activities.BillingPeriod{
		Key: s.begun.Format(time.DateOnly), Start: s.begun, End: s.begun.Add(5 * 24 * time.Hour), Plan: plan.Pro,
	}
	s.found = func(after time.Duration) (activities.Reconciled, error) {
		known := s.monthly(0, subscription.Active)
		known.Cut = []activities.BillingPeriod{cut}
		if after > 5*24*time.Hour {
			known.Status, known.Lasts = subscription.Canceled, false
			known.Period = activities.BillingPeriod{
				Key: "after", Start: last.End, End: last.End.Add(month), Plan: plan.Free,
			}
			known.Cut = append(known.Cut, last)
		}
		return known, nil
	}
	s.tell(0)
	s.run(t, someSubscription())
	var ends []string
	for _, c := range s.closed {
		ends = append(ends, c.Period.Key+" "+c.Period.Plan+" "+c.Period.End.Sub(s.begun).String())
	}
	if want := []string{"2026-11-01 free 0s", last.Key + " pro 120h0m0s"}; !slices.Equal(ends, want) {
		t.Errorf("closed %q, want %q", ends, want)
	}
}

// unspread returns an account id without jitter, so that its polls come as soon as they are due.
func unspread() account.ID {
	id := account.NewID()
	id.UUID[14], id.UUID[15] = 0, 0
	return id
}
