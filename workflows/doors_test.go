package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/workflows"
)

var (
	someKey    = account.NewKeyID()
	someOwner  = unspread()
	someWallet = wallet.Address{0xaa}
)

// door is an adopt, bind or claim flow in Temporal's test environment, which skips time. Activities
// are scripted.
type door struct {
	env   *testsuite.TestWorkflowEnvironment
	begun time.Time

	binds  []activities.KeyBinding
	adopts []activities.KeyAdoption
	claims []activities.AgentClaim
	pushed [][]account.KeyID
	// answer returns the result of the n-th change, from 1, and push that of the n-th push.
	answer func(n int) (inForce bool, _ error)
	push   func(n int) error
}

func newDoor() *door {
	d := &door{env: newEnvironment()}
	d.answer = func(int) (bool, error) { return true, nil }
	d.push = func(int) error { return nil }
	d.begun = d.env.Now()
	workflows.RegisterGateway(d.env)
	d.env.RegisterActivityWithOptions(func(_ context.Context, b activities.KeyBinding) (activities.BoundKey, error) {
		d.binds = append(d.binds, b)
		inForce, err := d.answer(len(d.binds))
		return activities.BoundKey{Key: b.Key, Address: b.Address, InForce: inForce}, err
	}, activity.RegisterOptions{Name: "BindKey"})
	d.env.RegisterActivityWithOptions(func(_ context.Context, a activities.KeyAdoption) (activities.AdoptedKey, error) {
		d.adopts = append(d.adopts, a)
		inForce, err := d.answer(len(d.adopts))
		return activities.AdoptedKey{Key: a.Key, Account: a.Account, InForce: inForce}, err
	}, activity.RegisterOptions{Name: "AdoptKey"})
	d.env.RegisterActivityWithOptions(func(_ context.Context,
		c activities.AgentClaim,
	) (activities.ClaimedAgent, error) {
		d.claims = append(d.claims, c)
		inForce, err := d.answer(len(d.claims))
		return activities.ClaimedAgent{Key: c.Key, InForce: inForce}, err
	}, activity.RegisterOptions{Name: "ClaimAgent"})
	d.env.RegisterActivityWithOptions(func(_ context.Context, keys []account.KeyID) error {
		d.pushed = append(d.pushed, keys)
		return d.push(len(d.pushed))
	}, activity.RegisterOptions{Name: "PutInForce"})
	return d
}

// sent is an update that was sent, with its outcome.
type sent struct {
	rejected, done bool
	answer         any
	err            error
}

// send sends an update some time after the flow's start.
func (d *door) send(after time.Duration, name, id string, args ...any) *sent {
	s := &sent{}
	d.env.RegisterDelayedCallback(func() {
		d.env.UpdateWorkflow(name, id, &testsuite.TestUpdateCallback{
			OnAccept:   func() {},
			OnReject:   func(err error) { s.rejected, s.err = true, err },
			OnComplete: func(answer any, err error) { s.done, s.answer, s.err = true, answer, err },
		}, args...)
	}, after)
	return s
}

// challenge returns challenge number n, issued some time after the flow's start.
func (d *door) challenge(after time.Duration, n int) workflows.Challenge {
	return workflows.Challenge{
		Address: someWallet, Nonce: fmt.Sprintf("nonce%d", n), Message: fmt.Sprintf("message %d", n),
		Expires: d.begun.Add(after + workflows.ChallengeTime),
	}
}

func (d *door) ask(after time.Duration, n int) *sent {
	c := d.challenge(after, n)
	return d.send(after, workflows.UpdateChallenge, c.Nonce, c)
}

func (d *door) prove(after time.Duration, n int) *sent {
	return d.proveAs(after, fmt.Sprintf("proof %s", after), workflows.Proof{
		Address: someWallet, Nonce: fmt.Sprintf("nonce%d", n),
	})
}

