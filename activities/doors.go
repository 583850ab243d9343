package activities

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
)

// DoorFences change keys at doors and put them in force.
type DoorFences interface {
	BindKey(ctx context.Context, b store.Binding, by store.Author) (store.Bound, error)
	AdoptKey(ctx context.Context, id account.KeyID, to account.ID, user account.UserID, by store.Author,
		mails ...store.NewMail) (store.Adopted, error)
	ClaimAgent(ctx context.Context, c store.Claim, settings account.Settings, by store.Author) (store.Claimed, error)
	Enforce(ctx context.Context, keys ...account.KeyID) error
}

var _ DoorFences = (*limits.Limits)(nil)

// AdoptionMails makes the mails that tell the owners of an account of a key that it adopts, one for
// each owner and adoption however often they are made.
type AdoptionMails interface {
	KeyAdopted(ctx context.Context, a KeyAdoption) ([]store.NewMail, error)
}

// Doors carries keys through doors. What it does may be done again, after a crash or by another
// worker, and is done once. Causes of failures stay out of histories.
type Doors struct {
	Fences DoorFences
	Mails  AdoptionMails
	Logger *slog.Logger
}

// ErrDoorFailed is the type of the application errors of Doors that are tried again. Refusals are
// not: their type is the name of their fault.
const ErrDoorFailed = "door_failed"

// DoorAuthor says who goes through a door: a key by its prefix or a user by their id, never an
// address, because it stands in histories.
type DoorAuthor struct {
	Actor  string `json:"actor"`
	Origin string `json:"origin"`
}

func (a DoorAuthor) author(reason string) store.Author {
	return store.Author{Actor: a.Actor, Origin: a.Origin, Reason: reason}
}

// KeyBinding is a wallet that proved itself for a key.
type KeyBinding struct {
	Key     account.KeyID  `json:"key"`
	Address wallet.Address `json:"address"`
	Message string         `json:"message"` // that was signed
	By      DoorAuthor     `json:"by"`
}

// BoundKey is a key with its wallet.
type BoundKey struct {
	Key     account.KeyID  `json:"key"`
	Account account.ID     `json:"account"`
	Address wallet.Address `json:"address"`
	BoundAt time.Time      `json:"bound_at"`
	InForce bool           `json:"in_force"`
}

// BindKey binds a key to a wallet and puts that in force.
func (d *Doors) BindKey(ctx context.Context, b KeyBinding) (BoundKey, error) { //nolint:gocritic // a copy does no harm
	bound, err := d.Fences.BindKey(ctx, store.Binding{Key: b.Key, Address: b.Address, Message: b.Message},
		b.By.author("bound to a wallet"))
	inForce, err := d.told(err, "bind", b.Key)
	if err != nil {
		return BoundKey{}, err
	}
	return BoundKey{
		Key: b.Key, Account: bound.Account.ID, Address: bound.Wallet.Address, BoundAt: bound.Wallet.BoundAt,
		InForce: inForce,
	}, nil
}

// KeyAdoption is an owner who gave the claim code of a key.
type KeyAdoption struct {
	Key     account.KeyID  `json:"key"`
	Account account.ID     `json:"account"`
	User    account.UserID `json:"user"`
	By      DoorAuthor     `json:"by"`
}

// AdoptedKey is a key in its owner's account.
type AdoptedKey struct {
	Key       account.KeyID `json:"key"`
	Prefix    string        `json:"prefix"` // that is shown of the key
	Account   account.ID    `json:"account"`
	AdoptedAt time.Time     `json:"adopted_at"`
	InForce   bool          `json:"in_force"`
}

// AdoptKey moves a key to its owner's account, puts that in force, and has the owners told.
//
//nolint:gocritic // a copy does no harm
func (d *Doors) AdoptKey(ctx context.Context, a KeyAdoption) (AdoptedKey, error) {
	mails, err := d.Mails.KeyAdopted(ctx, a)
	if err != nil {
		_, err = d.told(err, "adopt", a.Key)
		return AdoptedKey{}, err
	}
	adopted, err := d.Fences.AdoptKey(ctx, a.Key, a.Account, a.User, a.By.author("adopted by its owner"), mails...)
	inForce, err := d.told(err, "adopt", a.Key)
	if err != nil {
		return AdoptedKey{}, err
	}
	return AdoptedKey{
		Key: a.Key, Prefix: adopted.Key.Prefix, Account: adopted.Adoption.Account,
		AdoptedAt: adopted.Adoption.AdoptedAt, InForce: inForce,
	}, nil
}

