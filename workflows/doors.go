package workflows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
)

// Timeouts of an update, which waits for the flow's answer, and of a query for the open challenge.
const (
	updateTimeout = 8 * time.Second
	queryTimeout  = 4 * time.Second
)

// ErrNoChallenge is returned when no flow waits for a signature: none was started, it has ended, or
// its challenge has expired.
var ErrNoChallenge = errors.New("workflows: no challenge is open")

// BindChallenge starts the binding of a key, or replaces the challenge of the one that is open.
// held is the key's account.
//
//nolint:gocritic // a copy does no harm
func (c *Client) BindChallenge(ctx context.Context, key account.KeyID, held account.ID,
	in Challenge,
) (Challenge, error) {
	start := doorOptions(BindID(key), held, "Binds a key to a wallet")
	return beginning[Challenge](ctx, c, start, BindWorkflow, BindInput{Key: key}, UpdateChallenge,
		UpdateChallenge+"/"+in.Nonce, in)
}

// OpenBindChallenge returns the newest challenge of a key's binding, or ErrNoChallenge.
func (c *Client) OpenBindChallenge(ctx context.Context, key account.KeyID) (Challenge, error) {
	return c.openChallenge(ctx, BindID(key))
}

// BindComplete binds a key to the wallet that signed its challenge. It returns ErrNoChallenge when
// the flow has ended; the result is then in PostgreSQL.
func (c *Client) BindComplete(ctx context.Context, key account.KeyID, in BindProof) (activities.BoundKey, error) {
	return completing[activities.BoundKey](ctx, c, BindID(key), in.Nonce, in)
}

// Adopt moves a key to an owner's account.
//
//nolint:gocritic // a copy does no harm
func (c *Client) Adopt(ctx context.Context, in activities.KeyAdoption) (activities.AdoptedKey, error) {
	start := doorOptions(AdoptID(in.Key), in.Account, "Moves a key to the account of its owner")
	// No update id: Temporal would answer a repeated id with the result of the last run, and the
	// reason of a refusal may have gone by now.
	return beginning[activities.AdoptedKey](ctx, c, start, AdoptWorkflow, AdoptInput{Key: in.Key}, UpdateAdopt, "", in)
}

// ClaimChallenge starts the claim of an agent, or replaces the challenge of the one that is open.
//
//nolint:gocritic // a copy does no harm
func (c *Client) ClaimChallenge(ctx context.Context, owner account.ID, in ClaimChallenge) (Challenge, error) {
	start := doorOptions(ClaimID(owner, in.Address), owner, "Gives an agent a key for its wallet")
	return beginning[Challenge](ctx, c, start, ClaimWorkflow, ClaimInput{Account: owner, Address: in.Address},
		UpdateChallenge, UpdateChallenge+"/"+in.Nonce, in)
}

// OpenClaimChallenge returns the newest challenge of an agent's claim, or ErrNoChallenge.
func (c *Client) OpenClaimChallenge(ctx context.Context, owner account.ID, address wallet.Address) (Challenge, error) {
	return c.openChallenge(ctx, ClaimID(owner, address))
}

// ClaimComplete completes the claim of an agent whose wallet signed its challenge, with the key in
// in. It returns ErrNoChallenge when the flow has ended.
//
//nolint:gocritic // a copy does no harm
func (c *Client) ClaimComplete(ctx context.Context, owner account.ID, in ClaimProof) (activities.ClaimedAgent, error) {
	return completing[activities.ClaimedAgent](ctx, c, ClaimID(owner, in.Address), in.Key.String(), in)
}

func doorOptions(id string, of account.ID, summary string) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: id, TaskQueue: QueueGateway, StaticSummary: summary,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		TypedSearchAttributes:    temporal.NewSearchAttributes(AccountID.ValueSet(of.String())),
	}
}

// beginAgain is how many times beginning sends an update when the flow ends before it answers.
const beginAgain = 3