func (d *door) proveAs(after time.Duration, id string, p workflows.Proof) *sent {
	return d.send(after, workflows.UpdateComplete, id, workflows.BindProof{Proof: p})
}

// bind runs a binding to its end and returns its last stage.
func (d *door) bind(t *testing.T) string {
	t.Helper()
	d.env.ExecuteWorkflow(workflows.BindWorkflow, workflows.BindInput{Key: someKey})
	return d.stage(t)
}

func (d *door) stage(t *testing.T) string {
	t.Helper()
	var stage string
	if err := d.env.GetWorkflowResult(&stage); err != nil {
		t.Fatal(err)
	}
	return stage
}

// lasted returns how long the flow ran, in simulated time.
func (d *door) lasted() time.Duration { return d.env.Now().Sub(d.begun) }

func (s *sent) succeeded(t *testing.T, what string) {
	t.Helper()
	if !s.done || s.err != nil {
		t.Errorf("%s: answered %v, %v", what, s.done, s.err)
	}
}

func (s *sent) refused(t *testing.T, what string, want fault.Reason) {
	t.Helper()
	failed, ok := errors.AsType[*temporal.ApplicationError](s.err)
	if !ok || failed.Type() != want.String() {
		t.Errorf("%s: %v, want %s", what, s.err, want)
	}
}

func refusal(reason fault.Reason) error {
	return temporal.NewNonRetryableApplicationError("no", reason.String(), nil)
}

func TestBind_TakesTheNewestChallengeOnly(t *testing.T) {
	t.Parallel()
	d := newDoor()
	first, second := d.ask(0, 1), d.ask(time.Minute, 2)
	late := d.prove(2*time.Minute, 1)
	stranger := d.proveAs(3*time.Minute, "stranger", workflows.Proof{Address: wallet.Address{0xbb}, Nonce: "nonce2"})
	proven := d.prove(10*time.Minute, 2)
	if stage := d.bind(t); stage != workflows.StageDone {
		t.Errorf("ended %s", stage)
	}
	first.succeeded(t, "the first challenge")
	second.succeeded(t, "the second challenge")
	late.refused(t, "a proof of a challenge that was replaced", fault.BindingRefused)
	stranger.refused(t, "a proof of another wallet", fault.BindingRefused)
	proven.succeeded(t, "the proof of the newest challenge, after wrong ones")
	if !late.rejected || !stranger.rejected {
		t.Error("wrong proofs are in the history")
	}
	require.Len(t, d.binds, 1)
	expect.Equal(t, d.binds[0].Message, "message 2")
	expect.Equal(t, d.binds[0].Address, someWallet)
	expect.Equal(t, d.binds[0].Key, someKey)
}

func TestBind_EndsWithItsLastChallenge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asked []time.Duration
		lasts time.Duration
	}{
		"one challenge":       {[]time.Duration{0}, 10 * time.Minute},
		"a newer challenge":   {[]time.Duration{0, 9 * time.Minute}, 19 * time.Minute},
		"none was accepted":   {nil, time.Minute},
		"asked when it ended": {[]time.Duration{2 * time.Minute}, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor()
			for i, after := range c.asked {
				d.ask(after, i+1)
			}
			stage := d.bind(t)
			in := expect.In(t, "%s", name)
			expect.Equal(in, stage, workflows.StageExpired)
			expect.Equal(in, d.lasted(), c.lasts)
			expect.Empty(in, d.binds)
		})
	}
}

func TestBind_ProofCountsOnceAndNotOnceItsChallengeExpired(t *testing.T) {
	t.Parallel()
	d := newDoor()
	d.answer = func(n int) (bool, error) {
		if n == 1 {
			return false, refusal(fault.BindingRefused)
		}
		return true, nil
	}
	d.ask(0, 1)
	refused, again := d.prove(time.Minute, 1), d.prove(2*time.Minute, 1)
	newer := d.ask(9*time.Minute, 2)
	expired := d.prove(10*time.Minute, 1)
	proven := d.prove(18*time.Minute, 2)
	if stage := d.bind(t); stage != workflows.StageDone || len(d.binds) != 2 {
		t.Errorf("ended %s after %d bindings", stage, len(d.binds))
	}
	refused.refused(t, "what the record refuses", fault.BindingRefused)
	again.refused(t, "a nonce that was used", fault.BindingRefused)
	newer.succeeded(t, "a challenge after a refusal")
	expired.refused(t, "a challenge that was replaced and is over", fault.BindingRefused)
	proven.succeeded(t, "the newer challenge")
}

