package limits

import (
	"context"
	"errors"
	"fmt"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/meter"
)

var (
	// ErrOlderRecord is returned when Redis holds limits that PostgreSQL does not have: it was
	// restored to an earlier state without `gateway ops recover`.
	ErrOlderRecord = errors.New(
		"PostgreSQL is older than the fences that are in force, as after a restore: `gateway ops recover` puts its " +
			"own in force")
	// errNotTaken is returned when a push changed nothing.
	errNotTaken = errors.New("the meter did not take the change; it is pushed again")
)

// version is one state of an account's limits, or of a key's.
type version struct {
	account account.ID
	key     account.KeyID // zero for the account's
	epoch   int64
	number  int64
}

// took checks what is in force after a version was pushed, and if that is fine, removes it from the
// due pushes. A newer version is fine when PostgreSQL has it too, because it includes this change.
// Nothing in force is fine as well: nobody is admitted before the projection is loaded.
func (f *Limits) took(ctx context.Context, pushed *version, held meter.InForce) error {
	switch {
	case !held.There:
	case held.Epoch == pushed.epoch && held.Version == pushed.number:
		if !held.Same {
			return otherContentError{held}
		}
	case held.Epoch < pushed.epoch || (held.Epoch == pushed.epoch && held.Version < pushed.number):
		return errNotTaken
	default:
		if err := f.recorded(ctx, pushed, held); err != nil {
			return err
		}
	}
	_ = f.store.DonePush(ctx, pushed.account, pushed.key, pushed.number)
	return nil
}

// otherContentError is returned when what is in force has the record's version but other content.
type otherContentError struct{ held meter.InForce }

func (e otherContentError) Error() string {
	return fmt.Sprintf("%v (in force is another version %d of epoch %d)", ErrOlderRecord, e.held.Version, e.held.Epoch)
}

func (otherContentError) Unwrap() error { return ErrOlderRecord }

// recorded returns ErrOlderRecord unless PostgreSQL has what is in force.
func (f *Limits) recorded(ctx context.Context, of *version, held meter.InForce) error {
	d, err := f.store.ReadDeployment(ctx)
	if err != nil {
		return err
	}
	var number int64
	if of.key.IsZero() {
		a, err := f.store.LoadAccount(ctx, of.account)
		if err != nil {
			return err
		}
		number = a.Version
	} else {
		k, err := f.store.LoadKey(ctx, of.key)
		if err != nil {
			return err
		}
		number = k.Version
	}
	switch {
	case held.Epoch > d.Epoch || (held.Epoch == d.Epoch && held.Version > number):
		return fmt.Errorf("%w (in force is version %d of epoch %d, PostgreSQL has version %d of epoch %d)",
			ErrOlderRecord, held.Version, held.Epoch, number, d.Epoch)
	case d.Epoch != of.epoch: // the epoch began after this change was read
		return errNotTaken
	}
	return nil
}

// ConfirmAccount checks that an account's limits are in force as PostgreSQL has them, and loads
// them when none are. Otherwise it returns fault.NotYetInForce, which wraps the reason.
func (f *Limits) ConfirmAccount(ctx context.Context, id account.ID) error {
	ctx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	if err := f.confirm(ctx, id); err != nil {
		return fault.New(fault.NotYetInForce, "").Wrap(err)
	}
	return nil
}

func (f *Limits) confirm(ctx context.Context, id account.ID) error {
	var held meter.InForce
	for range maxLoads { // a change in between changes both
		epoch := f.store.Epoch()
		a, err := f.store.LoadAccount(ctx, id)
		if err != nil {
			return err
		}
		projection, err := f.project(ctx, epoch, &a)
		if err != nil {
			return err
		}
		if held, err = f.meter.AccountInForce(ctx, projection); err != nil {
			return err
		}
		switch {
		case !held.There:
			err = f.loadAccount(ctx, id)
		case held.Epoch == epoch && held.Version == a.Version:
			if !held.Same {
				return otherContentError{held}
			}
			return nil
		default:
			err = f.recorded(ctx, &version{account: id, epoch: epoch, number: a.Version}, held)
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("%w: in force is version %d of epoch %d", errNotTaken, held.Version, held.Epoch)
}
