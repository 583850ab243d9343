package workflows

import (
	"encoding/hex"
	"strconv"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/workflows/internal/flow"
)

// SettlementWorkflow handles what one payer sent in one transaction, from the first redeem until
// nothing can happen to it any more.
//
//   - ID: settlement/<chain id>/<transaction hash>/<payer in lower case>, one run at a time.
//     PostgreSQL ensures that units are granted once.
//   - Queue: gateway.
//   - Started by: the API, by update-with-start "redeem"; by support and by code that granted the
//     settlement otherwise, with the signal "retry".
//   - Update redeem (Redeem): the payer proved itself, and a credential was minted. The flow reads
//     the chain, judges the payment, and grants it or returns why not, or that it is too early. A
//     repeat by the same payer rotates the credential for what is left, unless the current one was
//     issued after the request came in. A redeem has its request's deadline: after it, it changes
//     no credential.
//   - Signal retry: read the chain now.
//   - Ends, not granted: with the verdict, when nothing pays or the payment may be redeemed. A
//     pending payment is watched for an hour, a stuck one for 30 days, with backoff.
//   - Ends, granted: when its window is over and its transaction is final; or when the transaction
//     is gone, which revokes the credential; or 30 days after the grant when finality is still
//     unknown.
//   - Ends, idle: one minute after its start if it got nothing to do.
const (
	SettlementWorkflow = "settlement"
	UpdateRedeem       = "redeem"
	SignalRetry        = "retry"
)

// SettlementID is the workflow id of a settlement.
func SettlementID(id x402.ID) string {
	return "settlement/" + strconv.FormatUint(id.Chain, 10) + "/" + id.Tx.String() + "/0x" +
		hex.EncodeToString(id.Payer[:])
}

// SettlementInput names the settlement and carries over the state of the run before.
type SettlementInput struct {
	ID x402.ID `json:"id"`
	// FinalityMillis is how long after the grant the transaction is read again. Further reads
	// follow at a quarter of it. 0 means 20 minutes, within which Base finalizes.
	FinalityMillis int64            `json:"finality_ms,omitempty"`
	Carried        *SettlementState `json:"carried,omitempty"`
}

// SettlementState is how far a run came.
type SettlementState struct {
	Stage   x402.Stage                     `json:"stage,omitempty"`
	Reason  string                         `json:"reason,omitempty"`
	Since   time.Time                      `json:"since"` // when the stage began
	Tries   int                            `json:"tries,omitempty"`
	Granted *activities.RecordedSettlement `json:"granted,omitempty"`
	Next    time.Time                      `json:"next"` // next read of a granted one
	// Missed is the finalized block at the first of the reads in which the only upstream reported
	// the transaction as gone.
	Missed        uint64 `json:"missed,omitempty"`
	SignalPending bool   `json:"nudged,omitempty"` // a signal came since the last read
	// ShownReason is the value of StuckReason, which outlives the run.
	ShownReason string `json:"shown,omitempty"`
}

// How long a run watches a payment that is not granted, and the backoff between reads.
const (
	pendingFor   = time.Hour
	firstPending = 5 * time.Second
	maxPending   = time.Minute
	stuckFor     = x402.MaxAge
	firstStuck   = time.Minute
	maxStuck     = 30 * time.Minute
)

// Settle is the workflow. It returns the last stage.
func Settle(ctx workflow.Context, in SettlementInput) (x402.Stage, error) { //nolint:gocritic // what a workflow takes
	s := &settling{id: in.ID, delay: defaultFinality, mu: workflow.NewMutex(ctx)}
	if in.FinalityMillis > 0 {
		s.delay = time.Duration(in.FinalityMillis) * time.Millisecond
	}
	err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateRedeem, s.redeem, workflow.UpdateHandlerOptions{
		Validator: s.mayRedeem,
	})
	if err != nil {
		return "", err
	}
	workflow.Go(ctx, s.receiveSignals)
	if in.Carried != nil {
		s.SettlementState = *in.Carried
	} else if err := s.begin(ctx); err != nil {
		return "", err
	}
	for !s.over {
		if err := s.step(ctx); err != nil {
			return "", err
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() && !s.over {
			s.closing = true
		}
		if !s.over && !s.closing {
			continue
		}
		if err := flow.DrainHandlers(ctx); err != nil {
			return "", err
		}
		// The sender of the signal may know of news since the last read: start over as if the
		// signal had started the flow.
		if s.idle() && s.SignalPending {
			s.SettlementState, s.gaveUp, s.over = SettlementState{SignalPending: true, ShownReason: s.ShownReason},
				false, false
			if err := s.begin(ctx); err != nil {
				return "", err
			}
			continue
		}
		if s.closing && !s.idle() {
			in.Carried = &s.SettlementState
			return "", workflow.NewContinueAsNewError(ctx, SettlementWorkflow, in)
		}
		s.over = s.idle() // unless a redeem arrived meanwhile
	}
	s.closing = true
	return s.Stage, nil
}

