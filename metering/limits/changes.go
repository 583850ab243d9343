package limits

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
)

// A change is committed to PostgreSQL first, then put in force, and only then answered. When the
// push fails, the answer is fault.NotYetInForce: the change is kept, and PushDue retries the push.

// SetStatus makes an account active or suspended.
func (f *Limits) SetStatus(ctx context.Context, id account.ID, status account.Status,
	by accountdb.Author,
) (accountdb.Account, error) {
	action := "suspend_account"
	if status == account.Active {
		action = "resume_account"
	}
	return f.changeAccount(ctx, id, action, by, func(a *accountdb.Account) error {
		a.Status = status
		return nil
	})
}

// SetPlan moves an account to a plan. Its period and what was used of it continue. The figures of a
// contract end with the Enterprise plan.
func (f *Limits) SetPlan(ctx context.Context, id account.ID, p plan.Plan,
	by accountdb.Author,
) (accountdb.Account, error) {
	return f.changeAccount(ctx, id, "set_plan", by, func(a *accountdb.Account) error {
		if a.Kind == accountdb.KindSettlement {
			return paidByTheCall()
		}
		a.Plan, a.NextPlan, a.NextPlanFrom = p.Key, "", time.Time{}
		if p.Key != plan.Enterprise {
			a.Custom = nil
		}
		return nil
	})
}

// SetEnterprise puts an account on the Enterprise plan with the figures of its contract.
func (f *Limits) SetEnterprise(ctx context.Context, id account.ID, c account.Custom,
	by accountdb.Author,
) (accountdb.Account, error) {
	if refusal := c.Check(); refusal != nil {
		return accountdb.Account{}, refusal
	}
	return f.changeAccount(ctx, id, "set_enterprise", by, func(a *accountdb.Account) error {
		if a.Kind == accountdb.KindSettlement {
			return paidByTheCall()
		}
		a.Plan, a.Custom, a.NextPlan, a.NextPlanFrom = plan.Enterprise, &c, "", time.Time{}
		return nil
	})
}

// paidByTheCall refuses a plan or contract for a settlement's account.
func paidByTheCall() error {
	return fault.New(fault.FieldRefused,
		"This is the account of a pay-per-call settlement, which has what was paid for and nothing else. Choose "+
			"another account.")
}

// SetCycle makes an account's periods follow a subscription, or calendar months when c is zero.
func (f *Limits) SetCycle(ctx context.Context, id account.ID, c plan.Cycle,
	by accountdb.Author,
) (accountdb.Account, error) {
	switch {
	case c.Ends.IsZero(): // goes on
	case c.Anchor.IsZero():
		return accountdb.Account{}, fault.New(fault.FieldRefused,
			"cycle_ends comes without cycle_anchor. Give both, or neither for calendar months.")
	case c.Ends.Before(c.Anchor):
		return accountdb.Account{}, fault.New(fault.FieldRefused,
			"cycle_ends %s lies before cycle_anchor %s. Give an end at or after the begin.",
			c.Ends.UTC().Format(time.RFC3339Nano), c.Anchor.UTC().Format(time.RFC3339Nano))
	}
	return f.changeAccount(ctx, id, "set_cycle", by, func(a *accountdb.Account) error {
		a.Cycle = c
		return nil
	})
}

// ConfigureAccount changes the service switches and caps of an account.
func (f *Limits) ConfigureAccount(ctx context.Context, id account.ID, s account.Settings,
	by accountdb.Author,
) (accountdb.Account, error) {
	return f.changeAccount(ctx, id, "configure_account", by, func(a *accountdb.Account) error {
		services, refusal := s.ForAccount(a.Services)
		if refusal != nil {
			return refusal
		}
		a.Services = services
		return nil
	})
}

// GrantPack grants a pack to an account, once per origin. It reports false when it was granted
// before.
func (f *Limits) GrantPack(ctx context.Context, p accountdb.Pack, by accountdb.Author) (accountdb.Pack, bool, error) {
	epoch := f.store.Epoch()
	granted, owner, fresh, err := f.store.GrantPack(ctx, p, by)
	if err != nil {
		return accountdb.Pack{}, false, err
	}
	return granted, fresh, f.inForce(ctx, epoch, &owner, nil)
}

