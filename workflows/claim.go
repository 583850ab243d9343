package workflows

import (
	"encoding/hex"
	"encoding/json"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/workflows/internal/flow"
)

// ClaimWorkflow lets a wallet prove itself as an agent of an account and gives it a key.
//
//   - ID: claim/<account>/<address in lower case>, one run at a time per agent.
//   - Queue: gateway.
//   - Started by: the API, by update-with-start "challenge".
//   - Update challenge (ClaimChallenge): the agent's name and the message for its wallet to sign. A
//     newer one replaces the older; a run takes at most 20.
//   - Update complete (ClaimProof): proof that the wallet signed, and the key that was minted for
//     it. While the challenge lives it may be repeated with another key, up to 20 times; each new
//     key revokes the one before. It returns once the key is in force, or fails with NotYetInForce.
//   - Query challenge: returns the newest Challenge.
//   - Ends: when its newest challenge expires, once the keys are in force if the agent was claimed;
//     one minute after its start if it took no challenge.
const (
	ClaimWorkflow = "claim"
)

// ClaimID is the workflow id of an agent's claim.
func ClaimID(owner account.ID, address wallet.Address) string {
	return "claim/" + owner.String() + "/0x" + hex.EncodeToString(address[:])
}

// ClaimInput names the account and the agent's wallet.
type ClaimInput struct {
	Account account.ID     `json:"account"`
	Address wallet.Address `json:"address"`
}

// ClaimChallenge asks a wallet to sign that it is an agent.
type ClaimChallenge struct {
	Challenge
	Name string `json:"name"`
}

// ClaimProof completes a claim. The key's plaintext is not in it.
type ClaimProof struct {
	Proof
	Key    account.KeyID  `json:"key"`
	Digest account.Digest `json:"digest"`
	Prefix string         `json:"prefix"`
	// MonthlyCap is in whole units; 0 means no cap, nil the default of an agent.
	MonthlyCap *json.Number          `json:"monthly_cap,omitempty"`
	By         activities.DoorAuthor `json:"by"`
}

// maxCompletions is how many keys one run gives to an agent.
const maxCompletions = 20

// Claim is the workflow. It returns its last stage.
func Claim(ctx workflow.Context, in ClaimInput) (string, error) {
	c := &claim{in: in, until: workflow.Now(ctx).Add(idleTime), turn: workflow.NewMutex(ctx)}
	if err := c.listen(ctx); err != nil {
		return "", err
	}
	if err := c.wait(ctx); err != nil {
		return "", err
	}
	c.closing = true
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return "", err
	}
	if err := c.push(ctx); err != nil {
		return "", err
	}
	if c.claimed == 0 {
		return StageExpired, c.show(ctx, StageExpired, "The agent was not claimed: its last challenge has expired.")
	}
	return StageDone,
		c.show(ctx, StageDone, "The agent is claimed, and the key that it was given last is the one that works.")
}

// claim is the state of one run.
type claim struct {
	challenges
	progress

	in      ClaimInput
	name    string    // of the newest challenge
	until   time.Time // end of the run unless an update extends it
	turn    workflow.Mutex
	begun   int // completions that were started
	claimed int
	due     []account.KeyID // committed keys that the meter does not have yet
	closing bool
}

func (c *claim) listen(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, QueryChallenge, c.query); err != nil {
		return err
	}
	err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateChallenge, c.challenge,
		workflow.UpdateHandlerOptions{Validator: c.mayChallenge})
	if err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, UpdateComplete, c.complete, workflow.UpdateHandlerOptions{
		Validator: c.mayComplete,
	})
}

// wait returns when the newest challenge has expired. Meanwhile it pushes keys that are not in
// force.
func (c *claim) wait(ctx workflow.Context) error {
	for workflow.Now(ctx).Before(c.until) {
		until := c.until
		changed := func() bool { return c.until != until || len(c.due) > 0 }
		if _, err := workflow.AwaitWithTimeout(ctx, until.Sub(workflow.Now(ctx)), changed); err != nil {
			return err
		}
		if err := c.push(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c *claim) push(ctx workflow.Context) error {
	for len(c.due) > 0 {
		due := c.due
		c.due = nil
		var doors *activities.Doors
		if err := workflow.ExecuteActivity(flow.Pushing(ctx, "tell the meter of the agent's keys"), doors.PutInForce,
			due).Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

func (c *claim) mayChallenge(ctx workflow.Context, in ClaimChallenge) error {
	switch {
	case c.closing:
		return underWay()
	case in.Address != c.in.Address || in.Name == "":
		return refuse(fault.BindingRefused, "The challenge is of another claim. Start again.", 0)
	}
	return c.mayTake(workflow.Now(ctx), &in.Challenge)
}

func (c *claim) challenge(ctx workflow.Context, in ClaimChallenge) (Challenge, error) {
	c.take(&in.Challenge)
	c.name, c.until = in.Name, in.Expires
	return in.Challenge, c.show(ctx, StageChallenged,
		"Waits until the agent's wallet signs its challenge, which ends at "+in.Expires.UTC().Format(time.RFC3339)+".")
}

func (c *claim) mayComplete(ctx workflow.Context, in ClaimProof) error {
	if err := c.mayProve(workflow.Now(ctx), in.Proof); err != nil {
		return err
	}
	if c.begun >= maxCompletions {
		wait := c.newest.Expires.Sub(workflow.Now(ctx))
		return refuse(fault.RateWindow,
			"This challenge gave as many keys as one may. Use the last of them, or start again when it has ended.",
			max(wait, time.Second))
	}
	return nil
}

// complete sets the agent's key. It uses the challenge that was newest when it began, even if a
// newer one arrives while it waits for the mutex.
func (c *claim) complete(ctx workflow.Context, in ClaimProof) (activities.ClaimedAgent, error) {
	asked := activities.AgentClaim{
		Account: c.in.Account, Address: c.in.Address, Name: c.name, Message: c.newest.Message, Key: in.Key,
		Digest: in.Digest, Prefix: in.Prefix, MonthlyCap: in.MonthlyCap, By: in.By,
	}
	c.begun++
	if err := c.turn.Lock(ctx); err != nil {
		return activities.ClaimedAgent{}, err
	}
	defer c.turn.Unlock()
	if err := c.show(ctx, StageChanging, "The wallet signed; the agent is being given a key."); err != nil {
		return activities.ClaimedAgent{}, err
	}
	var (
		doors   *activities.Doors
		claimed activities.ClaimedAgent
	)
	err := workflow.ExecuteActivity(flow.Changing(ctx, "give the agent its key"), doors.ClaimAgent, asked).Get(ctx,
		&claimed)
	if err != nil {
		return claimed, c.failed(ctx, err)
	}
	c.claimed++
	if !claimed.InForce {
		c.due = append(c.due, in.Key)
		if !claimed.Before.IsZero() {
			c.due = append(c.due, claimed.Before)
		}
		if err := c.show(ctx, StagePushing, "The agent is claimed; the meter could not be told yet."); err != nil {
			return claimed, err
		}
		return claimed, notYetInForce()
	}
	return claimed,
		c.show(ctx, StageDone,
			"The agent has a key. Until its challenge ends the claim may be completed again, with another key.")
}
