// Package fences owns the way between the record and the meter: it finds who a key is, loads an account's and a key's projection
// from PostgreSQL into Redis when it is missing there, seeds lost counters, and pushes changes before they are answered. It
// decides nothing itself: the rules are in package account, the verdicts in package meter.
package fences

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/fault"
	"github.com/chainaccess/gateway/meter"
	"github.com/chainaccess/gateway/plan"
	"github.com/chainaccess/gateway/store"
)

// Fences is safe for concurrent use.
type Fences struct {
	store  *store.Store
	meter  *meter.Meter
	now    func() time.Time
	ids    *identities
	flight singleflight.Group
}

// New makes the fences over a store and a meter that it does not own. hasher turns keys into their digests.
func New(s *store.Store, m *meter.Meter, hasher *account.Hasher, now func() time.Time) *Fences {
	return &Fences{store: s, meter: m, now: now, ids: newIdentities(s, hasher, now)}
}

// maxLoads bounds how often one call may find something missing. Each load mends one thing, and a roll-over of day or period in
// between may need one more.
const maxLoads = 5

var (
	errStillMissing = errors.New("projections are still missing after loading them")
	errMoved        = errors.New("the key belongs to another account")
)

// Admit asks the meter, loads what it lacks, and follows a key that moved to another account. It gives the subject that was
// admitted. An error means that the call must not be relayed.
func (f *Fences) Admit(ctx context.Context, s *meter.Subject, c *meter.Call) (*meter.Subject, meter.Admission, error) {
	for range maxLoads {
		a, err := f.meter.Admit(ctx, s, c)
		if err != nil || (a.Missing == 0 && !a.Moved) {
			return s, a, err
		}
		if a.Moved {
			if s, err = f.ids.reload(ctx, s); err != nil {
				return s, meter.Admission{}, err
			}
			continue
		}
		err = f.load(ctx, s, a.Missing)
		if errors.Is(err, errMoved) {
			s, err = f.ids.reload(ctx, s)
		}
		if err != nil {
			return s, meter.Admission{}, err
		}
	}
	return s, meter.Admission{}, errStillMissing
}

