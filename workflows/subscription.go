package workflows

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
)

// Subscription: what an account has by what it bought, from the first purchase until nothing more
// is to be expected. It looks at Stripe's objects again and brings the account there
// (activities.Billing.Reconcile); who signals says only that there is something to see.
//
// ID subscription/<account>, one at a time: it alone reconciles the account Queue gateway-billing
// Started by webhooks, checkouts, purchases, sweeps and operators, by signal-with-start "look" or
// update-with-start "look" Signal look (a word that says why): look soon Update look: look now;
// answered with what the account has then Looks when told; one to six minutes after whatever is due
// (a metering period's end, a plan's, an attempt at a charge) and again two hours after it,
// whatever
//
//	came in between, because the event that matters may be lost; once a day; and while Stripe does not answer after longer and longer pauses
//
// Closes   the statement of every metering period that ended
// Ends     when no subscription lasts. Continues as new after each metering period
const (
	SubscriptionWorkflow = "subscription"
	SignalLook           = "look"
	UpdateLook           = "look"
)

// SubscriptionID is the workflow id of what an account has by what it bought.
func SubscriptionID(id account.ID) string { return "subscription/" + id.String() }

// SubscriptionInput names the account, and carries over what a run before knew.
type SubscriptionInput struct {
	Account account.ID         `json:"account"`
	Carried *SubscriptionState `json:"carried,omitempty"`
}

// SubscriptionState is how far a run came.
type SubscriptionState struct {
	Known    *activities.Reconciled `json:"known,omitempty"` // by the last look that succeeded
	LookedAt time.Time              `json:"looked_at"`       // at Stripe, with success
	// look once more after something that was due; zero for nothing
	Again time.Time `json:"again"`
	Retry time.Time `json:"retry"`           // after looks that failed
	Tries int       `json:"tries,omitempty"` // that failed since the last success
	// end of the newest period whose statement was told to close
	Closed        time.Time `json:"closed"`
	SignalPending bool      `json:"told,omitempty"`  // by the signal, and not looked since
	Stage         string    `json:"stage,omitempty"` // in the search attribute
	// reason in the search attribute, which outlives the run
	Shown string `json:"shown,omitempty"`
}

// When the flow looks by itself, and how pauses grow while it cannot.
const (
	afterDue    = time.Minute     // Stripe has turned the period by then
	silentAfter = 2 * time.Hour   // docs/interface.md, 2.8: it asks Stripe itself
	spread      = 5 * time.Minute // over which looks of many accounts at one instant are spread
	lookEvery   = 24 * time.Hour
	firstAway   = 30 * time.Second
	maxAway     = 30 * time.Minute
	// gatherFor is how long after a signal others of the same purchase are waited for: Stripe sends
	// half a dozen.
	gatherFor = time.Second
)

// stageNone is the stage of an account without a subscription that counts; the others are Stripe's.
const stageNone = "none"

// Why an account waits for support: a payment contradicts the pack that it is for; a subscription
// is charged by a price of no plan of ours.
const (
	paymentOdd = "payment_contradicts_pack"
	priceOdd   = "price_of_no_plan"
)

// Subscribe is the workflow. Its result is the last stage.
func Subscribe(ctx workflow.Context, in SubscriptionInput) (string, error) {
	s := &subscribing{account: in.Account, turn: workflow.NewMutex(ctx)}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateLook, s.lookNow, workflow.UpdateHandlerOptions{
		Validator: s.mayLook,
	}); err != nil {
		return "", err
	}
	if in.Carried != nil {
		s.SubscriptionState = *in.Carried
	}
	workflow.Go(ctx, s.receiveSignals)
	if in.Carried == nil {
		if _, err := workflow.AwaitWithTimeout(ctx, idleTime, func() bool {
			return s.SignalPending || s.looked()
		}); err != nil {
			return "", err
		}
	}
	for {
		if err := s.step(ctx); err != nil {
			return "", err
		}
		yield(ctx)
		again := s.turned || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
		if !again && !s.idle() {
			continue
		}
		s.closing = again
		if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
			return "", err
		}
		yield(ctx)
		switch {
		case s.idle():
			s.closing = true
			return s.Stage, nil
		case again:
			in.Carried = &s.SubscriptionState
			return "", workflow.NewContinueAsNewError(ctx, SubscriptionWorkflow, in)
		}
	}
}

// subscribing is the state of a run.
type subscribing struct {
	SubscriptionState

	account account.ID
	turn    workflow.Mutex // one look at a time
	turned  bool           // a metering period ended in this run
	closing bool
}

// receiveSignals takes signals, which say nothing but that there is something to see.
func (s *subscribing) receiveSignals(ctx workflow.Context) {
	for look := workflow.GetSignalChannel(ctx, SignalLook); ; {
		look.Receive(ctx, nil)
		s.SignalPending = true
	}
}

// looked reports whether a look was taken, well or not.
func (s *subscribing) looked() bool { return s.Known != nil || s.Tries > 0 }

// idle says that nothing more is to be expected.
func (s *subscribing) idle() bool {
	return !s.SignalPending && s.Tries == 0 && (s.Known == nil || !s.Known.Lasts)
}

