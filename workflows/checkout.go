package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
)

// Checkout: one way to pay, from the page that Stripe made of it until the account has what was
// bought, or nobody can pay any more. It frees the seat that the checkout holds.
//
// ID checkout/<session id>, one at a time Queue gateway-billing Started by whoever opened the
// checkout, and again by webhooks and a sweep, by signal-with-start "look" Signal look: ask Stripe
// now Looks when told, and by itself after longer and longer pauses: no webhook need come Ends with
// the checkout's state: paid (in force), refunded (another one was paid before), expired (Stripe
// says so; a clock of ours frees no seat),
//
//	failed; open or paying after three days in which that did not change: the sweep begins another while the record has it open, and no history grows
//	to where Temporal ends it
const (
	CheckoutWorkflow = "checkout"
)

// CheckoutID is the workflow id of a checkout.
func CheckoutID(session string) string { return "checkout/" + session }

// How long a checkout is looked at, and how the pauses grow: while its page is open, and once it is
// paid.
const (
	checkoutFor = 3 * 24 * time.Hour
	firstOpen   = 30 * time.Second
	maxOpen     = 10 * time.Minute
	firstPaying = 2 * time.Second
	maxPaying   = 5 * time.Minute
)

// CheckOut is the workflow. Its result is the checkout's last state.
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

// checkingOut is the state of a run.
type checkingOut struct {
	ref   activities.CheckoutRef
	stage string
	told  bool // by the signal, and not looked since
	tries int  // looks that brought nothing new
	stuck string
}

// receiveSignals takes all signals that came, without waiting, and says whether there is one that
// nobody looked for yet.
func (c *checkingOut) receiveSignals(signals workflow.ReceiveChannel) bool {
	for signals.ReceiveAsync(nil) {
		c.told = true
	}
	return c.told
}

// waits reports whether something is to be expected of the checkout.
func (c *checkingOut) waits() bool {
	return c.stage == activities.CheckoutOpen || c.stage == activities.CheckoutPaying
}

// pause is how long to wait before the next look.
func (c *checkingOut) pause() time.Duration {
	switch {
	case c.stuck != "":
		return growing(firstAway, c.tries, maxAway)
	case c.stage == activities.CheckoutPaying:
		return growing(firstPaying, c.tries, maxPaying)
	}
	return growing(firstOpen, c.tries, maxOpen)
}

// look asks how the checkout is. That Stripe cannot be asked is shown, and tried again.
func (c *checkingOut) look(ctx workflow.Context) error {
	var (
		billing *activities.Billing
		stage   string
	)
	err := workflow.ExecuteActivity(asking(ctx, "look at the checkout"), billing.FollowCheckout, c.ref).Get(ctx, &stage)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	stuck := ""
	if err != nil {
		stage, stuck = c.stage, failureKind(err)
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
