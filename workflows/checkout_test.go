package workflows_test

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/workflows"
)

var someCheckout = activities.CheckoutRef{
	Session: "cs_test_1", Checkout: "018f0000-0000-7000-8000-000000000000", Account: someOwner,
}

// follow runs the flow of a checkout whose states are scripted. It returns the flow's result, the
// times of its polls, and how long it ran.
func follow(t *testing.T, told []time.Duration,
	state func(after time.Duration) (string, error),
) (stage string, looks []time.Duration, lasted time.Duration) {
	t.Helper()
	env := newEnvironment()
	begun := env.Now()
	workflows.RegisterBilling(env)
	env.RegisterActivityWithOptions(func(_ context.Context, ref activities.CheckoutRef) (string, error) {
		if ref != someCheckout {
			t.Errorf("followed %+v", ref)
		}
		looks = append(looks, env.Now().Sub(begun).Round(time.Second))
		return state(env.Now().Sub(begun))
	}, activity.RegisterOptions{Name: "FollowCheckout"})
	for _, after := range told {
		env.RegisterDelayedCallback(func() { env.SignalWorkflow(workflows.SignalLook, "checkout.session.completed") },
			after)
	}
	env.ExecuteWorkflow(workflows.CheckoutWorkflow, someCheckout)
	if err := env.GetWorkflowResult(&stage); err != nil {
		t.Fatal(err)
	}
	return stage, looks, env.Now().Sub(begun)
}

// states returns a script that goes from one state to the next.
func states(steps ...any) func(time.Duration) (string, error) {
	return func(after time.Duration) (string, error) {
		now := ""
		for i := 0; i < len(steps); i += 2 {
			if at, _ := steps[i].(time.Duration); after >= at {
				now, _ = steps[i+1].(string)
			}
		}
		if now == "away" {
			return "", temporal.NewNonRetryableApplicationError("no", activities.ErrStripeAway, nil)
		}
		return now, nil
	}
}

func TestCheckout_EndsWhenTheAccountHasWhatWasBought(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) time.Duration { return d }
	for name, c := range map[string]struct {
		told   []time.Duration
		state  func(time.Duration) (string, error)
		stage  string
		lasted [2]time.Duration
	}{
		"told": {
			[]time.Duration{5 * time.Minute},
			states(at(0), "open", 5*time.Minute, "paying", 5*time.Minute+3*time.Second, "paid"), "paid",
			[2]time.Duration{5 * time.Minute, 6 * time.Minute},
		},
		"nobody tells": {
			nil, states(at(0), "open", 20*time.Minute, "paying", 20*time.Minute+3*time.Second, "paid"), "paid",
			[2]time.Duration{20 * time.Minute, 31 * time.Minute},
		},
		"another was paid before": {
			[]time.Duration{time.Minute},
			states(at(0), "open", time.Minute, "refunded"),
			"refunded",
			[2]time.Duration{time.Minute, 2 * time.Minute},
		},
		"it expires": {
			nil, states(at(0), "open", time.Hour, "expired"), "expired", [2]time.Duration{time.Hour, 71 * time.Minute},
		},
		"Stripe is away meanwhile": {
			nil, states(at(0), "away", 5*time.Hour, "expired"), "expired", [2]time.Duration{
				5 * time.Hour, 331 * time.Minute,
			},
		},
		"Stripe never tells": {
			nil, states(at(0), "open"), "open", [2]time.Duration{3 * 24 * time.Hour, 3*24*time.Hour + 11*time.Minute},
		},
	} {
		t.Run(name, func(t *testing.T) {
			stage, looks, lasted := follow(t, c.told, c.state)
			in := expect.In(t, "%s", name)
			expect.Equal(in, stage, c.stage, looks)
			expect.Between(in, lasted, c.lasted[0], c.lasted[1], looks)
		})
	}
}

// A signal that arrives during the last poll causes another poll.
func TestCheckout_DoesNotEndOverASignal(t *testing.T) {
	t.Parallel()
	env := newEnvironment()
	workflows.RegisterBilling(env)
	looks := 0
	env.RegisterActivityWithOptions(func(context.Context, activities.CheckoutRef) (string, error) {
		if looks++; looks == 1 {
			env.SignalWorkflow(workflows.SignalLook, "checkout.session.completed")
			return "expired", nil
		}
		return "paid", nil
	}, activity.RegisterOptions{Name: "FollowCheckout"})
	env.ExecuteWorkflow(workflows.CheckoutWorkflow, someCheckout)
	var stage string
	err := env.GetWorkflowResult(&stage)
	require.NoError(t, err)
	expect.Equal(t, stage, "paid")
	expect.Equal(t, looks, 2)
}
