package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/workflows/internal/flow"
)

// AdoptWorkflow moves a key to the account of an owner who presented its claim code.
//
//   - ID: adopt/<key id>, one run at a time per key.
//   - Queue: gateway.
//   - Started by: the API, by update-with-start "adopt".
//   - Update adopt (activities.KeyAdoption): names the owner. It returns once every call of the key
//     counts for the owner, or fails with NotYetInForce while the meter lacks the change. If two
//     owners race, the first gets the key; the other is refused, here and in PostgreSQL.
//   - Ends: after its first answered update, once the adoption is in force or refused; one minute
//     after its start if no update came.
const (
	AdoptWorkflow = "adopt"
	UpdateAdopt   = "adopt"
)

// AdoptID is the workflow id of a key's adoption.
func AdoptID(key account.KeyID) string { return "adopt/" + key.String() }

// AdoptInput names the key.
type AdoptInput struct {
	Key account.KeyID `json:"key"`
}

// Adopt is the workflow. It returns its last stage.
func Adopt(ctx workflow.Context, in AdoptInput) (string, error) {
	a := &adoption{key: in.Key, turn: workflow.NewMutex(ctx)}
	err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateAdopt, a.adopt, workflow.UpdateHandlerOptions{
		Validator: a.mayAdopt,
	})
	if err != nil {
		return "", err
	}
	if _, err := workflow.AwaitWithTimeout(ctx, idleTime, func() bool { return a.begun }); err != nil {
		return "", err
	}
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return "", err
	}
	a.closing = true
	switch {
	case a.adopted == nil && !a.begun:
		return StageExpired, a.show(ctx, StageExpired, "Nobody adopted the key.")
	case a.adopted == nil:
		return StageRefused, nil
	}
	if !a.adopted.InForce {
		var doors *activities.Doors
		err := workflow.ExecuteActivity(flow.Pushing(ctx, "tell the meter of the adoption"), doors.PutInForce,
			[]account.KeyID{a.key}).Get(ctx, nil)
		if err != nil {
			return "", err
		}
	}
	return StageDone, a.show(ctx, StageDone, "The key is adopted, and its calls count for its owner.")
}

// adoption is the state of one run.
type adoption struct {
	progress

	key     account.KeyID
	turn    workflow.Mutex // one owner at a time
	begun   bool
	adopted *activities.AdoptedKey
	closing bool
}

func (a *adoption) mayAdopt(_ workflow.Context, in activities.KeyAdoption) error {
	switch {
	case in.Key != a.key:
		return refuse(fault.NotYours, "This adoption is of another key.", 0)
	case a.closing:
		return underWay()
	}
	return nil
}

func (a *adoption) adopt(ctx workflow.Context, in activities.KeyAdoption) (activities.AdoptedKey, error) {
	a.begun = true
	if err := a.turn.Lock(ctx); err != nil {
		return activities.AdoptedKey{}, err
	}
	defer a.turn.Unlock()
	if err := a.show(ctx, StageChanging, "An owner gave the claim code; the key moves to their account."); err != nil {
		return activities.AdoptedKey{}, err
	}
	var (
		doors   *activities.Doors
		adopted activities.AdoptedKey
	)
	err := workflow.ExecuteActivity(flow.Changing(ctx, "move the key to its owner's account"), doors.AdoptKey,
		in).Get(ctx,
		&adopted)
	if err != nil {
		return adopted, a.failed(ctx, err)
	}
	a.adopted = &adopted
	if !adopted.InForce {
		if err := a.show(ctx, StagePushing, "The key is adopted; the meter could not be told yet."); err != nil {
			return adopted, err
		}
		return adopted, notYetInForce()
	}
	return adopted, nil
}
