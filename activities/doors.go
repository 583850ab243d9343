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
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/maildb"
)

// DoorLimits binds, adopts and claims keys, and puts them in force.
type DoorLimits interface {
	BindKey(ctx context.Context, b accountdb.Binding, by accountdb.Author) (accountdb.Bound, error)
	AdoptKey(ctx context.Context, id account.KeyID, to account.ID, user account.UserID, by accountdb.Author,
		mails ...maildb.NewMail) (accountdb.Adopted, error)
	ClaimAgent(ctx context.Context, c accountdb.Claim, settings account.Settings,
		by accountdb.Author) (accountdb.Claimed, error)
	Enforce(ctx context.Context, keys ...account.KeyID) error
}

var _ DoorLimits = (*limits.Limits)(nil)

// AdoptionMails returns the mails that tell the owners of an account of a key that it adopts. They
// are deduplicated per owner and adoption.
type AdoptionMails interface {
	KeyAdopted(ctx context.Context, a KeyAdoption) ([]maildb.NewMail, error)
}

// Doors binds, adopts and claims keys. Its activities are idempotent. Causes of failures stay out
// of histories.
type Doors struct {
	Limits DoorLimits
	Mails  AdoptionMails
	Logger *slog.Logger
}

// ErrDoorFailed is the type of Doors' application errors that are retried. Refusals are not
// retried; their type is the name of their fault.
const ErrDoorFailed = "door_failed"

// DoorAuthor names who changes a key: a key by its prefix or a user by their id, never an e-mail
// address, because histories store it.
type DoorAuthor struct {
	Actor  string `json:"actor"`
	Origin string `json:"origin"`
}

func (a DoorAuthor) author(reason string) accountdb.Author {
	return accountdb.Author{Actor: a.Actor, Origin: a.Origin, Reason: reason}
}

