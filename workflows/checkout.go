package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/workflows/internal/flow"
)

// CheckoutWorkflow follows one Stripe checkout from the moment its page is open until the account
// has what was bought or nobody can pay any more. Then it frees the checkout's seat.
//
//   - ID: checkout/<session id>, one run at a time.
//   - Queue: gateway-billing.
//   - Started by: the process that opened the checkout; webhooks, by signal-with-start "look"; the
//     worker's sweep.
//   - Signal look: ask Stripe now.
//   - Polls Stripe on the signal, and by itself with growing pauses, so it works without webhooks.
//   - Ends: with the checkout's state: paid (in force), refunded (another checkout was paid first),
//     expired (according to Stripe; no clock of ours frees a seat), failed; or open or paying after
//     three days, which keeps the history within Temporal's limit. The sweep starts another run
//     while PostgreSQL has the checkout open.
const (
	CheckoutWorkflow = "checkout"
)

// CheckoutID is the workflow id of a checkout.
func CheckoutID(session string) string { return "checkout/" + session }

// How long a run follows a checkout, and the backoff between polls while its page is open and once
// it is paid.
const (
	checkoutFor = 3 * 24 * time.Hour
	firstOpen   = 30 * time.Second
	maxOpen     = 10 * time.Minute
	firstPaying = 2 * time.Second
	maxPaying   = 5 * time.Minute
)

// CheckOut is the workflow. It returns the checkout's last state.
func CheckOut(ctx workflow.Context, ref activities.CheckoutRef) (string, error) {
	c := &checkingOut{ref: ref, stage: activities.CheckoutOpen}
	began := workflow.Now(ctx)
	hears := workflow.GetSignalChannel(ctx, SignalLook)
	if err := workflow.UpsertTypedSearchAttributes(ctx, Stage.ValueSet(c.stage)); err != nil {
		return "", err
	}
	workflow.SetCurrentDetails(ctx, "The page to pay is open.")
	for {
		if _, err := workflow.AwaitWithTimeout(ctx, c.pause(), func() bool {
			return c.receiveSignals(hears)
		}); err != nil {
			return "", err
		}
		c.told = false
		if err := c.look(ctx); err != nil {
			return "", err
		}
		if over := !c.waits() || workflow.Now(ctx).Sub(began) >= checkoutFor; over && !c.receiveSignals(hears) {
			return c.stage, nil
		}
	}
}

// checkingOut is the state of one run.
type checkingOut struct {
	ref   activities.CheckoutRef
	stage string
	told  bool // a signal came since the last poll
	tries int  // polls in a row without news
	stuck string
}

// receiveSignals drains the signal channel without waiting and reports whether a signal has come
// since the last poll.
func (c *checkingOut) receiveSignals(signals workflow.ReceiveChannel) bool {
	for signals.ReceiveAsync(nil) {
		c.told = true
	}
	return c.told
}

// waits reports whether the checkout may still change.
func (c *checkingOut) waits() bool {
	return c.stage == activities.CheckoutOpen || c.stage == activities.CheckoutPaying
}

// pause returns how long to wait before the next poll.
func (c *checkingOut) pause() time.Duration {
	switch {
	case c.stuck != "":
		return flow.Backoff(firstAway, c.tries, maxAway)
	case c.stage == activities.CheckoutPaying:
		return flow.Backoff(firstPaying, c.tries, maxPaying)
	}
	return flow.Backoff(firstOpen, c.tries, maxOpen)
}

// look polls the checkout. A failure of Stripe is shown to operators and retried by the next poll.
func (c *checkingOut) look(ctx workflow.Context) error {
	var (
		billing *activities.Billing
		stage   string
	)
	err := workflow.ExecuteActivity(flow.Asking(ctx, "look at the checkout"), billing.FollowCheckout, c.ref).Get(ctx,
		&stage)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	stuck := ""
	if err != nil {
		stage, stuck = c.stage, flow.FailureKind(err)
	}
	if stage == c.stage && stuck == c.stuck {
		c.tries++
		return nil
	}
	c.tries = 0
	if stuck != c.stuck {
		c.stuck = stuck
		change := StuckReason.ValueSet(stuck)
		if stuck == "" {
			change = StuckReason.ValueUnset()
		}
		if err := workflow.UpsertTypedSearchAttributes(ctx, change); err != nil {
			return err
		}
	}
	if stage != c.stage {
		c.stage = stage
		if err := workflow.UpsertTypedSearchAttributes(ctx, Stage.ValueSet(stage)); err != nil {
			return err
		}
	}
	words := "The checkout is " + stage + "."
	if stuck != "" {
		words += " Stripe cannot be asked now: " + stuck +
			". It is asked again by itself; until then nothing is given and no seat freed."
	}
	workflow.SetCurrentDetails(ctx, words)
	return nil
}