// VoidPack voids what is left of the pack that was granted for an origin. It reports false when the
// pack was void before. After it returns without an error, no process draws on the pack any more.
// It returns store.ErrNotFound when nothing was granted for the origin.
func (f *Limits) VoidPack(ctx context.Context, origin, reason string,
	by accountdb.Author,
) (accountdb.Pack, bool, error) {
	at, err := f.meter.Now(ctx) // packs expire by Redis' clock
	if err != nil {
		at = f.now()
	}
	epoch := f.store.Epoch()
	voided, owner, fresh, err := f.store.VoidPack(ctx, origin, reason, at, by)
	if err != nil {
		return accountdb.Pack{}, false, err
	}
	return voided, fresh, f.inForce(ctx, epoch, &owner, nil)
}

// Entitle puts an account's subscription in force: the plan, when its periods begin, and what takes
// over next. An Enterprise contract stays as it is, except for its periods.
//
//nolint:gocritic // a copy does no harm
func (f *Limits) Entitle(ctx context.Context, id account.ID, e subscription.Entitlement,
	by accountdb.Author,
) (accountdb.Account, error) {
	if by.At.IsZero() {
		by.At = f.now()
	}
	return f.changeAccount(ctx, id, "entitle", by, func(a *accountdb.Account) error {
		if a.Kind == accountdb.KindSettlement {
			return paidByTheCall()
		}
		a.Cycle = e.Cycle
		if a.Plan != plan.Enterprise {
			a.Plan, a.NextPlan, a.NextPlanFrom = e.Plan, e.Next, e.NextFrom
		}
		return nil
	})
}

// RevokeKey revokes a key for good: after it returns without an error, no process admits a call of
// the key. It is idempotent; a repeated call returns only once the first one is in force.
func (f *Limits) RevokeKey(ctx context.Context, id account.KeyID, by accountdb.Author) (accountdb.Key, error) {
	return f.changeKey(ctx, id, "revoke_key", by, func(k *accountdb.Key, _ accountdb.Account) error {
		k.Status = account.Revoked
		return nil
	})
}

// ConfigureKey changes the monthly cap, the service switches and the service caps of a key. None
// may be wider than its account's.
func (f *Limits) ConfigureKey(ctx context.Context, id account.KeyID, s account.Settings,
	by accountdb.Author,
) (accountdb.Key, error) {
	at, err := f.meter.Now(ctx) // packs expire by Redis' clock
	if err != nil {
		at = f.now() // the change is saved all the same; the meter uses its own clock
	}
	return f.changeKey(ctx, id, "configure_key", by, func(k *accountdb.Key, owner accountdb.Account) error {
		bounds, err := around(&owner, at)
		if err != nil {
			return err
		}
		limit, services, refusal := s.ForKey(k.MonthlyCap, k.Services, bounds)
		if refusal != nil {
			return refusal
		}
		k.MonthlyCap, k.Services = limit, services
		return nil
	})
}

// around returns the bounds for the limits of an account's keys: what a period includes, plus the
// packs that can be drawn at that time.
func around(owner *accountdb.Account, at time.Time) (account.Around, error) {
	terms, err := owner.Terms()
	if err != nil {
		return account.Around{}, err
	}
	a := account.Around{Allowance: terms.At(at).Quota(), Services: owner.Services}
	if a.Allowance == account.Unlimited {
		return a, nil
	}
	for _, p := range owner.Packs {
		if at.Before(p.Expires) {
			a.Allowance += min(p.Units, account.MaxCap-a.Allowance) // no cap is larger
		}
	}
	return a, nil
}

func (f *Limits) changeAccount(ctx context.Context, id account.ID, action string, by accountdb.Author,
	change func(*accountdb.Account) error,
) (accountdb.Account, error) {
	epoch := f.store.Epoch()
	a, err := f.store.ChangeAccount(ctx, id, action, by, change)
	if err != nil {
		return accountdb.Account{}, refusalOr(err)
	}
	return a, f.inForce(ctx, epoch, &a, nil)
}

func (f *Limits) changeKey(ctx context.Context, id account.KeyID, action string, by accountdb.Author,
	change func(*accountdb.Key, accountdb.Account) error,
) (accountdb.Key, error) {
	epoch := f.store.Epoch()
	k, owner, err := f.store.ChangeKey(ctx, id, action, by, change)
	if err != nil {
		return accountdb.Key{}, refusalOr(err)
	}
	return k, f.inForce(ctx, epoch, &owner, &k)
}

// refusalOr returns the *fault.Error inside err, or err itself.
func refusalOr(err error) error {
	if refusal, ok := errors.AsType[*fault.Error](err); ok {
		return refusal
	}
	return err
}

