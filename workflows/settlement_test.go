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
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/workflows"
)

var somePayment = x402.ID{Chain: 8453, Tx: x402.TxHash{0x7a}, Payer: wallet.Address{0xa1}}

// paid is a settlement in Temporal's test environment, which skips time. Chain and store are
// scripted.
type paid struct {
	env   *testsuite.TestWorkflowEnvironment
	begun time.Time

	// chain returns what a read finds some time after the flow's start; an error fails the activity
	// permanently.
	chain func(after time.Duration) (activities.SettlementFacts, error)
	looks []time.Duration
	// The stored state.
	held   activities.RecordedSettlement
	notes  []activities.SettlementNote
	grants []activities.SettlementGrant
	turns  []activities.SettlementRotation
	ends   []activities.SettlementEnd
	told   int
	refuse error // of a grant
}

func settle(chain func(after time.Duration) activities.SettlementFacts) *paid {
	p := &paid{env: newEnvironment()}
	p.chain = func(after time.Duration) (activities.SettlementFacts, error) { return chain(after), nil }
	p.begun = p.env.Now()
	workflows.RegisterGateway(p.env)
	register := func(name string, run any) {
		p.env.RegisterActivityWithOptions(run, activity.RegisterOptions{Name: name})
	}
	register("ReadSettlement",
		func(_ context.Context, q activities.SettlementQuestion) (activities.SettlementFacts, error) {
			p.looks = append(p.looks, p.after().Round(time.Second))
			return p.chain(p.after())
		})
	register("FindSettlement", func(context.Context, x402.ID) (activities.RecordedSettlement, error) {
		return p.held, nil
	})
	register("NoteSettlement",
		func(_ context.Context, n activities.SettlementNote) (activities.RecordedSettlement, error) {
			p.notes = append(p.notes, n)
			return p.held, nil
		})
	register("GrantSettlement",
		func(_ context.Context, g activities.SettlementGrant) (activities.RecordedSettlement, error) {
			p.grants = append(p.grants, g)
			if p.refuse == nil {
				p.hold(g.Credential.Key, g.Deal.Paid)
			}
			return p.held, p.refuse
		})
	register("RotateSettlement",
		func(_ context.Context, r activities.SettlementRotation) (activities.RecordedSettlement, error) {
			p.turns = append(p.turns, r)
			p.held.Key = r.Credential.Key
			return p.held, nil
		})
	register("ConcludeSettlement",
		func(_ context.Context, e activities.SettlementEnd) (activities.RecordedSettlement, error) {
			p.ends = append(p.ends, e)
			p.held.Finality = e.Finality
			switch {
			case e.Finality == x402.FinalityGone:
				p.held.Stage = x402.StageReorganised
			case !p.env.Now().Before(p.held.WindowEnds):
				p.held.Stage = x402.StageOver
			}
			return p.held, nil
		})
	register("TellSettlement", func(context.Context, activities.SettlementWord) error { p.told++; return nil })
	return p
}

func (p *paid) after() time.Duration { return p.env.Now().Sub(p.begun) }

// hold stores the settlement as redeemed now.
func (p *paid) hold(key account.KeyID, paid plan.Atomic) {
	now := p.env.Now()
	p.held = activities.RecordedSettlement{
		Stage: x402.StageRedeemed, Finality: x402.FinalityWaiting, Account: someOwner, Key: key, Paid: paid, Block: 100,
		RedeemedAt: now, WindowEnds: now.Add(plan.SettlementWindow),
	}
}

func newRedeem() workflows.Redeem {
	return workflows.Redeem{
		Tier: plan.Balanced, Country: "US", Credential: activities.NewCredential{
			Key: account.NewKeyID(), Prefix: "cagx_1234567",
		},
	}
}

func (p *paid) redeem(after time.Duration, in workflows.Redeem) *sent { //nolint:gocritic // a test's own
	d := &door{env: p.env}
	return d.send(after, workflows.UpdateRedeem, in.Credential.Key.String(), in)
}

func (p *paid) retry(after time.Duration) {
	p.env.RegisterDelayedCallback(func() { p.env.SignalWorkflow(workflows.SignalRetry, nil) }, after)
}

func (p *paid) run(t *testing.T) x402.Stage {
	t.Helper()
	p.env.ExecuteWorkflow(workflows.SettlementWorkflow, workflows.SettlementInput{ID: somePayment})
	var stage x402.Stage
	if err := p.env.GetWorkflowResult(&stage); err != nil {
		t.Fatal(err)
	}
	return stage
}

