package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/workflows/internal/flow"
)

// BindWorkflow binds a key to a wallet.
//
//   - ID: bind/<key id>, one run at a time per key.
//   - Queue: gateway.
//   - Started by: the API, by update-with-start "challenge".
//   - Update challenge (Challenge): a message for a wallet to sign. A newer one replaces the older;
//     a run takes at most 20.
//   - Update complete (BindProof): proof that the wallet signed the message. It returns once the
//     wallet's limits are in force, or fails with NotYetInForce.
//   - Query challenge: returns the newest Challenge.
//   - Ends: once the key is bound and in force; when its last challenge expires; one minute after
//     its start if it took no challenge. Before and after the run, callers read from PostgreSQL
//     whether a key is bound.
const (
	BindWorkflow = "bind"
)

// BindID is the workflow id of a key's binding.
func BindID(key account.KeyID) string { return "bind/" + key.String() }

// BindInput names the key.
type BindInput struct {
	Key account.KeyID `json:"key"`
}

// BindProof is the argument of the update complete.
type BindProof struct {
	Proof
	By activities.DoorAuthor `json:"by"`
}

// Bind is the workflow. It returns its last stage.
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
		err := workflow.ExecuteActivity(flow.Pushing(ctx, "tell the meter of the binding"), doors.PutInForce,
			[]account.KeyID{b.key}).Get(ctx, nil)
		if err != nil {
			return "", err
		}
	}
	return StageDone, b.show(ctx, StageDone, "The key is bound, and its wallet's fences are in force.")
}

// binding is the state of one run.
type binding struct {
	challenges
	progress

	key     account.KeyID
	until   time.Time // end of the run unless an update extends it
	busy    bool      // a proof is being processed
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

// wait returns once the key is bound or the last challenge has expired.
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

// complete binds the key. It uses up the nonce even if it fails. Temporal deduplicates a proof that
// is sent again with the same update id.
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
	err := workflow.ExecuteActivity(flow.Changing(ctx, "bind the key to its wallet"), doors.BindKey,
		activities.KeyBinding{
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