// pushTimeout bounds the push of a change while its caller waits; PushDue retries it afterwards.
const pushTimeout = 3 * time.Second

// inForce pushes a change of a key, or of the account when key is nil. It continues when ctx is
// cancelled.
func (f *Limits) inForce(ctx context.Context, epoch int64, owner *accountdb.Account, key *accountdb.Key) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pushTimeout)
	defer cancel()
	if err := f.push(ctx, epoch, owner, key); err != nil {
		return fault.New(fault.NotYetInForce, "").Wrap(err)
	}
	return nil
}

// push puts a version in force, reads it back, and removes it from the due pushes. If that removal
// fails, the version is pushed once more, which does no harm. epoch is the record's, read before
// the version.
func (f *Limits) push(ctx context.Context, epoch int64, owner *accountdb.Account, key *accountdb.Key) error {
	projection, err := f.project(ctx, epoch, owner)
	if err != nil {
		return err
	}
	if key == nil {
		if err := f.meter.PushAccount(ctx, projection); err != nil {
			return err
		}
		held, err := f.meter.AccountInForce(ctx, projection)
		if err != nil {
			return err
		}
		return f.took(ctx, &version{owner.ID, account.KeyID{}, epoch, owner.Version}, held)
	}
	of := keyOf(epoch, key)
	if err := f.meter.PushKey(ctx, of, projection.Current.Key(), projection.Next.Key()); err != nil {
		return err
	}
	held, err := f.meter.KeyInForce(ctx, of)
	if err != nil {
		return err
	}
	return f.took(ctx, &version{owner.ID, key.ID, epoch, key.Version}, held)
}

// How PushDue pushes changes whose own push failed or whose process died.
const (
	pushDueAfter    = 2 * time.Second // time for the change's own push
	pushesAtOnce    = 200
	pushDueInterval = time.Second
)

// PushDue puts changes in force whose own push failed. For some minutes it also repeats pushes that
// succeeded, because a failover of Redis may lose them. It returns how many were not in force
// before. A push that fails does not delay the others. It may run concurrently.
func (f *Limits) PushDue(ctx context.Context) (int, error) {
	due, err := f.store.ListPushes(ctx, pushDueAfter, pushesAtOnce)
	if err != nil {
		return 0, err
	}
	pushed := 0
	var failed []error
	for _, d := range due {
		if err := f.pushOne(ctx, d); err != nil {
			failed = append(failed, err, f.store.DelayPush(ctx, d))
			continue
		}
		if !d.InForce {
			pushed++
		}
	}
	return pushed, errors.Join(append(failed, f.store.ForgetPushes(ctx))...)
}

func (f *Limits) pushOne(ctx context.Context, d accountdb.Push) error {
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	epoch := f.store.Epoch()
	var key *accountdb.Key
	if !d.Key.IsZero() {
		k, err := f.store.LoadKey(ctx, d.Key)
		if err != nil {
			return err
		}
		if k.Account != d.Account {
			return f.pushMoved(ctx, epoch, d.Account, &k)
		}
		key = &k
	}
	owner, err := f.store.LoadAccount(ctx, d.Account)
	if err != nil {
		return err
	}
	return f.push(ctx, epoch, &owner, key)
}

// pushMoved marks a key as moved in the account that it left. Accounts of one shard share the key's
// projection, so the new account's projection shows the move there.
func (f *Limits) pushMoved(ctx context.Context, epoch int64, from account.ID, key *accountdb.Key) error {
	if account.Shard(from) == account.Shard(key.Account) {
		_ = f.store.DonePush(ctx, from, key.ID, key.Version)
		return nil
	}
	if err := f.meter.PushMoved(ctx, from, key.ID, epoch, key.Version); err != nil {
		return err
	}
	held, err := f.meter.MovedInForce(ctx, from, key.ID)
	if err != nil {
		return err
	}
	return f.took(ctx, &version{from, key.ID, epoch, key.Version}, held)
}

// RunPushes calls PushDue until ctx ends.
func (f *Limits) RunPushes(ctx context.Context, logger *slog.Logger) {
	tick := time.NewTicker(pushDueInterval)
	defer tick.Stop()
	for {
		pushed, err := f.PushDue(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			logger.Error("changed fences not in force; will retry", "error", err)
		case pushed > 0:
			logger.Info("changed fences put in force", "changes", pushed)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