// step waits for a reason to look, and looks.
func (s *subscribing) step(ctx workflow.Context) error {
	if s.idle() {
		return nil
	}
	if !s.SignalPending {
		at := s.due()
		if _, err := workflow.AwaitWithTimeout(ctx, max(at.Sub(workflow.Now(ctx)), 0), func() bool {
			return s.SignalPending || !s.due().Equal(at) || s.idle()
		}); err != nil {
			return err
		}
		if !s.SignalPending && (s.idle() || workflow.Now(ctx).Before(s.due())) { // an update looked in the meantime
			return nil
		}
	}
	if s.SignalPending {
		if err := workflow.Sleep(ctx, gatherFor); err != nil {
			return err
		}
	}
	_, err := s.look(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	_ = err // shown, and tried again
	return nil
}

// due is when the flow looks by itself.
func (s *subscribing) due() time.Time {
	if s.Tries > 0 {
		return s.Retry
	}
	at := s.LookedAt.Add(lookEvery)
	if next := s.Known.Next.Add(afterDue + s.offset()); !s.Known.Next.IsZero() && next.Before(at) {
		at = next
	}
	if !s.Again.IsZero() && s.Again.Before(at) {
		at = s.Again
	}
	return at
}

// offset spreads the looks of accounts whose periods end at the same instant, so that Stripe is not
// asked for all of them at once.
func (s *subscribing) offset() time.Duration {
	id := s.account.UUID
	return time.Duration(int(id[14])<<8|int(id[15])) * spread / (1 << 16)
}

// look reconciles the account. A failure is shown, and the next look set.
func (s *subscribing) look(ctx workflow.Context) (activities.Reconciled, error) {
	if err := s.turn.Lock(ctx); err != nil {
		return activities.Reconciled{}, err
	}
	defer s.turn.Unlock()
	s.SignalPending = false
	var (
		billing *activities.Billing
		known   activities.Reconciled
	)
	err := workflow.ExecuteActivity(asking(ctx, "look at what was bought"), billing.Reconcile, s.account).Get(ctx,
		&known)
	switch {
	case ctx.Err() != nil:
		return known, ctx.Err()
	case err != nil:
		s.Tries++
		s.Retry = workflow.Now(ctx).Add(growing(firstAway, s.Tries-1, maxAway))
		workflow.SetCurrentDetails(ctx, "What was bought is not known or not in force: "+failureKind(err)+
			". The plan goes on as it is; it is looked at again by itself.")
		if shown := s.stuck(ctx, failureKind(err)); shown != nil {
			return known, shown
		}
		return known, err
	}
	return known, s.took(ctx, &known)
}

// took takes over what a look found.
func (s *subscribing) took(ctx workflow.Context, known *activities.Reconciled) error {
	now := workflow.Now(ctx)
	s.close(ctx, known)
	if s.Known != nil && !s.Known.Next.IsZero() && !now.Before(s.Known.Next) && known.Next != s.Known.Next {
		s.Again = s.Known.Next.Add(silentAfter)
	}
	if !s.Again.IsZero() && !now.Before(s.Again) {
		s.Again = time.Time{}
	}
	if known.Late && s.Again.IsZero() {
		s.Again = now.Add(silentAfter)
	}
	s.turned = s.turned || s.Known != nil && s.Known.Period.Key != known.Period.Key
	s.Known, s.LookedAt, s.Tries, s.Retry = known, now, 0, time.Time{}
	return s.enter(ctx)
}

// enter shows to operators what the account has.
func (s *subscribing) enter(ctx workflow.Context) error {
	stage, words := stageNone, "Nothing is bought that lasts."
	if s.Known.Status != "" {
		stage = string(s.Known.Status)
		words = "The subscription is " + stage + ", the plan " + s.Known.Plan + ", the metering period ends at " +
			s.Known.Period.End.UTC().Format(time.RFC3339) + "."
	}
	if s.Known.Late {
		words += " The paid period is over and Stripe has not said yet what comes after it; it is asked again."
	}
	reason := ""
	if len(s.Known.Odd) > 0 {
		reason = paymentOdd
		words += fmt.Sprintf(" %d payments contradict the pack that they are for, and nothing is granted of them: %s.",
			len(s.Known.Odd), strings.Join(s.Known.Odd, ", "))
	}
	if s.Known.OddPrice != "" {
		reason = priceOdd
		words += " Stripe charges " + s.Known.OddPrice +
			" for it, which is a price of no plan of ours; the plan that was bought goes on for as long as it is paid."
	}
	if len(s.Known.Beside) > 0 {
		reason = activities.ErrSecondSub
		words += " Beside it lasts at Stripe what counted once, and may be charged still: " +
			strings.Join(s.Known.Beside, ", ") + "."
	}
	workflow.SetCurrentDetails(ctx, words)
	if stage != s.Stage {
		s.Stage = stage
		if err := workflow.UpsertTypedSearchAttributes(ctx, Stage.ValueSet(stage)); err != nil {
			return err
		}
	}
	return s.stuck(ctx, reason)
}

// stuck shows why the flow waits for something outside; empty when it does not.
func (s *subscribing) stuck(ctx workflow.Context, reason string) error {
	if reason == s.Shown {
		return nil
	}
	s.Shown = reason
	if reason == "" {
		return workflow.UpsertTypedSearchAttributes(ctx, StuckReason.ValueUnset())
	}
	return workflow.UpsertTypedSearchAttributes(ctx, StuckReason.ValueSet(reason))
}
