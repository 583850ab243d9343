package agents

import (
	"context"
	"errors"
	"time"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
)

// AdoptKeyInput is a claim code.
type AdoptKeyInput struct {
	ClaimCode string `json:"claim_code" minLength:"1" maxLength:"80" doc:"the code that came with the key, under doorways.adopt; works once"`
}

// AdoptedKey is a key that was moved into the account.
type AdoptedKey struct {
	ID        string    `json:"id" format:"uuid"`
	Prefix    string    `json:"prefix"`
	AdoptedAt time.Time `json:"adopted_at"`
	Note      string    `json:"note"`
}

func (h *handlers) adoptKey() *operation.Operation[AdoptKeyInput, AdoptedKey] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "adopt_key", Title: "Adopt a key", Access: operation.Owners,
		Description: "Takes a key of the anonymous door, bound to a wallet or not, into the owner's account: its " +
			"plan, packs and fences hold from this answer on. It costs nothing and cannot be undone. The same owner " +
			"again is told the same.",
		Fails: []fault.Reason{fault.NotYours, fault.AccountSuspended, fault.NotYetInForce, fault.DurableUnavailable},
	}, h.runAdoptKey)
}

// runAdoptKey checks PostgreSQL first, so that repeating an adoption returns the first result.
func (h *handlers) runAdoptKey(ctx context.Context, c *operation.Call, in AdoptKeyInput) (AdoptedKey, error) {
	code, ok := account.ParseClaimCode(in.ClaimCode)
	if !ok {
		return AdoptedKey{}, fault.New(fault.FieldRefused,
			"claim_code is no claim code: 54 characters that begin with cagc_. Copy all of it.").With("field",
			"claim_code")
	}
	digest := code.Digest(h.Hasher)
	key, before, err := h.Store.FindClaim(ctx, digest[:])
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && !before.Key.IsZero() && before.Account != c.Account.ID:
		return AdoptedKey{}, accountdb.NoClaim()
	case err != nil:
		return AdoptedKey{}, operation.RecordUnavailable(err)
	case !before.Key.IsZero():
		return adoptedKey(key.ID, key.Prefix, before.AdoptedAt), h.Limits.Enforce(ctx, key.ID)
	}
	adopted, err := h.Flows.Adopt(ctx, activities.KeyAdoption{
		Key: key.ID, Account: c.Account.ID, User: c.User.User, By: DoorAuthor(c),
	})
	if err != nil {
		return AdoptedKey{}, err
	}
	return adoptedKey(adopted.Key, adopted.Prefix, adopted.AdoptedAt), nil
}

func adoptedKey(id account.KeyID, prefix string, at time.Time) AdoptedKey {
	return AdoptedKey{
		ID: id.String(), Prefix: prefix, AdoptedAt: at,
		Note: "The key is yours: it has your account's plan, packs and fences, and its calls count here.",
	}
}