// settling is the state of one run.
type settling struct {
	SettlementState

	id      x402.ID
	delay   time.Duration
	mu      workflow.Mutex // one read of the chain and one change in PostgreSQL at a time
	gaveUp  bool
	over    bool
	closing bool
}

// receiveSignals receives signals, which have no payload.
func (s *settling) receiveSignals(ctx workflow.Context) {
	for retry := workflow.GetSignalChannel(ctx, SignalRetry); ; {
		retry.Receive(ctx, nil)
		s.SignalPending = true
	}
}

// begin waits for the first redeem or signal. After a signal it loads the settlement's state from
// PostgreSQL.
func (s *settling) begin(ctx workflow.Context) error {
	if _, err := workflow.AwaitWithTimeout(ctx, idleTime, func() bool {
		return s.Stage != "" || s.SignalPending
	}); err != nil || !s.SignalPending || s.Stage != "" {
		return err
	}
	if err := s.mu.Lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	var (
		settlements *activities.Settlements
		known       activities.RecordedSettlement
	)
	if err := workflow.ExecuteActivity(flow.Upkeeping(ctx, "look the settlement up"), settlements.FindSettlement,
		s.id).Get(ctx, &known); err != nil {
		return err
	}
	if s.Stage != "" {
		return nil
	}
	if known.Redeemed() {
		if err := s.granted(ctx, &known); err != nil {
			return err
		}
		// The signal that started the flow does not make a transaction final sooner, and a
		// settlement that is over needs no read.
		s.SignalPending = s.SignalPending && !s.idle() && !workflow.Now(ctx).Before(s.Next)
		return nil
	}
	return s.enter(ctx, x402.StageReading, "", "Looks at the chain, as it was told to.")
}

// idle reports whether nothing is left to do.
func (s *settling) idle() bool {
	switch {
	case s.gaveUp:
		return true
	case s.Granted != nil:
		return s.Stage == x402.StageOver || s.Stage == x402.StageReorganised
	}
	return s.Stage != x402.StageReading && s.Stage != x402.StagePending && s.Stage != x402.StageStuck
}

// step waits for the next thing to do, and does it.
func (s *settling) step(ctx workflow.Context) error {
	switch {
	case s.idle():
		s.over = true
		return nil
	case s.Granted != nil:
		return s.watch(ctx)
	}
	stage := s.Stage
	if _, err := workflow.AwaitWithTimeout(ctx, s.pause(), func() bool {
		return s.SignalPending || s.Stage != stage || s.Granted != nil
	}); err != nil {
		return err
	}
	if s.Stage != stage || s.Granted != nil {
		return nil
	}
	told := s.SignalPending
	s.SignalPending = false
	if waited := workflow.Now(ctx).Sub(s.Since); !told && ((stage == x402.StagePending && waited >= pendingFor) ||
		waited >= stuckFor) {
		s.gaveUp = true
		return s.addEvent(ctx,
			"Nobody looks at it any more by itself. It can be redeemed at any time; support begins to look again "+
				"with retry.")
	}
	return s.look(ctx)
}

// pause returns how long to wait before the next read of a payment that is not granted.
func (s *settling) pause() time.Duration {
	switch s.Stage {
	case x402.StagePending:
		return flow.Backoff(firstPending, s.Tries, maxPending)
	case x402.StageStuck:
		return flow.Backoff(firstStuck, s.Tries, maxStuck)
	default:
		return 0
	}
}