// load brings what is missing into the meter, once for all calls that wait for the same.
func (f *Fences) load(ctx context.Context, s *meter.Subject, missing meter.Missing) error {
	name := s.Account.String() + s.Key.String() + strconv.Itoa(int(missing))
	result := f.flight.DoChan(name, func() (any, error) {
		// Not ended with the first caller: others wait for it too.
		loadCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
		defer cancel()
		return nil, f.loadMissing(loadCtx, s, missing)
	})
	select {
	case r := <-result:
		return r.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

const loadTimeout = 5 * time.Second

func (f *Fences) loadMissing(ctx context.Context, s *meter.Subject, missing meter.Missing) error {
	if missing&meter.MissingAccount != 0 {
		if err := f.loadAccount(ctx, s.Account); err != nil {
			return err
		}
	}
	if missing&meter.MissingKey != 0 {
		k, err := f.store.LoadKey(ctx, s.Key)
		if err != nil {
			return err
		}
		if k.Account != s.Account {
			return errMoved // and the meter lost what would have said so
		}
		if err := f.meter.PushKey(ctx, keyFences(k)); err != nil {
			return err
		}
	}
	if missing&(meter.MissingDay|meter.MissingPeriod) != 0 {
		return f.seed(ctx, s, missing)
	}
	return nil
}

func (f *Fences) loadAccount(ctx context.Context, id account.ID) error {
	a, err := f.store.LoadAccount(ctx, id)
	if err != nil {
		return err
	}
	return f.pushAccount(ctx, a)
}

// PushAccount puts an account's fences in force as they are recorded. Call it after every change and before the change is answered;
// when it fails, the change is saved but not in force, which is fault.NotYetInForce.
func (f *Fences) PushAccount(ctx context.Context, a store.Account) error {
	if err := f.pushAccount(ctx, a); err != nil {
		return fault.New(fault.NotYetInForce, "").Wrap(err)
	}
	return nil
}

func (f *Fences) pushAccount(ctx context.Context, a store.Account) error {
	p, ok := plan.Lookup(a.Plan)
	if !ok {
		return fmt.Errorf("account %s: unknown plan %q", a.ID, a.Plan)
	}
	at, err := f.meter.Now(ctx)
	if err != nil {
		return fmt.Errorf("read the meter's time: %w", err)
	}
	return f.meter.PushAccount(ctx, account.PlanFences(a.ID, a.Version, a.Status, p, at))
}

// PushKey puts a key's fences in force as they are recorded. Call it after every change and before the change is answered; when it
// fails, the change is saved but not in force, which is fault.NotYetInForce.
func (f *Fences) PushKey(ctx context.Context, k store.Key) error {
	if err := f.meter.PushKey(ctx, keyFences(k)); err != nil {
		return fault.New(fault.NotYetInForce, "").Wrap(err)
	}
	return nil
}

func keyFences(k store.Key) account.KeyFences {
	return account.KeyFences{Key: k.ID, Account: k.Account, Version: k.Version, Status: k.Status, Door: k.Door, Daily: k.Daily}
}

// seed gives lost counters the value they had: what PostgreSQL knows, plus what was not flushed. A flush in between makes both
// wrong together, so it is tried again.
func (f *Fences) seed(ctx context.Context, s *meter.Subject, missing meter.Missing) error {
	for range maxLoads {
		done, err := f.trySeed(ctx, s, missing)
		if err != nil || done {
			return err
		}
	}
	return fmt.Errorf("seed the counters of account %s: a flush came in between %d times", s.Account, maxLoads)
}

func (f *Fences) trySeed(ctx context.Context, s *meter.Subject, missing meter.Missing) (done bool, err error) {
	now, err := f.meter.Now(ctx)
	if err != nil {
		return false, fmt.Errorf("read the meter's time: %w", err)
	}
	period, keep, err := f.period(ctx, s.Account, now)
	if err != nil {
		return false, err
	}
	epoch, err := f.meter.Epoch(ctx, s.Account)
	if err != nil {
		return false, err
	}
	figures, err := f.store.Seed(ctx, s.Account, s.Key, period, now)
	if err != nil {
		return false, err
	}
	held := make([]string, len(figures.Flushed))
	for i, b := range figures.Flushed {
		held[i] = meter.BucketName(b.Slot, s.Account, b.Generation)
	}
	done = true
	if missing&meter.MissingDay != 0 {
		ok, err := f.meter.SeedDay(ctx, s.Account, s.Key, now, epoch, meter.Figure{Units: sum(figures.Day), Buckets: held})
		if err != nil {
			return false, err
		}
		done = done && ok
	}
	if missing&meter.MissingPeriod != 0 {
		ok, err := f.meter.SeedPeriod(ctx, s.Account, period, keep, epoch, meter.Figure{Units: sum(figures.Period), Buckets: held})
		if err != nil {
			return false, err
		}
		done = done && ok
	}
	return done, nil
}

const keepAfterPeriod = 40 * 24 * time.Hour

// period is the one that the account's fences put now into, and how long its counter is to be kept.
func (f *Fences) period(ctx context.Context, id account.ID, now time.Time) (start string, keep time.Duration, err error) {
	a, err := f.store.LoadAccount(ctx, id)
	if err != nil {
		return "", 0, err
	}
	p, ok := plan.Lookup(a.Plan)
	if !ok {
		return "", 0, fmt.Errorf("account %s: unknown plan %q", id, a.Plan)
	}
	current := account.PlanFences(id, a.Version, a.Status, p, now).Current
	return current.Start.Format(time.DateOnly), current.End.Sub(now) + keepAfterPeriod, nil
}

func sum(bySource map[string]store.Figures) plan.Units {
	var total plan.Units
	for _, f := range bySource {
		total += f.Units
	}
	return total
}