// The run is still open, because PostgreSQL is down and a proof that came in time is still being
// processed.
func TestBind_ProofAfterItsChallengeExpiredIsLate(t *testing.T) {
	t.Parallel()
	d := newDoor()
	d.answer = func(n int) (bool, error) {
		if n < 5 {
			return false, temporal.NewApplicationError("the record is away", activities.ErrDoorFailed)
		}
		return true, nil
	}
	d.askAgent(0, 1, "scout")
	inTime, _ := d.proveAgent(workflows.ChallengeTime-100*time.Millisecond, 1)
	late, _ := d.proveAgent(workflows.ChallengeTime+500*time.Millisecond, 1)
	if stage := d.claim(t); stage != workflows.StageDone || len(d.claims) != 5 {
		t.Errorf("ended %s after %d attempts", stage, len(d.claims))
	}
	inTime.succeeded(t, "a proof in time")
	late.refused(t, "a proof after its challenge", fault.BindingRefused)
}

func TestBind_ChallengeWithAnImpossibleTimeIsRefused(t *testing.T) {
	t.Parallel()
	d := newDoor()
	good := d.challenge(0, 9)
	var all []*sent
	for name, change := range map[string]func(*workflows.Challenge){
		"over":           func(c *workflows.Challenge) { c.Expires = d.begun.Add(-time.Second) },
		"too far ahead":  func(c *workflows.Challenge) { c.Expires = d.begun.Add(time.Hour) },
		"without nonce":  func(c *workflows.Challenge) { c.Nonce = "" },
		"without a text": func(c *workflows.Challenge) { c.Message = "" },
	} {
		c := good
		change(&c)
		all = append(all, d.send(time.Second, workflows.UpdateChallenge, name, c))
	}
	if stage := d.bind(t); stage != workflows.StageExpired || d.lasted() != time.Minute {
		t.Errorf("ended %s after %s", stage, d.lasted())
	}
	for _, s := range all {
		if !s.rejected {
			t.Errorf("taken: %+v", s)
		}
	}
}

func TestBind_RunTakesAFewChallengesOnly(t *testing.T) {
	t.Parallel()
	d := newDoor()
	const most = 20
	var taken []*sent
	for n := range most {
		taken = append(taken, d.ask(time.Duration(n)*time.Second, n+1))
	}
	over := d.ask(time.Minute, most+1)
	proven := d.prove(2*time.Minute, most)
	if stage := d.bind(t); stage != workflows.StageDone {
		t.Errorf("ended %s", stage)
	}
	for _, s := range taken {
		s.succeeded(t, "a challenge")
	}
	over.refused(t, "one challenge too many", fault.RateWindow)
	failed, _ := errors.AsType[*temporal.ApplicationError](over.err)
	var details activities.RefusalDetails
	if err := failed.Details(&details); err != nil ||
		details.RetryAfterMillis != (10*time.Minute+19*time.Second-time.Minute).Milliseconds() {
		t.Errorf("to come again after %d ms, %v; want when the last challenge is over", details.RetryAfterMillis, err)
	}
	proven.succeeded(t, "the newest challenge")
}