// beginning sends an update to the running flow, or starts one, and waits for the answer. It
// returns a refusal (fault.Error) if that fails.
//
//nolint:gocritic // a copy does no harm
func beginning[T any](ctx context.Context, c *Client, start client.StartWorkflowOptions, flow string, input any,
	update, updateID string, in ...any,
) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	var (
		answer T
		err    error
	)
	for range beginAgain {
		var handle client.WorkflowUpdateHandle
		handle, err = c.temporal.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
			StartWorkflowOperation: c.temporal.NewWithStartWorkflowOperation(start, flow, input),
			UpdateOptions: client.UpdateWorkflowOptions{
				WorkflowID: start.ID, UpdateID: updateID, UpdateName: update, Args: in,
				WaitForStage: client.WorkflowUpdateStageCompleted,
			},
		})
		if err == nil {
			err = handle.Get(ctx, &answer)
		}
		if err == nil || !ended(err) {
			break
		}
	}
	if err != nil {
		return answer, answered(err)
	}
	return answer, nil
}

// completing sends a proof to the running flow. It returns ErrNoChallenge if none runs.
func completing[T any](ctx context.Context, c *Client, id, updateID string, in any) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, updateTimeout)
	defer cancel()
	var answer T
	handle, err := c.temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateID: UpdateComplete + "/" + updateID, UpdateName: UpdateComplete, Args: []any{in},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(ctx, &answer)
	}
	switch {
	case err == nil:
		return answer, nil
	case ended(err):
		return answer, ErrNoChallenge
	}
	return answer, answered(err)
}

func (c *Client) openChallenge(ctx context.Context, id string) (Challenge, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	reply, err := c.temporal.QueryWorkflowWithOptions(ctx, &client.QueryWorkflowWithOptionsRequest{
		WorkflowID: id, QueryType: QueryChallenge, QueryRejectCondition: enums.QUERY_REJECT_CONDITION_NOT_OPEN,
	})
	if ended(err) {
		return Challenge{}, ErrNoChallenge
	}
	if err != nil {
		return Challenge{}, answered(err)
	}
	if reply.QueryRejected != nil {
		return Challenge{}, ErrNoChallenge
	}
	var open Challenge
	if err := reply.QueryResult.Get(&open); err != nil {
		return Challenge{}, fault.Internal(fmt.Errorf("read the challenge of %s: %w", id, err))
	}
	if open.Nonce == "" {
		return Challenge{}, ErrNoChallenge
	}
	return open, nil
}

// ended reports whether err means that there is no such flow, or that it ended before it answered
// the update.
func ended(err error) bool {
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return true
	}
	if _, aborted := errors.AsType[*serviceerror.Aborted](err); aborted {
		return true
	}
	failed, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && failed.Type() == acceptedAndEnded
}

// acceptedAndEnded is the type of the failure that Temporal returns for an update that was accepted
// by a workflow that ended without answering it.
const acceptedAndEnded = "AcceptedUpdateCompletedWorkflow"

// unavailableFor is the Retry-After when Temporal does not answer.
const unavailableFor = 10 * time.Second

// ErrStartAgain is wrapped by refusals of a challenge that is used, expired or replaced, so that
// the client needs a new one.
var ErrStartAgain = errors.New("the challenge is over")

// answered converts an update's failure to a refusal: that of the flow, or DurableUnavailable when
// Temporal does not answer. In that case the flow continues.
func answered(err error) error {
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		if reason, known := fault.Named(failed.Type()); known && reason != fault.InternalFault {
			refusal := fault.New(reason, "%s", failed.Message())
			var details activities.RefusalDetails
			if failed.HasDetails() && failed.Details(&details) == nil {
				refusal.RetryAfter = time.Duration(details.RetryAfterMillis) * time.Millisecond
				if details.StartAgain {
					refusal = refusal.Wrap(ErrStartAgain)
				}
			}
			if reason == fault.RateWindow {
				refusal.Window = &fault.Window{Limit: maxChallenges, Reset: refusal.RetryAfter}
			}
			return refusal
		}
		return fault.Internal(err)
	}
	refusal := fault.New(fault.DurableUnavailable,
		"The part of the service that carries durable flows did not answer in time. What was begun goes on by "+
			"itself; send the same again in some seconds. The relay is not affected.")
	refusal.RetryAfter = unavailableFor
	return refusal.Wrap(err)
}