func (s *sent) was(t *testing.T, what string, want x402.Stage) {
	t.Helper()
	answer, _ := s.answer.(workflows.RedeemAnswer)
	in := expect.In(t, "%s: answered %t", what, s.done)
	expect.True(in, s.done)
	require.NoError(in, s.err)
	expect.Equal(in, answer.Stage, want)
	expect.Equal(in, want == x402.StageRedeemed, answer.Words == "")
}

var (
	good = activities.SettlementFacts{
		Sight: x402.SightMined, Found: x402.Finding{Paid: 90_000, Block: 100, Depth: 2}, Finalized: 90,
		Stage: x402.StagePayable, Deal: activities.BoughtDeal{
			Tier: plan.Balanced, Country: "US", Paid: 90_000, Net: 90_000, UnitsMilli: 10_000_000,
		},
	}
	shallow = activities.SettlementFacts{
		Sight: x402.SightMined, Found: x402.Finding{Paid: 90_000, Block: 100},
		Stage: x402.StagePending, Why: x402.WhyShallow, Words: "wait",
	}
	failed = activities.SettlementFacts{
		Sight: x402.SightFailed, Stage: x402.StageRefused, Why: x402.WhyFailed, Words: "pay again",
	}
	away    = activities.SettlementFacts{Stuck: "no_usable_answer"}
	missing = activities.SettlementFacts{
		Sight: x402.SightNone, Stage: x402.StageRefused, Why: x402.WhyUnknown, Words: "none", Finalized: 120,
	}
)

func final(f activities.SettlementFacts) activities.SettlementFacts { //nolint:gocritic // a copy is meant
	f.Found.Final, f.Finalized = true, 120
	return f
}

// from returns a script of reads that changes at certain times.
//
//nolint:gocritic // a test's own
func from(first activities.SettlementFacts, then ...any) func(time.Duration) activities.SettlementFacts {
	return func(after time.Duration) activities.SettlementFacts {
		now := first
		for i := 0; i < len(then); i += 2 {
			if at, _ := then[i].(time.Duration); after >= at {
				now, _ = then[i+1].(activities.SettlementFacts)
			}
		}
		return now
	}
}

func TestSettlement_IsGrantedOnceAndWatchedUntilFinalAndItsWindowOver(t *testing.T) {
	t.Parallel()
	p := settle(from(good, time.Minute, final(good)))
	in := newRedeem()
	answered := p.redeem(0, in)
	if stage := p.run(t); stage != x402.StageOver {
		t.Errorf("ended %s", stage)
	}
	answered.was(t, "the redeem", x402.StageRedeemed)
	require.Len(t, p.grants, 1)
	expect.Equal(t, p.grants[0].Credential, in.Credential)
	expect.Equal(t, p.grants[0].Deal, good.Deal)
	expect.Equal(t, p.grants[0].Found, good.Found)
	expect.Equal(t, p.grants[0].ID, somePayment)
	if want := []time.Duration{0, 20 * time.Minute}; !slices.Equal(p.looks, want) {
		t.Errorf("looked after %s, want %s", p.looks, want)
	}
	require.Len(t, p.ends, 2)
	expect.Equal(t, p.ends[0].Finality, x402.FinalityFinal)
	expect.NotNil(t, p.ends[0].Found)
	expect.Equal(t, p.ends[1].Finality, x402.FinalityFinal)
	if lasted := p.after(); lasted < plan.SettlementWindow || lasted > plan.SettlementWindow+time.Minute {
		t.Errorf("ended after %s", lasted)
	}
}

func TestSettlement_RedeemedAgainGivesAnotherCredentialAndNoSecondGrant(t *testing.T) {
	t.Parallel()
	p := settle(from(good, 10*time.Minute, final(good)))
	all := []workflows.Redeem{newRedeem(), newRedeem(), newRedeem(), newRedeem()}
	var answers []*sent
	for i, after := range []time.Duration{0, 0, time.Minute, 40 * time.Minute} {
		answers = append(answers, p.redeem(after, all[i]))
	}
	p.run(t)
	for _, a := range answers {
		a.was(t, "a redeem", x402.StageRedeemed)
	}
	expect.Len(t, p.grants, 1)
	expect.Len(t, p.turns, 3)
	expect.Equal(t, p.held.Key, all[3].Credential.Key)
}