func TestBind_UnknownToTheMeterSaysSoAndEndsWhenItIs(t *testing.T) {
	t.Parallel()
	d := newDoor()
	d.answer = func(int) (bool, error) { return false, nil }
	d.push = func(n int) error {
		if n < 4 {
			return temporal.NewApplicationError("not yet", activities.ErrDoorFailed)
		}
		return nil
	}
	d.ask(0, 1)
	proven := d.prove(time.Minute, 1)
	stage := d.bind(t)
	expect.Equal(t, stage, workflows.StageDone)
	require.Len(t, d.pushed, 4)
	expect.Equal(t, d.pushed[0][0], someKey)
	proven.refused(t, "a binding that is not in force", fault.NotYetInForce)
}

func TestBind_GoesOnWhilePostgreSQLIsAway(t *testing.T) {
	t.Parallel()
	d := newDoor()
	d.answer = func(n int) (bool, error) {
		if n < 8 {
			return false, temporal.NewApplicationError("the record is away", activities.ErrDoorFailed)
		}
		return true, nil
	}
	d.ask(0, 1)
	// The challenge expires while PostgreSQL is down: a proof that came in time counts.
	proven := d.prove(10*time.Minute-time.Second, 1)
	other := d.ask(10*time.Minute, 2)
	if stage := d.bind(t); stage != workflows.StageDone || len(d.binds) != 8 {
		t.Errorf("ended %s after %d attempts", stage, len(d.binds))
	}
	proven.succeeded(t, "a proof that came in time")
	other.refused(t, "a challenge while the key is being bound", fault.DurableUnavailable)
}

func TestAdopt_HasOneOwner(t *testing.T) {
	t.Parallel()
	d := newDoor()
	d.answer = func(n int) (bool, error) {
		if n > 1 {
			return false, refusal(fault.NotYours)
		}
		return true, nil
	}
	adopt := func(owner account.ID) *sent {
		return d.send(0, workflows.UpdateAdopt, owner.String(), activities.KeyAdoption{Key: someKey, Account: owner})
	}
	first, second := adopt(someOwner), adopt(account.NewID())
	d.env.ExecuteWorkflow(workflows.AdoptWorkflow, workflows.AdoptInput{Key: someKey})
	stage := d.stage(t)
	expect.Equal(t, stage, workflows.StageDone)
	require.Len(t, d.adopts, 2)
	expect.Equal(t, d.adopts[0].Account, someOwner)
	first.succeeded(t, "the first owner")
	second.refused(t, "the second owner", fault.NotYours)
}

func TestAdopt_Ends(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		key    account.KeyID
		answer func(int) (bool, error)
		stage  string
		told   fault.Reason
		pushes int
	}{
		"refused": {someKey, func(int) (bool, error) {
			return false, refusal(fault.NotYours)
		}, workflows.StageRefused, fault.NotYours, 0},
		"not in force yet": {
			someKey, func(int) (bool, error) { return false, nil }, workflows.StageDone, fault.NotYetInForce, 1,
		},
		"of another key": {account.NewKeyID(), nil, workflows.StageExpired, fault.NotYours, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor()
			d.answer = c.answer
			s := d.send(0, workflows.UpdateAdopt, "one", activities.KeyAdoption{Key: c.key, Account: someOwner})
			d.env.ExecuteWorkflow(workflows.AdoptWorkflow, workflows.AdoptInput{Key: someKey})
			if stage := d.stage(t); stage != c.stage || len(d.pushed) != c.pushes {
				t.Errorf("ended %s after %d pushes", stage, len(d.pushed))
			}
			s.refused(t, name, c.told)
		})
	}
}

// claim runs a claim to its end.
func (d *door) claim(t *testing.T) string {
	t.Helper()
	d.env.ExecuteWorkflow(workflows.ClaimWorkflow, workflows.ClaimInput{Account: someOwner, Address: someWallet})
	return d.stage(t)
}

func (d *door) askAgent(after time.Duration, n int, name string) {
	c := workflows.ClaimChallenge{Challenge: d.challenge(after, n), Name: name}
	d.send(after, workflows.UpdateChallenge, c.Nonce, c)
}

