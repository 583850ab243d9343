package workflows

import (
	"errors"
	"strconv"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/workflows/internal/flow"
)

// Names of the updates and the query of flows that take a wallet's proof.
const (
	UpdateChallenge = "challenge"
	UpdateComplete  = "complete"
	QueryChallenge  = "challenge"
)

// ChallengeTime is the lifetime of a challenge.
const ChallengeTime = 10 * time.Minute

const (
	// idleTime is how long a flow waits for its first accepted update. A flow whose only update was
	// rejected ends after it.
	idleTime = time.Minute
	// latestChallenge is how far ahead of a worker's clock a challenge may expire.
	latestChallenge = ChallengeTime + 5*time.Minute
	// maxChallenges is how many challenges one run takes. The next run starts once the last of them
	// has expired.
	maxChallenges = 20
)

// Challenge is a message that a wallet is asked to sign.
type Challenge struct {
	Address wallet.Address `json:"address"`
	Nonce   string         `json:"nonce"`
	Message string         `json:"message"` // EIP-4361; no secret
	Expires time.Time      `json:"expires"`
}

// Proof states that a wallet signed the message of a challenge. The sender has verified the
// signature.
type Proof struct {
	Address wallet.Address `json:"address"`
	Nonce   string         `json:"nonce"`
}

// challenges holds the challenges of one run. The newest replaces the older ones.
type challenges struct {
	newest Challenge
	used   bool // the nonce of newest was used
	taken  int
}

// mayTake validates a challenge before it is accepted.
func (c *challenges) mayTake(now time.Time, in *Challenge) error {
	switch {
	case in.Nonce == "" || in.Message == "" || in.Nonce == c.newest.Nonce:
		return startAgain("The challenge is not complete. Start again.")
	case !now.Before(in.Expires) || in.Expires.After(now.Add(latestChallenge)):
		return refuse(fault.DurableUnavailable,
			"The clocks of the service disagree, so the challenge cannot be timed. Try again in a minute.", time.Minute)
	case c.taken >= maxChallenges:
		wait := c.newest.Expires.Sub(now)
		return refuse(fault.RateWindow,
			"Too many challenges for one wallet, none of them signed. Sign the newest one, or start again in "+
				strconv.Itoa(int(wait.Minutes())+1)+" minutes.", max(wait, time.Second))
	}
	return nil
}

func (c *challenges) take(in *Challenge) {
	c.newest, c.used = *in, false
	c.taken++
}

// mayProve refuses a proof unless it is of the newest challenge and that is unused and not expired.
func (c *challenges) mayProve(now time.Time, in Proof) error {
	switch {
	case c.taken == 0 || c.newest.Nonce != in.Nonce:
		return startAgain(
			"This challenge was replaced by a newer one, or never was. Start again and sign the new message.")
	case c.newest.Address != in.Address:
		return startAgain(
			"The challenge is for another wallet. Sign with the wallet that it was issued for, or start again with " +
				"this one.")
	case c.used:
		return startAgain("This challenge was used already. Start again and sign the new message.")
	case !now.Before(c.newest.Expires):
		return startAgain("The challenge is older than 10 minutes. Start again and sign the new message.")
	}
	return nil
}

// query returns the newest challenge, used or not, so that a client that completes twice gets the
// same answer.
func (c *challenges) query() (Challenge, error) { return c.newest, nil }

// refuse returns a refusal that originates in a workflow.
func refuse(reason fault.Reason, message string, wait time.Duration) error {
	return temporal.NewNonRetryableApplicationError(message, reason.String(), nil,
		activities.RefusalDetails{RetryAfterMillis: wait.Milliseconds()})
}

// startAgain refuses a challenge or a proof and tells the client to request a new challenge.
func startAgain(message string) error {
	return temporal.NewNonRetryableApplicationError(message, fault.BindingRefused.String(), nil,
		activities.RefusalDetails{StartAgain: true})
}

// notYetInForce is the answer to a change that is committed in PostgreSQL but not yet in the meter.
func notYetInForce() error {
	return refuse(fault.NotYetInForce, fault.NotYetInForce.Entry().Meaning, 0)
}

// handed converts an activity's failure for the sender of the update: a refusal and a cancellation
// pass unchanged, anything else becomes DurableUnavailable.
func handed(err error) error {
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		if _, refusal := fault.Named(failed.Type()); refusal {
			return failed
		}
	}
	if temporal.IsCanceledError(err) {
		return err
	}
	return refuse(fault.DurableUnavailable, "The service could not finish this. Start again in a minute.", time.Minute)
}

// progress shows how far a flow is, in its current details and in the search attribute Stage.
type progress struct{ stage string }

func (p *progress) show(ctx workflow.Context, stage, details string) error {
	workflow.SetCurrentDetails(ctx, details)
	if stage == p.stage {
		return nil
	}
	p.stage = stage
	return workflow.UpsertTypedSearchAttributes(ctx, Stage.ValueSet(stage))
}

// Stages of the flows that adopt, bind and claim keys.
const (
	StageChallenged = "challenged" // a wallet is asked to sign
	StageChanging   = "changing"   // PostgreSQL is being changed
	StagePushing    = "pushing"    // committed, but not yet in the meter
	StageDone       = "done"
	StageRefused    = "refused" // by a rule; a new challenge may follow
	StageExpired    = "expired"
)

// failed shows that nothing was changed and returns the error for the sender of the update.
func (p *progress) failed(ctx workflow.Context, err error) error {
	told := handed(err)
	if shown := p.show(ctx, StageRefused,
		"Refused with "+flow.FailureKind(told)+"; nothing was changed."); shown != nil {
		return shown
	}
	return told
}

const soon = 5 * time.Second

// underWay refuses an update that must wait for a change in progress.
func underWay() error {
	return refuse(fault.DurableUnavailable, "This is being changed right now. Try again in a few seconds.", soon)
}