// look reads the chain while no client waits. It grants nothing, because nobody would receive the
// credential.
func (s *settling) look(ctx workflow.Context) error {
	if err := s.mu.Lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if s.Granted != nil {
		return nil
	}
	s.Tries++
	facts, err := s.read(ctx, plan.Cheap, "")
	if err != nil {
		return err
	}
	_, err = s.note(ctx, &facts)
	return err
}

// read reads the payment from the chain. A failure to read is returned as Stuck, not as an error.
func (s *settling) read(ctx workflow.Context, tier plan.Tier,
	country string,
) (facts activities.SettlementFacts, err error) {
	var settlements *activities.Settlements
	question := activities.SettlementQuestion{ID: s.id, Tier: tier, Country: country}
	err = workflow.ExecuteActivity(flow.Reading(ctx, "read the payment from the chain"), settlements.ReadSettlement,
		question).Get(ctx, &facts)
	if err != nil && ctx.Err() == nil {
		return activities.SettlementFacts{Stuck: flow.FailureKind(err)}, nil
	}
	return facts, err
}

// note shows and records what the chain reported, if that is new.
func (s *settling) note(ctx workflow.Context, facts *activities.SettlementFacts) (RedeemAnswer, error) {
	answer := RedeemAnswer{Stage: facts.Stage, Why: facts.Why, Words: facts.Words}
	var found *x402.Finding
	switch {
	case facts.Stuck != "":
		answer = RedeemAnswer{
			Stage: x402.StageStuck, Why: facts.Stuck,
			Words: "The chain cannot be read, so the payment is not judged yet. It is looked at again by itself.",
		}
	case facts.Sight == x402.SightMined:
		found = &facts.Found
	}
	if answer.Stage == x402.StagePayable {
		answer.Words = "The payment is good. The payer may redeem it."
	}
	if answer.Stage == s.Stage && answer.Why == s.Reason {
		return answer, nil
	}
	var (
		settlements *activities.Settlements
		noted       activities.RecordedSettlement
	)
	err := workflow.ExecuteActivity(flow.Changing(ctx, "record how far the settlement is"), settlements.NoteSettlement,
		activities.SettlementNote{
			ID: s.id, Stage: answer.Stage, Reason: answer.Why, Words: answer.Words, Found: found,
		}).Get(ctx, &noted)
	switch {
	case ctx.Err() != nil:
		return answer, ctx.Err()
	case err != nil: // it is recorded with the next change
		return answer, s.enter(ctx, answer.Stage, "", answer.Words)
	case noted.Redeemed(): // by another process, while this flow did not run
		return answer, s.granted(ctx, &noted)
	}
	return answer, s.enter(ctx, answer.Stage, answer.Why, answer.Words)
}

// enter shows a stage and its reason to operators.
func (s *settling) enter(ctx workflow.Context, stage x402.Stage, reason, words string) error {
	if stage != s.Stage {
		s.Stage, s.Since, s.Tries = stage, workflow.Now(ctx), 0
		if err := workflow.UpsertTypedSearchAttributes(ctx, Stage.ValueSet(string(stage))); err != nil {
			return err
		}
	}
	s.Reason = reason
	workflow.SetCurrentDetails(ctx, words)
	if stage != x402.StageStuck {
		reason = ""
	}
	return s.stuck(ctx, reason)
}

// stuck sets StuckReason, which shows what the flow waits for; empty unsets it.
func (s *settling) stuck(ctx workflow.Context, reason string) error {
	if reason == s.ShownReason {
		return nil
	}
	s.ShownReason = reason
	if reason == "" {
		return workflow.UpsertTypedSearchAttributes(ctx, StuckReason.ValueUnset())
	}
	return workflow.UpsertTypedSearchAttributes(ctx, StuckReason.ValueSet(reason))
}

// addEvent appends an event to the settlement's history. It is best effort: a failure does not stop
// the flow.
func (s *settling) addEvent(ctx workflow.Context, words string) error {
	workflow.SetCurrentDetails(ctx, words)
	var settlements *activities.Settlements
	_ = workflow.ExecuteActivity(flow.Changing(ctx, "tell the settlement's history"), settlements.TellSettlement,
		activities.SettlementWord{ID: s.id, Words: words}).Get(ctx, nil)
	return ctx.Err()
}