func TestSettlement_FinalChainDecidesWhatBecomesOfAGrant(t *testing.T) {
	t.Parallel()
	less, moved := final(good), final(good)
	less.Found.Paid, moved.Found.Block = 89_999, 101
	failedForGood, early := final(failed), missing
	early.Finalized = 99
	for name, c := range map[string]struct {
		chain func(time.Duration) activities.SettlementFacts
		stage x402.Stage
		after time.Duration // the deciding read
	}{
		"final":            {from(good, time.Minute, final(good)), x402.StageOver, 20 * time.Minute},
		"final late":       {from(good, 33*time.Minute, final(good)), x402.StageOver, 35 * time.Minute},
		"in another block": {from(good, time.Minute, moved), x402.StageOver, 20 * time.Minute},
		"gone":             {from(good, time.Minute, missing), x402.StageReorganised, 20 * time.Minute},
		"gone, before that is final": {
			from(good, time.Minute, early, 24*time.Minute, missing), x402.StageReorganised, 25 * time.Minute,
		},
		"away for a while, then back": {
			from(good, time.Minute, early, 24*time.Minute, final(good)), x402.StageOver, 25 * time.Minute,
		},
		"failed in another block": {
			from(good, time.Minute, failed, 24*time.Minute, failedForGood), x402.StageReorganised, 25 * time.Minute,
		},
		"pays less": {from(good, time.Minute, less), x402.StageReorganised, 20 * time.Minute},
		"cannot be read for a while": {
			from(good, time.Minute, away, 25*time.Minute, final(good)), x402.StageOver, 27 * time.Minute,
		},
		"cannot be read, and gone later": {
			from(good, time.Minute, away, 25*time.Minute, missing), x402.StageReorganised, 27 * time.Minute,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := settle(c.chain)
			p.redeem(0, newRedeem())
			if stage := p.run(t); stage != c.stage {
				t.Errorf("ended %s", stage)
			}
			if last := p.looks[len(p.looks)-1]; last != c.after {
				t.Errorf("looked %s", p.looks)
			}
			if fin := p.ends[0].Finality; (fin == x402.FinalityGone) != (c.stage == x402.StageReorganised) {
				t.Errorf("concluded %+v", p.ends)
			}
		})
	}
}

// TestSettlement_OnlyUpstreamMustSayTwiceThatAGrantIsGone holds that a single node that lost its
// index for a while revokes no credential.
func TestSettlement_OnlyUpstreamMustSayTwiceThatAGrantIsGone(t *testing.T) {
	t.Parallel()
	//nolint:gocritic // a copy is meant
	alone := func(f activities.SettlementFacts, finalized uint64) activities.SettlementFacts {
		f.Alone, f.Finalized = true, finalized
		return f
	}
	less := final(good)
	less.Found.Paid = 89_999
	for name, c := range map[string]struct {
		chain func(time.Duration) activities.SettlementFacts
		stage x402.Stage
		after time.Duration // the deciding read
		told  int
	}{
		"gone, and the chain goes on": {
			from(good, time.Minute, alone(missing, 120), 24*time.Minute, alone(missing, 183), 34*time.Minute,
				alone(missing, 184)),
			x402.StageReorganised, 35 * time.Minute, 1,
		},
		"failed": {
			from(good, time.Minute, alone(final(failed), 120), 24*time.Minute, alone(final(failed), 200)),
			x402.StageReorganised, 25 * time.Minute, 1,
		},
		"pays less": {
			from(good, time.Minute, alone(less, 120), 24*time.Minute, alone(less, 200)), x402.StageReorganised,
			25 * time.Minute, 1,
		},
		"a node that lost its index for a while": {
			from(good, time.Minute, alone(missing, 120), 24*time.Minute, alone(final(good), 200)), x402.StageOver,
			25 * time.Minute, 1,
		},
		"another upstream says the same": {
			from(good, time.Minute, alone(missing, 120), 24*time.Minute, missing),
			x402.StageReorganised, 25 * time.Minute, 1,
		},
		"back in between": {
			from(good, time.Minute, alone(missing, 120), 24*time.Minute, good, 29*time.Minute, alone(missing, 200),
				34*time.Minute, alone(missing, 264)),
			x402.StageReorganised, 35 * time.Minute, 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := settle(c.chain)
			p.redeem(0, newRedeem())
			if stage := p.run(t); stage != c.stage || p.told != c.told {
				t.Errorf("ended %s, told %d times", stage, p.told)
			}
			if last := p.looks[len(p.looks)-1]; last != c.after {
				t.Errorf("looked %s", p.looks)
			}
		})
	}
}