// KeyBinding is a wallet's proof for a key.
type KeyBinding struct {
	Key     account.KeyID  `json:"key"`
	Address wallet.Address `json:"address"`
	Message string         `json:"message"` // the signed one
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

// BindKey binds a key to a wallet and puts the change in force.
func (d *Doors) BindKey(ctx context.Context, b KeyBinding) (BoundKey, error) { //nolint:gocritic // a copy does no harm
	bound, err := d.Limits.BindKey(ctx, accountdb.Binding{Key: b.Key, Address: b.Address, Message: b.Message},
		b.By.author("bound to a wallet"))
	inForce, err := d.forHistory(err, "bind", b.Key)
	if err != nil {
		return BoundKey{}, err
	}
	return BoundKey{
		Key: b.Key, Account: bound.Account.ID, Address: bound.Wallet.Address, BoundAt: bound.Wallet.BoundAt,
		InForce: inForce,
	}, nil
}

// KeyAdoption is an owner's request for a key whose claim code they presented.
type KeyAdoption struct {
	Key     account.KeyID  `json:"key"`
	Account account.ID     `json:"account"`
	User    account.UserID `json:"user"`
	By      DoorAuthor     `json:"by"`
}

// AdoptedKey is a key in its owner's account.
type AdoptedKey struct {
	Key       account.KeyID `json:"key"`
	Prefix    string        `json:"prefix"` // the part of the key that is shown
	Account   account.ID    `json:"account"`
	AdoptedAt time.Time     `json:"adopted_at"`
	InForce   bool          `json:"in_force"`
}

// AdoptKey moves a key to its owner's account, puts the change in force, and queues mails to the
// owners.
//
//nolint:gocritic // a copy does no harm
func (d *Doors) AdoptKey(ctx context.Context, a KeyAdoption) (AdoptedKey, error) {
	mails, err := d.Mails.KeyAdopted(ctx, a)
	if err != nil {
		_, err = d.forHistory(err, "adopt", a.Key)
		return AdoptedKey{}, err
	}
	adopted, err := d.Limits.AdoptKey(ctx, a.Key, a.Account, a.User, a.By.author("adopted by its owner"), mails...)
	inForce, err := d.forHistory(err, "adopt", a.Key)
	if err != nil {
		return AdoptedKey{}, err
	}
	return AdoptedKey{
		Key: a.Key, Prefix: adopted.Key.Prefix, Account: adopted.Adoption.Account,
		AdoptedAt: adopted.Adoption.AdoptedAt, InForce: inForce,
	}, nil
}

// AgentClaim is a wallet's proof that it is an agent of an account, and the key that was minted for
// it.
type AgentClaim struct {
	Account account.ID     `json:"account"`
	Address wallet.Address `json:"address"`
	Name    string         `json:"name"`
	Message string         `json:"message"` // the signed one
	Key     account.KeyID  `json:"key"`
	Digest  account.Digest `json:"digest"`
	Prefix  string         `json:"prefix"`
	// MonthlyCap is in whole units; 0 means no cap, nil the default of an agent.
	MonthlyCap *json.Number `json:"monthly_cap,omitempty"`
	By         DoorAuthor   `json:"by"`
}

// ClaimedAgent is an agent with its new key.
type ClaimedAgent struct {
	Agent     account.AgentID `json:"agent"`
	Key       account.KeyID   `json:"key"`
	Before    account.KeyID   `json:"before"`    // the key that was replaced; zero for none
	CapMilli  int64           `json:"cap_milli"` // the key's monthly cap in thousandths of units; 0 for none
	ClaimedAt time.Time       `json:"claimed_at"`
	InForce   bool            `json:"in_force"`
}

// MonthlyCap returns the key's cap; 0 for none.
func (c ClaimedAgent) MonthlyCap() plan.Units { return plan.Units(c.CapMilli) }

// ClaimAgent creates an agent or replaces its key, and puts the change in force.
//
//nolint:gocritic // a copy does no harm
func (d *Doors) ClaimAgent(ctx context.Context, c AgentClaim) (ClaimedAgent, error) {
	claim := accountdb.Claim{
		Account: c.Account, Address: c.Address, Name: c.Name, Message: c.Message, Key: c.Key, Digest: c.Digest[:],
		Prefix: c.Prefix,
	}
	claimed, err := d.Limits.ClaimAgent(ctx, claim, account.Settings{MonthlyCap: c.MonthlyCap},
		c.By.author("claimed by its wallet"))
	inForce, err := d.forHistory(err, "claim", c.Key)
	if err != nil {
		return ClaimedAgent{}, err
	}
	return ClaimedAgent{
		Agent: claimed.Agent.ID, Key: c.Key, Before: claimed.Before, CapMilli: int64(claimed.Agent.Key.MonthlyCap),
		ClaimedAt: claimed.Agent.ClaimedAt, InForce: inForce,
	}, nil
}

// PutInForce pushes committed keys to the meter, which may lack them. An error is retried.
func (d *Doors) PutInForce(ctx context.Context, keys []account.KeyID) error {
	for _, key := range keys {
		inForce, err := d.forHistory(d.Limits.Enforce(ctx, key), "put in force", key)
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

// RefusalDetails are the details of a refusal's application error.
type RefusalDetails struct {
	RetryAfterMillis int64 `json:"retry_after_ms,omitempty"`
	// StartAgain reports that the challenge is no longer valid and that the client needs a new one.
	StartAgain bool `json:"start_again,omitempty"`
}

// forHistory logs the cause and returns the error for the history. For a committed change it
// reports whether that is in force.
func (d *Doors) forHistory(err error, step string, key account.KeyID) (inForce bool, _ error) {
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

// refused returns a refusal for the history: its message is public, its cause is not included. It
// is benign, so no log calls it an error.
func refused(f *fault.Error) error {
	return temporal.NewApplicationErrorWithOptions(f.Message, f.Reason.String(), temporal.ApplicationErrorOptions{
		NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign, Details: []any{
			RefusalDetails{RetryAfterMillis: f.RetryAfter.Milliseconds()},
		},
	})
}
