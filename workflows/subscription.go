package workflows

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/workflows/internal/flow"
)

// SubscriptionWorkflow keeps an account at what it bought, from the first purchase until nothing
// more is expected. Each poll reads Stripe's objects and reconciles the account with them
// (activities.Billing.Reconcile). Signals carry no data that it relies on.
//
//   - ID: subscription/<account>, one run at a time; only it reconciles the account.
//   - Queue: gateway-billing.
//   - Started by: webhooks, checkouts, purchases, sweeps and operators, by signal-with-start or
//     update-with-start "look".
//   - Signal look (a hint for operators): poll soon.
//   - Update look: poll now; returns what the account has then.
//   - Polls: on signals; one to six minutes after anything that is due (the end of a metering
//     period or a plan, an attempt at a charge) and again two hours after it, because the event
//     that matters may be lost; once a day; with backoff while Stripe does not answer.
//   - Closes: the statement of every metering period that ended.
//   - Ends: when no subscription lasts. It continues as new after each metering period.
const (
	SubscriptionWorkflow = "subscription"
	SignalLook           = "look"
	UpdateLook           = "look"
)

// SubscriptionID is the workflow id of an account's subscription.
func SubscriptionID(id account.ID) string { return "subscription/" + id.String() }

// SubscriptionInput names the account and carries over the state of the run before.
type SubscriptionInput struct {
	Account account.ID         `json:"account"`
	Carried *SubscriptionState `json:"carried,omitempty"`
}

// SubscriptionState is the state that one run passes to the next.
type SubscriptionState struct {
	Known    *activities.Reconciled `json:"known,omitempty"` // result of the last successful poll
	LookedAt time.Time              `json:"looked_at"`       // time of that poll
	// Again is when to poll once more after something that was due; zero for never.
	Again time.Time `json:"again"`
	Retry time.Time `json:"retry"`           // next poll after a failed one
	Tries int       `json:"tries,omitempty"` // failed polls since the last success
	// Closed is the end of the newest period whose statement was sent to be closed.
	Closed        time.Time `json:"closed"`
	SignalPending bool      `json:"told,omitempty"`  // a signal came since the last poll
	Stage         string    `json:"stage,omitempty"` // value of the search attribute
	// Shown is the value of StuckReason, which outlives the run.
	Shown string `json:"shown,omitempty"`
}

// When the flow polls by itself, and its backoff while Stripe does not answer.
const (
	afterDue    = time.Minute     // Stripe has turned the period by then
	silentAfter = 2 * time.Hour   // docs/interface.md, 2.8: poll if no event came
	spread      = 5 * time.Minute // jitter for accounts whose periods end together
	lookEvery   = 24 * time.Hour
	firstAway   = 30 * time.Second
	maxAway     = 30 * time.Minute
	// gatherFor is how long after a signal the flow waits for others of the same purchase: Stripe
	// sends half a dozen.
	gatherFor = time.Second
)

// stageNone is the stage of an account without a subscription; all others are Stripe's statuses.
const stageNone = "none"

// Values of StuckReason that need support: a payment contradicts the pack that it is for; a
// subscription's price belongs to no plan of ours.
const (
	paymentOdd = "payment_contradicts_pack"
	priceOdd   = "price_of_no_plan"
)

// Subscribe is the workflow. It returns the last stage.
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
		flow.Yield(ctx)
		again := s.turned || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
		if !again && !s.idle() {
			continue
		}
		s.closing = again
		if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
			return "", err
		}
		flow.Yield(ctx)
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

// subscribing is the state of one run.
type subscribing struct {
	SubscriptionState

	account account.ID
	turn    workflow.Mutex // one poll at a time
	turned  bool           // a metering period ended in this run
	closing bool
}

// receiveSignals receives signals; their payload is for operators only.
func (s *subscribing) receiveSignals(ctx workflow.Context) {
	for look := workflow.GetSignalChannel(ctx, SignalLook); ; {
		look.Receive(ctx, nil)
		s.SignalPending = true
	}
}

// looked reports whether a poll was made, successful or not.
func (s *subscribing) looked() bool { return s.Known != nil || s.Tries > 0 }

// idle reports whether nothing more is expected.
func (s *subscribing) idle() bool {
	return !s.SignalPending && s.Tries == 0 && (s.Known == nil || !s.Known.Lasts)
}

// step waits until a poll is due, and polls.
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
		if !s.SignalPending && (s.idle() || workflow.Now(ctx).Before(s.due())) { // an update polled meanwhile
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
	_ = err // shown to operators, and retried
	return nil
}

// due returns when the flow polls by itself.
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

// offset returns the account's jitter, so that accounts whose periods end together do not poll
// Stripe all at once.
func (s *subscribing) offset() time.Duration {
	id := s.account.UUID
	return time.Duration(int(id[14])<<8|int(id[15])) * spread / (1 << 16)
}

// look reconciles the account. After a failure it shows the cause and schedules the next poll.
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
	err := workflow.ExecuteActivity(flow.Asking(ctx, "look at what was bought"), billing.Reconcile, s.account).Get(ctx,
		&known)
	switch {
	case ctx.Err() != nil:
		return known, ctx.Err()
	case err != nil:
		s.Tries++
		s.Retry = workflow.Now(ctx).Add(flow.Backoff(firstAway, s.Tries-1, maxAway))
		workflow.SetCurrentDetails(ctx, "What was bought is not known or not in force: "+flow.FailureKind(err)+
			". The plan goes on as it is; it is looked at again by itself.")
		if shown := s.stuck(ctx, flow.FailureKind(err)); shown != nil {
			return known, shown
		}
		return known, err
	}
	return known, s.took(ctx, &known)
}

// took applies the result of a poll.
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

// enter shows operators what the account has.
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

// stuck sets StuckReason, which shows what the flow waits for; empty unsets it.
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
