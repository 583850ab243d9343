package limits

import (
	"context"
	"errors"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/maildb"
)

// Binding, adopting and claiming are changes like any other. A key that moves to another account
// takes three pushes: to the new account, to the key there, and to the account that it left, whose
// callers learn of the move from it.

// BindKey binds a key to a wallet that was verified. After it returns without an error, the
// wallet's limits hold for every call of the key. It is idempotent; a repeated call returns only
// once the first binding is in force.
//
//nolint:gocritic // a copy does no harm
func (f *Limits) BindKey(ctx context.Context, b accountdb.Binding, by accountdb.Author) (accountdb.Bound, error) {
	bound, err := f.store.BindKey(ctx, b, by)
	if err != nil {
		return accountdb.Bound{}, refusalOr(err)
	}
	return bound, f.Enforce(ctx, bound.Key.ID)
}

// AdoptKey moves a key to an owner's account. After it returns without an error, every call of the
// key counts there, in all processes. It is idempotent: a repeated call queues no mail, and returns
// only once the first adoption is in force.
func (f *Limits) AdoptKey(ctx context.Context, id account.KeyID, to account.ID, user account.UserID,
	by accountdb.Author,
	mails ...maildb.NewMail,
) (accountdb.Adopted, error) {
	adopted, err := f.store.AdoptKey(ctx, id, to, user, by, mails...)
	if err != nil {
		return accountdb.Adopted{}, refusalOr(err)
	}
	return adopted, f.Enforce(ctx, id)
}

// DefaultAgentCap is the monthly cap of an agent's key by default (docs/interface.md, 2.8).
const DefaultAgentCap = 50_000 * plan.Unit

// ClaimAgent makes an agent with its key, or gives an existing agent a new key. settings may set
// the key's monthly cap; the default is DefaultAgentCap, or the account's allowance when that is
// less. After it returns without an error, the previous key is refused everywhere.
//
//nolint:gocritic // a copy does no harm
func (f *Limits) ClaimAgent(ctx context.Context, c accountdb.Claim, settings account.Settings,
	by accountdb.Author,
) (accountdb.Claimed, error) {
	at, err := f.meter.Now(ctx) // packs expire by Redis' clock
	if err != nil {
		at = f.now()
	}
	//nolint:gocritic // a copy does no harm
	claimed, err := f.store.ClaimAgent(ctx, c, by, func(owner accountdb.Account) (plan.Units, error) {
		return agentCap(&owner, settings, at)
	})
	if err != nil {
		return accountdb.Claimed{}, refusalOr(err)
	}
	if claimed.Before.IsZero() {
		return claimed, f.Enforce(ctx, claimed.Agent.Key.ID)
	}
	return claimed, f.Enforce(ctx, claimed.Agent.Key.ID, claimed.Before)
}

func agentCap(owner *accountdb.Account, settings account.Settings, at time.Time) (plan.Units, error) {
	bounds, err := around(owner, at)
	if err != nil {
		return 0, err
	}
	limit := DefaultAgentCap
	if bounds.Allowance != account.Unlimited {
		limit = min(limit, bounds.Allowance)
	}
	limit, _, refusal := settings.ForKey(limit, account.ServiceLimits{}, bounds)
	if refusal != nil {
		return 0, refusal
	}
	return limit, nil
}

// Enforce pushes keys and their accounts as PostgreSQL has them, including marks in the accounts
// that the keys left, or returns fault.NotYetInForce. It continues when ctx is cancelled.
func (f *Limits) Enforce(ctx context.Context, keys ...account.KeyID) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pushTimeout)
	defer cancel()
	for _, id := range keys {
		if err := f.enforce(ctx, id); err != nil {
			return fault.New(fault.NotYetInForce, "").Wrap(err)
		}
	}
	return nil
}

// enforce pushes the account first: a key whose limits become wider is bounded by the account's
// until then.
func (f *Limits) enforce(ctx context.Context, id account.KeyID) error {
	epoch := f.store.Epoch()
	key, err := f.store.LoadKey(ctx, id)
	if err != nil {
		return err
	}
	owner, err := f.store.LoadAccount(ctx, key.Account)
	if err != nil {
		return err
	}
	// The account itself did not change here: a version with other figures for its plan may have
	// put the same version in force.
	err = f.push(ctx, epoch, &owner, nil)
	if _, other := errors.AsType[otherContentError](err); err != nil && !other {
		return err
	}
	if err := f.push(ctx, epoch, &owner, &key); err != nil {
		return err
	}
	due, err := f.store.ListPushesOfKey(ctx, id)
	if err != nil {
		return err
	}
	for _, d := range due {
		if d.Account == key.Account {
			continue // a newer change, with a push of its own
		}
		if err := f.pushMoved(ctx, epoch, d.Account, &key); err != nil {
			return err
		}
	}
	return nil
}