func (d *door) proveAgent(after time.Duration, n int) (*sent, account.KeyID) {
	proof := workflows.ClaimProof{
		Proof: workflows.Proof{Address: someWallet, Nonce: fmt.Sprintf("nonce%d", n)}, Key: account.NewKeyID(),
		Prefix: "cag_12345678",
	}
	return d.send(after, workflows.UpdateComplete, proof.Key.String(), proof), proof.Key
}

func TestClaim_MayBeCompletedAgainWhileItsChallengeLives(t *testing.T) {
	t.Parallel()
	d := newDoor()
	d.askAgent(0, 1, "scout")
	first, firstKey := d.proveAgent(time.Minute, 1)
	second, secondKey := d.proveAgent(9*time.Minute, 1)
	if stage := d.claim(t); stage != workflows.StageDone || d.lasted() != 10*time.Minute {
		t.Errorf("ended %s after %s", stage, d.lasted())
	}
	first.succeeded(t, "the first completion")
	second.succeeded(t, "the second completion")
	require.Len(t, d.claims, 2)
	expect.Equal(t, d.claims[0].Key, firstKey)
	expect.Equal(t, d.claims[1].Key, secondKey)
	expect.Equal(t, d.claims[1].Name, "scout")
	expect.Equal(t, d.claims[1].Message, "message 1")
}

func TestClaim_GoesByItsNewestChallengeAndEndsWithIt(t *testing.T) {
	t.Parallel()
	d := newDoor()
	d.answer = func(n int) (bool, error) { return n != 1, nil }
	d.askAgent(0, 1, "scout")
	notYet, key := d.proveAgent(time.Minute, 1)
	d.askAgent(5*time.Minute, 2, "scout the second")
	old, _ := d.proveAgent(6*time.Minute, 1)
	fresh, _ := d.proveAgent(14*time.Minute, 2)
	if stage := d.claim(t); stage != workflows.StageDone || d.lasted() != 15*time.Minute {
		t.Errorf("ended %s after %s", stage, d.lasted())
	}
	notYet.refused(t, "a key that is not in force", fault.NotYetInForce)
	if len(d.pushed) != 1 || d.pushed[0][0] != key {
		t.Errorf("pushed %v", d.pushed)
	}
	old.refused(t, "a challenge that was replaced", fault.BindingRefused)
	fresh.succeeded(t, "the newest challenge")
	if len(d.claims) != 2 || d.claims[1].Name != "scout the second" {
		t.Errorf("claimed with %+v", d.claims)
	}
}

func TestClaim_GivesAFewKeysOnly(t *testing.T) {
	t.Parallel()
	d := newDoor()
	const most = 20
	d.askAgent(0, 1, "scout")
	var given []*sent
	for n := range most {
		s, _ := d.proveAgent(time.Duration(n+1)*time.Second, 1)
		given = append(given, s)
	}
	over, _ := d.proveAgent(time.Minute, 1)
	if stage := d.claim(t); stage != workflows.StageDone || len(d.claims) != most {
		t.Errorf("ended %s after %d keys", stage, len(d.claims))
	}
	for _, s := range given {
		s.succeeded(t, "a completion")
	}
	over.refused(t, "one key too many", fault.RateWindow)
}

func TestClaim_UnprovenEnds(t *testing.T) {
	t.Parallel()
	d := newDoor()
	d.askAgent(0, 1, "scout")
	stranger := d.send(time.Second, workflows.UpdateChallenge, "other", workflows.ClaimChallenge{
		Challenge: workflows.Challenge{
			Address: wallet.Address{0xbb}, Nonce: "n", Message: "m", Expires: d.begun.Add(time.Minute),
		}, Name: "other",
	})
	stage := d.claim(t)
	expect.Equal(t, stage, workflows.StageExpired)
	expect.Equal(t, d.lasted(), 10*time.Minute)
	expect.Empty(t, d.claims)
	stranger.refused(t, "a challenge of another wallet", fault.BindingRefused)
}
