package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
)

// Bind a key to a wallet.
//
// ID bind/<key id>, one at a time for each key Queue gateway Started by the API, with the update
// "challenge" Updates challenge (Challenge): a message that a wallet is to sign. A newer one
// replaces the older, up to 20 in a run
//
//	complete (BindProof): that the wallet signed it. It answers when the wallet's fences are in force, or says that they are not yet
//
// Query challenge: the newest Challenge Ends bound and in force; or expired, with its last
// challenge, or a minute after its start when it took none. Doors ask PostgreSQL
//
//	whether a key is bound, before this flow and after it
const (
	BindWorkflow = "bind"
)

// BindID is the workflow id of a key's binding.
func BindID(key account.KeyID) string { return "bind/" + key.String() }

// BindInput names the key.
type BindInput struct {
	Key account.KeyID `json:"key"`
}

// BindProof completes a binding.
type BindProof struct {
	Proof
	By activities.DoorAuthor `json:"by"`
}

// Bind is the workflow. Its result is its last stage.
func Bind(ctx workflow.Context, in BindInput) (string, error) {
	b := &binding{key: in.Key, until: workflow.Now(ctx).Add(idleTime)}
	if err := b.listen(ctx); err != nil {
		return "", err
	}
	if err := b.wait(ctx); err != nil {
		return "", err
	}
	b.closing = true
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return "", err
	}
	if b.bound == nil {
		return StageExpired, b.show(ctx, StageExpired, "No wallet was bound: the last challenge has expired.")
	}
	if !b.bound.InForce {
		var doors *activities.Doors
		err := workflow.ExecuteActivity(pushing(ctx, "tell the meter of the binding"), doors.PutInForce,
			[]account.KeyID{b.key}).Get(ctx, nil)
		if err != nil {
			return "", err
		}
	}
	return StageDone, b.show(ctx, StageDone, "The key is bound, and its wallet's fences are in force.")
}

// binding is the state of a run.
type binding struct {
	challenges
	progress

	key     account.KeyID
	until   time.Time // when the run ends unless something happens
	busy    bool      // a proof is being acted on
	bound   *activities.BoundKey
	closing bool
}

func (b *binding) listen(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, QueryChallenge, b.query); err != nil {
		return err
	}
	err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateChallenge, b.challenge,
		workflow.UpdateHandlerOptions{Validator: b.mayChallenge})
	if err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, UpdateComplete, b.complete, workflow.UpdateHandlerOptions{
		Validator: b.mayComplete,
	})
}

// wait ends when the key is bound or time is over.
func (b *binding) wait(ctx workflow.Context) error {
	for b.bound == nil && (b.busy || workflow.Now(ctx).Before(b.until)) {
		until, busy := b.until, b.busy
		changed := func() bool { return b.bound != nil || b.until != until || b.busy != busy }
		if busy {
			if err := workflow.Await(ctx, changed); err != nil {
				return err
			}
			continue
		}
		if _, err := workflow.AwaitWithTimeout(ctx, until.Sub(workflow.Now(ctx)), changed); err != nil {
			return err
		}
	}
	return nil
}

func (b *binding) mayChallenge(ctx workflow.Context, in Challenge) error {
	switch {
	case b.bound != nil:
		return refuse(fault.BindingRefused, "This key is bound to a wallet already, and a key keeps its wallet.", 0)
	case b.busy || b.closing:
		return underWay()
	}
	return b.mayTake(workflow.Now(ctx), &in)
}

func (b *binding) challenge(ctx workflow.Context, in Challenge) (Challenge, error) {
	b.take(&in)
	b.until = in.Expires
	return in, b.show(ctx, StageChallenged, "Waits until a wallet signs its challenge, which ends at "+
		in.Expires.UTC().Format(time.RFC3339)+".")
}

func (b *binding) mayComplete(ctx workflow.Context, in BindProof) error {
	return b.mayProve(workflow.Now(ctx), in.Proof)
}

// complete binds. The nonce is used up whatever comes of it, save that a proof sent again with the
// same update id gets the same answer.
func (b *binding) complete(ctx workflow.Context, in BindProof) (activities.BoundKey, error) {
	b.used, b.busy = true, true
	defer func() { b.busy = false }()
	if err := b.show(ctx, StageChanging, "A wallet signed; the key is being bound."); err != nil {
		return activities.BoundKey{}, err
	}
	var (
		doors *activities.Doors
		bound activities.BoundKey
	)
	err := workflow.ExecuteActivity(changing(ctx, "bind the key to its wallet"), doors.BindKey, activities.KeyBinding{
		Key: b.key, Address: in.Address, Message: b.newest.Message, By: in.By,
	}).Get(ctx, &bound)
	if err != nil {
		return bound, b.failed(ctx, err)
	}
	b.bound = &bound
	if !bound.InForce {
		if err := b.show(ctx, StagePushing, "The key is bound; the meter could not be told yet."); err != nil {
			return bound, err
		}
		return bound, notYetInForce()
	}
	return bound, nil
}