func TestSettlement_PendingIsWatchedForAnHourAndNeverGrantedByItself(t *testing.T) {
	t.Parallel()
	p := settle(from(shallow, 3*time.Minute, good))
	early := p.redeem(0, newRedeem())
	again := p.redeem(time.Second, newRedeem())
	if stage := p.run(t); stage != x402.StagePayable {
		t.Errorf("ended %s", stage)
	}
	early.was(t, "too early", x402.StagePending)
	again.was(t, "too early again", x402.StagePending)
	expect.Empty(t, p.grants)
	require.Len(t, p.notes, 2)
	expect.Equal(t, p.notes[0].Stage, x402.StagePending)
	expect.Equal(t, p.notes[1].Stage, x402.StagePayable)
	expect.NotNil(t, p.notes[0].Found)

	p = settle(from(shallow))
	p.redeem(0, newRedeem())
	if stage := p.run(t); stage != x402.StagePending || p.told != 1 {
		t.Errorf("ended %s, told %d times", stage, p.told)
	}
	if lasted := p.after(); lasted < time.Hour || lasted > time.Hour+2*time.Minute {
		t.Errorf("watched for %s", lasted)
	}
	if len(p.looks) > 70 {
		t.Errorf("looked %d times", len(p.looks))
	}

	p = settle(from(shallow, 30*time.Second, good))
	p.redeem(0, newRedeem())
	p.chain = func(after time.Duration) (activities.SettlementFacts, error) {
		if after < 32*time.Second {
			return shallow, nil
		}
		return good, nil
	}
	late := p.redeem(32*time.Second, newRedeem())
	p.run(t)
	late.was(t, "when it is deep enough", x402.StageRedeemed)
	if len(p.grants) != 1 {
		t.Errorf("%d grants", len(p.grants))
	}
}

func TestSettlement_StuckContinuesWithLongerPausesAndGrantsNothing(t *testing.T) {
	t.Parallel()
	p := settle(from(away, 2*time.Hour, good))
	asked := p.redeem(0, newRedeem())
	if stage := p.run(t); stage != x402.StagePayable {
		t.Errorf("ended %s", stage)
	}
	asked.was(t, "while the chain is away", x402.StageStuck)
	var want []time.Duration
	for _, minutes := range []int{0, 1, 3, 7, 15, 31, 61, 91, 121} {
		want = append(want, time.Duration(minutes)*time.Minute)
	}
	if !slices.Equal(p.looks, want) {
		t.Errorf("looked after %s, want %s", p.looks, want)
	}
	expect.Empty(t, p.grants)
	expect.Equal(t, p.notes[0].Stage, x402.StageStuck)
	expect.Equal(t, p.notes[0].Reason, "no_usable_answer")
}

func TestSettlement_StuckIsGivenUpAfterThirtyDays(t *testing.T) {
	t.Parallel()
	p := settle(from(away))
	p.redeem(0, newRedeem())
	stage := p.run(t)
	expect.Equal(t, stage, x402.StageStuck)
	expect.Equal(t, p.told, 1)
	expect.Len(t, p.notes, 1)
	if lasted := p.after(); lasted < x402.MaxAge || lasted > x402.MaxAge+time.Hour {
		t.Errorf("lasted %s", lasted)
	}
}

func TestSettlement_SupportsSignalLooksAtOnce(t *testing.T) {
	t.Parallel()
	p := settle(from(away, 40*time.Minute, good))
	p.redeem(0, newRedeem())
	p.retry(45 * time.Minute)
	if stage := p.run(t); stage != x402.StagePayable || p.looks[len(p.looks)-1] != 45*time.Minute {
		t.Errorf("stuck: ended %s, looked %s", stage, p.looks)
	}

	p = settle(from(good, time.Minute, final(good)))
	p.redeem(0, newRedeem())
	p.retry(5 * time.Minute)
	if stage := p.run(t); stage != x402.StageOver || !slices.Equal(p.looks, []time.Duration{0, 5 * time.Minute}) {
		t.Errorf("granted: ended %s, looked %s", stage, p.looks)
	}
}

