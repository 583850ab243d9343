package workflows

import (
	"encoding/hex"
	"strconv"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
)

// Settlement: what one payer sent in one transaction, from the first redeem until nothing can
// happen to it any more.
//
// ID settlement/<chain id>/<transaction hash>/<payer in lower case>, one at a time for each;
// PostgreSQL holds that units are granted once Queue gateway Started by the API, with the update
// "redeem"; by support and by whoever granted it otherwise, with the signal "retry" Updates redeem
// (Redeem): the payer proved itself, and a credential was minted. The flow reads the chain, judges,
// and grants or says what is
//
//	wrong, or that it is too early. Again by the same payer: another credential for what is left, and the one before dies, unless that one was
//	given since the request came in. It carries its request's deadline: later than that it changes no credential
//
// Signal retry: look at the chain now Ends not granted: with the verdict, when nothing pays or the
// payment may be redeemed; a pending one is watched for an hour, one that is
//
//	stuck for 30 days, with longer and longer pauses. Granted: when its window is over and its transaction is final, or the transaction is
//	gone, which ends the credential; given up 30 days after the grant when nobody tells which. A minute after its start when it took nothing
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

// SettlementInput names the settlement, and carries over what a run before knew.
type SettlementInput struct {
	ID x402.ID `json:"id"`
	// FinalityMillis is how long after the grant the transaction is looked at again; a quarter of
	// it is between further looks. 0 for twenty minutes, in which Base finalizes.
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
	Next    time.Time                      `json:"next"` // look at a granted one
	// final block at the first of the looks at which the only upstream said it is gone
	Missed        uint64 `json:"missed,omitempty"`
	SignalPending bool   `json:"nudged,omitempty"` // by the signal, and not looked since
	// reason in the search attribute, which outlives the run
	ShownReason string `json:"shown,omitempty"`
}

// How long a run looks at what is not granted, and how the pauses grow.
const (
	pendingFor   = time.Hour
	firstPending = 5 * time.Second
	maxPending   = time.Minute
	stuckFor     = x402.MaxAge
	firstStuck   = time.Minute
	maxStuck     = 30 * time.Minute
)

// Settle is the workflow. Its result is the last stage.
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
		if err := drainHandlers(ctx); err != nil {
			return "", err
		}
		// by somebody who may have seen more than the last look: as if the flow began with it
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
		s.over = s.idle() // unless a redeem came in the meantime
	}
	s.closing = true
	return s.Stage, nil
}

// settling is the state of a run.
type settling struct {
	SettlementState

	id      x402.ID
	delay   time.Duration
	mu      workflow.Mutex // one look at the chain, and one change of the record, at a time
	gaveUp  bool
	over    bool
	closing bool
}

// receiveSignals takes signals, which say nothing but that they came.
func (s *settling) receiveSignals(ctx workflow.Context) {
	for retry := workflow.GetSignalChannel(ctx, SignalRetry); ; {
		retry.Receive(ctx, nil)
		s.SignalPending = true
	}
}

// begin waits for the first redeem, or for the signal: then the record says how far the settlement
// is.
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
	if err := workflow.ExecuteActivity(upkeeping(ctx, "look the settlement up"), settlements.FindSettlement,
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
		// What began the flow does not make a transaction final sooner, and there is nothing to see
		// of one that is over.
		s.SignalPending = s.SignalPending && !s.idle() && !workflow.Now(ctx).Before(s.Next)
		return nil
	}
	return s.enter(ctx, x402.StageReading, "", "Looks at the chain, as it was told to.")
}

// idle says that nothing is left to do.
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

// pause is how long to wait before the next look at what is not granted.
func (s *settling) pause() time.Duration {
	switch s.Stage {
	case x402.StagePending:
		return growing(firstPending, s.Tries, maxPending)
	case x402.StageStuck:
		return growing(firstStuck, s.Tries, maxStuck)
	default:
		return 0
	}
}

// growing doubles a pause with each try.
func growing(first time.Duration, tries int, limit time.Duration) time.Duration {
	for ; tries > 0 && first < limit; tries-- {
		first *= 2
	}
	return min(first, limit)
}

// look reads the chain for nobody: it grants nothing, because nobody would be there to take the
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

// read asks what the chain says. That it could not be asked is an answer.
func (s *settling) read(ctx workflow.Context, tier plan.Tier,
	country string,
) (facts activities.SettlementFacts, err error) {
	var settlements *activities.Settlements
	question := activities.SettlementQuestion{ID: s.id, Tier: tier, Country: country}
	err = workflow.ExecuteActivity(reading(ctx, "read the payment from the chain"), settlements.ReadSettlement,
		question).Get(ctx, &facts)
	if err != nil && ctx.Err() == nil {
		return activities.SettlementFacts{Stuck: failureKind(err)}, nil
	}
	return facts, err
}

// note shows and records what the chain said, when that is news.
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
	err := workflow.ExecuteActivity(changing(ctx, "record how far the settlement is"), settlements.NoteSettlement,
		activities.SettlementNote{
			ID: s.id, Stage: answer.Stage, Reason: answer.Why, Words: answer.Words, Found: found,
		}).Get(ctx, &noted)
	switch {
	case ctx.Err() != nil:
		return answer, ctx.Err()
	case err != nil: // it is recorded with the next news
		return answer, s.enter(ctx, answer.Stage, "", answer.Words)
	case noted.Redeemed(): // by somebody else, while this flow did not run
		return answer, s.granted(ctx, &noted)
	}
	return answer, s.enter(ctx, answer.Stage, answer.Why, answer.Words)
}

// enter shows a stage, and why it is in it, to operators.
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

// stuck shows why the flow waits for something outside; empty when it does not.
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

// addEvent adds a line to the settlement's history. A record that does not take it for minutes does
// not hold the flow up.
func (s *settling) addEvent(ctx workflow.Context, words string) error {
	workflow.SetCurrentDetails(ctx, words)
	var settlements *activities.Settlements
	_ = workflow.ExecuteActivity(changing(ctx, "tell the settlement's history"), settlements.TellSettlement,
		activities.SettlementWord{ID: s.id, Words: words}).Get(ctx, nil)
	return ctx.Err()
}