// AgentClaim is a wallet that proved itself as an agent of an account, and the key that was made
// for it.
type AgentClaim struct {
	Account account.ID     `json:"account"`
	Address wallet.Address `json:"address"`
	Name    string         `json:"name"`
	Message string         `json:"message"` // that was signed
	Key     account.KeyID  `json:"key"`
	Digest  account.Digest `json:"digest"`
	Prefix  string         `json:"prefix"`
	// MonthlyCap is in whole units, 0 for none; nil for what an agent has by default.
	MonthlyCap *json.Number `json:"monthly_cap,omitempty"`
	By         DoorAuthor   `json:"by"`
}

// ClaimedAgent is an agent with its new key.
type ClaimedAgent struct {
	Agent     account.AgentID `json:"agent"`
	Key       account.KeyID   `json:"key"`
	Before    account.KeyID   `json:"before"`    // the key that died; zero for none
	CapMilli  int64           `json:"cap_milli"` // the key's monthly cap in thousandths of units; 0 for none
	ClaimedAt time.Time       `json:"claimed_at"`
	InForce   bool            `json:"in_force"`
}

// MonthlyCap is the key's; 0 for none.
func (c ClaimedAgent) MonthlyCap() plan.Units { return plan.Units(c.CapMilli) }

// ClaimAgent makes an agent or gives it a fresh key, and puts that in force.
//
//nolint:gocritic // a copy does no harm
func (d *Doors) ClaimAgent(ctx context.Context, c AgentClaim) (ClaimedAgent, error) {
	claim := store.Claim{
		Account: c.Account, Address: c.Address, Name: c.Name, Message: c.Message, Key: c.Key, Digest: c.Digest[:],
		Prefix: c.Prefix,
	}
	claimed, err := d.Fences.ClaimAgent(ctx, claim, account.Settings{MonthlyCap: c.MonthlyCap},
		c.By.author("claimed by its wallet"))
	inForce, err := d.told(err, "claim", c.Key)
	if err != nil {
		return ClaimedAgent{}, err
	}
	return ClaimedAgent{
		Agent: claimed.Agent.ID, Key: c.Key, Before: claimed.Before, CapMilli: int64(claimed.Agent.Key.MonthlyCap),
		ClaimedAt: claimed.Agent.ClaimedAt, InForce: inForce,
	}, nil
}

// PutInForce puts keys in force that are recorded and that the meter may not have; an error is
// tried again.
func (d *Doors) PutInForce(ctx context.Context, keys []account.KeyID) error {
	for _, key := range keys {
		inForce, err := d.told(d.Fences.Enforce(ctx, key), "put in force", key)
		if err != nil {
			return err
		}
		if !inForce {
			return temporal.NewApplicationError(
				"the meter does not have the change yet; the worker's log names the cause", ErrDoorFailed)
		}
	}
	return nil
}

// RefusalDetails goes with a refusal's application error.
type RefusalDetails struct {
	RetryAfterMillis int64 `json:"retry_after_ms,omitempty"`
	// StartAgain says that the challenge is worth nothing any more, and that another one would do.
	StartAgain bool `json:"start_again,omitempty"`
}

// told logs why something failed, and gives the error for the history; of a change that is saved it
// says whether it is in force.
func (d *Doors) told(err error, step string, key account.KeyID) (inForce bool, _ error) {
	if err == nil {
		return true, nil
	}
	if refusal, ok := errors.AsType[*fault.Error](err); ok && refusal.Reason != fault.InternalFault {
		if refusal.Reason != fault.NotYetInForce {
			return false, refused(refusal)
		}
		d.Logger.Warn("a change of a key is not in force yet", "step", step, "key_id", key, "error", err)
		return false, nil
	}
	if errors.Is(err, store.ErrNotFound) {
		return false, refused(fault.New(fault.NotYours, ""))
	}
	d.Logger.Error("binding, claiming or adopting a key failed", "step", step, "key_id", key, "error", err)
	return false, temporal.NewApplicationError("it failed; the worker's log names the cause", ErrDoorFailed)
}

// refused is a refusal for the history: its message is public, its cause is not. It is no fault of
// the service, so no log calls it an error.
func refused(f *fault.Error) error {
	return temporal.NewApplicationErrorWithOptions(f.Message, f.Reason.String(), temporal.ApplicationErrorOptions{
		NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign, Details: []any{
			RefusalDetails{RetryAfterMillis: f.RetryAfter.Milliseconds()},
		},
	})
}