func TestSettlement_FlowBegunByASignalGoesOnFromTheRecord(t *testing.T) {
	t.Parallel()
	p := settle(from(missing))
	p.hold(account.NewKeyID(), 90_000)
	p.retry(0)
	if stage := p.run(t); stage != x402.StageReorganised || len(p.grants) != 0 {
		t.Errorf("redeemed before: ended %s, %d grants", stage, len(p.grants))
	}
	p = settle(from(good))
	p.retry(0)
	stage := p.run(t)
	in := expect.In(t, "not redeemed")
	expect.Equal(in, stage, x402.StagePayable)
	expect.Empty(in, p.grants)
	expect.Len(in, p.notes, 1)
	p = settle(from(good))
	stage = p.run(t)
	in = expect.In(t, "nothing came")
	expect.Equal(in, stage, "")
	expect.Equal(in, p.after(), time.Minute)
	expect.Empty(in, p.looks)
}

// TestSettlement_GrantOfUnknownBlockIsGoneOnlyLongAfterFinality covers facilitators, which
// settle before anybody reads a block.
func TestSettlement_GrantOfUnknownBlockIsGoneOnlyLongAfterFinality(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		back  time.Duration // when a lagging upstream reports it
		stage x402.Stage
		last  time.Duration
	}{
		// After 1 h 20 min, on a chain whose finalized block is 15 minutes behind.
		"nobody ever knows it":  {100 * time.Hour, x402.StageReorganised, 100 * time.Minute},
		"upstreams lag a while": {50 * time.Minute, x402.StageOver, 50 * time.Minute},
	} {
		p := settle(nil)
		p.hold(account.NewKeyID(), 90_000)
		p.held.Block = 0
		p.chain = func(after time.Duration) (activities.SettlementFacts, error) {
			if after >= c.back {
				return final(good), nil
			}
			unknown := missing
			unknown.FinalizedTime = p.begun.Add(after - 15*time.Minute).Unix()
			return unknown, nil
		}
		p.retry(0)
		stage := p.run(t)
		in := expect.In(t, "%s", name)
		expect.Equal(in, stage, c.stage)
		expect.Equal(in, p.looks[0], 20*time.Minute)
		expect.Equal(in, p.looks[len(p.looks)-1], c.last)
	}
}

func TestSettlement_SignalLooksAtOnceAtAGrantThatIsOldEnough(t *testing.T) {
	t.Parallel()
	p := settle(from(final(good)))
	p.hold(account.NewKeyID(), 90_000)
	p.held.RedeemedAt = p.held.RedeemedAt.Add(-31 * 24 * time.Hour) // long after its flow gave up
	p.held.WindowEnds = p.held.RedeemedAt.Add(plan.SettlementWindow)
	p.retry(0)
	stage := p.run(t)
	expect.Equal(t, stage, x402.StageOver)
	expect.Len(t, p.looks, 1)
	expect.Equal(t, p.told, 0)
}

func TestSettlement_InvalidPaymentIsRefusedAndTheFlowEnds(t *testing.T) {
	t.Parallel()
	p := settle(from(failed))
	asked := p.redeem(0, newRedeem())
	if stage := p.run(t); stage != x402.StageRefused || p.after() > time.Second {
		t.Errorf("ended %s after %s", stage, p.after())
	}
	asked.was(t, "a failed transaction", x402.StageRefused)
	expect.Empty(t, p.grants)
	require.Len(t, p.notes, 1)
	expect.Equal(t, p.notes[0].Reason, x402.WhyFailed)
	expect.Nil(t, p.notes[0].Found)
	for name, change := range map[string]func(*workflows.Redeem){
		"another tier":   func(r *workflows.Redeem) { r.Tier = "gold" },
		"no tier":        func(r *workflows.Redeem) { r.Tier = "" },
		"no credential":  func(r *workflows.Redeem) { r.Credential.Key = account.KeyID{} },
		"without prefix": func(r *workflows.Redeem) { r.Credential.Prefix = "" },
	} {
		t.Run(name, func(t *testing.T) {
			p, in := settle(from(good)), newRedeem()
			change(&in)
			asked := p.redeem(0, in)
			p.run(t)
			if !asked.rejected || len(p.looks) != 0 {
				t.Errorf("rejected %t, looked %s", asked.rejected, p.looks)
			}
		})
	}
}

func TestSettlement_FailedGrantIsReportedAndLookedUpAgain(t *testing.T) {
	t.Parallel()
	p := settle(from(good))
	p.refuse = refusal(fault.SettlementOver)
	asked := p.redeem(0, newRedeem())
	if stage := p.run(t); stage != x402.StagePayable {
		t.Errorf("ended %s", stage)
	}
	asked.refused(t, "a refused grant", fault.SettlementOver)

	// It was committed nevertheless: the flow notices and watches it.
	p = settle(from(good, 15*time.Minute, final(good)))
	p.refuse = temporal.NewNonRetryableApplicationError("lost", activities.ErrSettlementFailed, nil)
	asked = p.redeem(0, newRedeem())
	p.env.RegisterDelayedCallback(func() { p.hold(account.NewKeyID(), 90_000) }, 0)
	if stage := p.run(t); stage != x402.StageOver || len(p.ends) != 2 {
		t.Errorf("ended %s, concluded %+v", stage, p.ends)
	}
	asked.refused(t, "an answer that was lost", fault.DurableUnavailable)
}

func TestSettlement_FailedReadingIsStuck(t *testing.T) {
	t.Parallel()
	p := settle(from(good))
	p.chain = func(after time.Duration) (activities.SettlementFacts, error) {
		if after < 30*time.Second {
			return activities.SettlementFacts{}, temporal.NewApplicationError("no", activities.ErrSettlementFailed)
		}
		return good, nil
	}
	asked := p.redeem(0, newRedeem())
	if stage := p.run(t); stage != x402.StagePayable || p.notes[0].Reason != activities.ErrSettlementFailed {
		t.Errorf("ended %s, noted %+v", stage, p.notes)
	}
	asked.was(t, "while readings fail", x402.StageStuck)
}

func TestSettlement_LongLifeContinuesInANewRun(t *testing.T) {
	t.Parallel()
	p := settle(from(good, 22*time.Minute, final(good)))
	p.redeem(0, newRedeem())
	p.env.RegisterDelayedCallback(func() { p.env.SetContinueAsNewSuggested(true) }, 19*time.Minute)
	p.env.ExecuteWorkflow(workflows.SettlementWorkflow, workflows.SettlementInput{ID: somePayment})
	next, ok := errors.AsType[*workflow.ContinueAsNewError](p.env.GetWorkflowError())
	if !ok {
		t.Fatalf("ended with %v", p.env.GetWorkflowError())
	}
	var carried workflows.SettlementInput
	if err := p.env.GetWorkflowResult(nil); err == nil || next.Input == nil {
		t.Fatal("nothing is carried over")
	}
	err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &carried)
	require.NoError(t, err)
	require.NotNil(t, carried.Carried)
	require.NotNil(t, carried.Carried.Granted)
	require.Equal(t, carried.ID, somePayment)
	after := settle(from(final(good)))
	after.held = p.held
	after.env.SetStartTime(p.env.Now())
	after.env.ExecuteWorkflow(workflows.SettlementWorkflow, carried)
	var stage x402.Stage
	err = after.env.GetWorkflowResult(&stage)
	require.NoError(t, err)
	expect.Equal(t, stage, x402.StageOver)
	expect.Empty(t, after.grants)
}

func TestSettlement_ShownReasonIsRemovedInALaterRun(t *testing.T) {
	t.Parallel()
	run := func(p *paid, in workflows.SettlementInput) (next workflows.SettlementInput) {
		t.Helper()
		p.env.ExecuteWorkflow(workflows.SettlementWorkflow, in)
		again, ok := errors.AsType[*workflow.ContinueAsNewError](p.env.GetWorkflowError())
		if !ok {
			t.Fatalf("ended with %v", p.env.GetWorkflowError())
		}
		if err := converter.GetDefaultDataConverter().FromPayloads(again.Input, &next); err != nil ||
			next.Carried == nil {
			t.Fatalf("carried %+v, %v", next, err)
		}
		return next
	}
	p := settle(from(good, time.Minute, away))
	p.redeem(0, newRedeem())
	p.env.RegisterDelayedCallback(func() { p.env.SetContinueAsNewSuggested(true) }, 20*time.Minute+30*time.Second)
	first := run(p, workflows.SettlementInput{ID: somePayment})
	if first.Carried.ShownReason != "no_usable_answer" {
		t.Errorf("while the chain is away %q is shown", first.Carried.ShownReason)
	}
	after := settle(from(good))
	after.held = p.held
	after.env.SetStartTime(p.env.Now())
	after.env.SetContinueAsNewSuggested(true)
	if second := run(after, first); len(after.looks) != 1 || second.Carried.ShownReason != "" {
		t.Errorf("looked %s; %q is shown when the chain is back", after.looks, second.Carried.ShownReason)
	}
}
