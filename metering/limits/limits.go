// Package limits connects PostgreSQL, the record, with the meter in Redis. It identifies keys,
// loads an account's and a key's projection into Redis when it is missing there, seeds lost
// counters, and pushes changes before they are answered. It decides nothing itself: the rules are
// in package account, the verdicts in package meter.
package limits

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/maildb"
	"github.com/chainaccess/gateway/store/paymentdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// Record is what Limits needs of PostgreSQL. Its methods are documented in package store.
type Record interface {
	Epoch() int64
	ReadDeployment(ctx context.Context) (store.Deployment, error)
	FindIdentity(ctx context.Context, digest []byte) (account.Identity, error)
	LoadAccount(ctx context.Context, id account.ID) (accountdb.Account, error)
	LoadKey(ctx context.Context, id account.KeyID) (accountdb.Key, error)
	SumCounters(ctx context.Context, id account.ID,
		counters []account.Counter) ([]plan.Units, []usagedb.FlushEntry, error)
	CreateDoorKey(ctx context.Context, a accountdb.NewAccount,
		k accountdb.NewKey) (accountdb.Account, accountdb.Key, error)
	AddKey(ctx context.Context, k *accountdb.NewKey, by accountdb.Author,
		check func(owner accountdb.Account, active int64) error) (accountdb.Key, error)
	ChangeAccount(ctx context.Context, id account.ID, action string, by accountdb.Author,
		change func(*accountdb.Account) error) (accountdb.Account, error)
	ChangeKey(ctx context.Context, id account.KeyID, action string, by accountdb.Author,
		change func(*accountdb.Key, accountdb.Account) error) (accountdb.Key, accountdb.Account, error)
	GrantPack(ctx context.Context, p accountdb.Pack,
		by accountdb.Author) (accountdb.Pack, accountdb.Account, bool, error)
	VoidPack(ctx context.Context, origin, reason string, at time.Time,
		by accountdb.Author) (accountdb.Pack, accountdb.Account, bool, error)
	BindKey(ctx context.Context, b accountdb.Binding, by accountdb.Author) (accountdb.Bound, error)
	AdoptKey(ctx context.Context, id account.KeyID, to account.ID, user account.UserID, by accountdb.Author,
		mails ...maildb.NewMail) (accountdb.Adopted, error)
	ClaimAgent(ctx context.Context, c accountdb.Claim, by accountdb.Author,
		within func(accountdb.Account) (plan.Units, error)) (accountdb.Claimed, error)
	GrantSettlement(ctx context.Context, g paymentdb.Grant) (paymentdb.Settlement, error)
	RotateCredential(ctx context.Context, r *paymentdb.Rotation) (paymentdb.Settlement, account.KeyID, error)
	ConcludeSettlement(ctx context.Context, id x402.ID, f x402.Finality, seen *x402.Finding, words string, at time.Time,
		by accountdb.Author) (paymentdb.Settlement, error)
	ListPushesOfKey(ctx context.Context, id account.KeyID) ([]accountdb.Push, error)
	ListPushes(ctx context.Context, dueFor time.Duration, limit int) ([]accountdb.Push, error)
	DonePush(ctx context.Context, id account.ID, key account.KeyID, version int64) error
	DelayPush(ctx context.Context, p accountdb.Push) error
	ForgetPushes(ctx context.Context) error
	AddLostCalls(ctx context.Context, calls []account.LostCall) (dropped []account.LostCall, err error)
	ListLostCalls(ctx context.Context, after *account.LostCall, limit int) ([]account.LostCall, error)
	DeleteLostCall(ctx context.Context, nonce string) (bool, error)
}

var _ Record = (*store.Store)(nil)

// Limits loads limits into the meter and puts changes of them in force. It is safe for concurrent
// use.
type Limits struct {
	store  Record
	meter  *meter.Meter
	now    func() time.Time
	ids    *identities
	flight singleflight.Group
	lost   losses
}

// New returns Limits over a record and a meter, which it does not own. hasher computes the digests
// of keys.
func New(s Record, m *meter.Meter, hasher *account.Hasher, now func() time.Time) *Limits {
	return &Limits{store: s, meter: m, now: now, ids: newIdentities(s, hasher, now), lost: losses{record: s}}
}

// maxLoads bounds how often one call may find something missing, and how often one load may find
// that its data changed meanwhile. Each load brings one kind of thing, and the end of a day or
// period in between may need one more.
const maxLoads = 6

var (
	errStillMissing = errors.New("projections are still missing after loading them")
	errMoved        = errors.New("the key belongs to another account")
	errChanging     = errors.New("fences change faster than they are loaded")
)

// AdmitOrLoad admits a call: it loads what the meter lacks and follows a key that moved to another
// account. It returns the subject that was admitted. With an error the call must not be relayed; if
// it was charged all the same, RunReclaims refunds it.
func (f *Limits) AdmitOrLoad(ctx context.Context, s *meter.Subject,
	c *meter.Call,
) (*meter.Subject, meter.Admission, error) {
	for range maxLoads {
		a, err := f.meter.Admit(ctx, s, c)
		if lost, ok := errors.AsType[*meter.LostError](err); ok {
			f.lost.add(ctx, lost.Call)
		}
		if err != nil || (len(a.Missing) == 0 && !a.Moved) {
			return s, a, err
		}
		if a.Moved {
			if s, err = f.ids.reload(ctx, s); err != nil {
				return s, meter.Admission{}, err
			}
			continue
		}
		err = f.load(ctx, s, c.Service, &a)
		if errors.Is(err, errMoved) {
			s, err = f.ids.reload(ctx, s)
		}
		if err != nil {
			return s, meter.Admission{}, err
		}
	}
	return s, meter.Admission{}, errStillMissing
}

// load loads what is missing into the meter, once for all calls that wait for the same.
func (f *Limits) load(ctx context.Context, s *meter.Subject, service string, a *meter.Admission) error {
	name := s.Account.String() + s.Key.String() + service + a.Period + strings.Join(a.Missing, ",")
	result := f.flight.DoChan(name, func() (any, error) {
		// Not cancelled with the first caller: others wait for it too.
		loadCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
		defer cancel()
		return nil, f.loadMissing(loadCtx, s, service, a)
	})
	select {
	case r := <-result:
		return r.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

const loadTimeout = 5 * time.Second

func (f *Limits) loadMissing(ctx context.Context, s *meter.Subject, service string, a *meter.Admission) error {
	var counters []account.Counter
	for _, what := range a.Missing {
		var err error
		switch what {
		case meter.MissingAccount:
			err = f.loadAccount(ctx, s.Account)
		case meter.MissingKey:
			err = f.loadKey(ctx, s)
		default:
			c, ok := a.CounterOf(what, s.Key, service)
			if !ok {
				return fmt.Errorf("the meter lacks %q, which this version does not know", what)
			}
			counters = append(counters, c)
		}
		if err != nil {
			return err
		}
	}
	if len(counters) > 0 {
		return f.seed(ctx, s, a, counters)
	}
	return nil
}

// loadAccount puts an account's limits in force as PostgreSQL has them. It reads them again when a
// change came in between.
func (f *Limits) loadAccount(ctx context.Context, id account.ID) error {
	for range maxLoads {
		load, err := f.meter.BeginLoadAccount(ctx, id)
		if err != nil {
			return err
		}
		epoch := f.store.Epoch()
		a, err := f.store.LoadAccount(ctx, id)
		if err != nil {
			return err
		}
		projection, err := f.project(ctx, epoch, &a)
		if err != nil {
			return err
		}
		if done, err := f.meter.PushLoadedAccount(ctx, projection, load); err != nil || done {
			return err
		}
	}
	return errChanging
}

func (f *Limits) loadKey(ctx context.Context, s *meter.Subject) error {
	for range maxLoads {
		load, err := f.meter.BeginLoadKey(ctx, s.Account, s.Key)
		if err != nil {
			return err
		}
		epoch := f.store.Epoch()
		k, err := f.store.LoadKey(ctx, s.Key)
		if err != nil {
			return err
		}
		if k.Account != s.Account {
			return errMoved // and the meter lost the mark that says so
		}
		a, err := f.store.LoadAccount(ctx, k.Account)
		if err != nil {
			return err
		}
		projection, err := f.project(ctx, epoch, &a)
		if err != nil {
			return err
		}
		done, err := f.meter.PushLoadedKey(ctx, keyOf(epoch, &k), load, projection.Current.Key(), projection.Next.Key())
		if err != nil || done {
			return err
		}
	}
	return errChanging
}

// project returns the account's projection at the meter's time. epoch is the record's, read before
// the account.
func (f *Limits) project(ctx context.Context, epoch int64, a *accountdb.Account) (account.AccountLimits, error) {
	at, err := f.meter.NowOf(ctx, a.ID)
	if err != nil {
		return account.AccountLimits{}, fmt.Errorf("read the meter's time: %w", err)
	}
	projection, err := a.Limits(at)
	projection.Epoch = epoch
	return projection, err
}

// keyOf returns the key's projection.
func keyOf(epoch int64, k *accountdb.Key) account.KeyLimits {
	projection := k.Limits()
	projection.Epoch = epoch
	return projection
}

// maxSeeds bounds how often counters are seeded before the call is admitted again, which may lack
// more by then.
const maxSeeds = 3

// seed sets lost counters to PostgreSQL's sum plus what is not flushed. It retries when a flush or
// a change came in between, because the two sums then do not belong together.
func (f *Limits) seed(ctx context.Context, s *meter.Subject, missing *meter.Admission,
	counters []account.Counter,
) error {
	for range maxSeeds {
		done, err := f.trySeed(ctx, s, missing, counters)
		if err != nil || done {
			return err
		}
	}
	return nil
}

func (f *Limits) trySeed(ctx context.Context, s *meter.Subject, missing *meter.Admission,
	counters []account.Counter,
) (bool, error) {
	epoch := f.store.Epoch()
	a, err := f.store.LoadAccount(ctx, s.Account)
	if err != nil {
		return false, err
	}
	k, err := f.store.LoadKey(ctx, s.Key)
	if err != nil {
		return false, err
	}
	if k.Account != s.Account {
		return false, errMoved // the account that it left no longer counts it
	}
	terms, err := a.Terms()
	if err != nil {
		return false, err
	}
	terms = terms.At(missing.At)
	// A limit that was lifted since is not counted any more: its counter would stay unchanged, and
	// be wrong when the limit comes back.
	asked := append(askedByAccount(&a, terms, missing.Period), askedByKey(&k, missing.Period, missing.At)...)
	counters = slices.DeleteFunc(slices.Clone(counters), func(c account.Counter) bool {
		return !slices.ContainsFunc(asked, func(s CounterState) bool { return s.Counter == c })
	})
	if len(counters) == 0 {
		return true, f.catchUp(ctx, epoch, &a, &k)
	}
	figures, snapshot, err := f.figures(ctx, s.Account, counters, terms.Period(missing.At).End.Sub(missing.At))
	if err != nil {
		return false, err
	}
	snapshot.AccountVersion, snapshot.KeyVersion = a.Version, k.Version
	done, err := f.meter.Seed(ctx, s.Account, s.Key, figures, snapshot)
	if err != nil || done {
		return done, err
	}
	// The projection in force may be older than the record, by a change that is not pushed yet:
	// push it, or every seed fails until then.
	return false, f.catchUp(ctx, epoch, &a, &k)
}

// catchUp puts the recorded limits of an account and a key in force.
func (f *Limits) catchUp(ctx context.Context, epoch int64, a *accountdb.Account, k *accountdb.Key) error {
	projection, err := f.project(ctx, epoch, a)
	if err != nil {
		return err
	}
	if err := f.meter.PushAccount(ctx, projection); err != nil {
		return err
	}
	return f.meter.PushKey(ctx, keyOf(epoch, k), projection.Current.Key(), projection.Next.Key())
}

// How long counters are kept: past their period or day for late refunds and audits, and packs for
// as long as they may be drawn.
const (
	keepAfterPeriod = 40 * 24 * time.Hour
	keepDay         = 48 * time.Hour
	keepPacks       = 400 * 24 * time.Hour
)

// figures reads counters' sums from PostgreSQL. left is how long the current period still runs.
func (f *Limits) figures(ctx context.Context, id account.ID, counters []account.Counter, left time.Duration,
) ([]meter.Figure, meter.Snapshot, error) {
	token, err := f.meter.FlushToken(ctx, id)
	if err != nil {
		return nil, meter.Snapshot{}, err
	}
	sums, flushed, err := f.store.SumCounters(ctx, id, counters)
	if err != nil {
		return nil, meter.Snapshot{}, err
	}
	snapshot := meter.Snapshot{FlushToken: token}
	for _, b := range flushed {
		snapshot.Flushed = append(snapshot.Flushed, meter.BucketName(b.Slot, id, b.Generation))
	}
	figures := make([]meter.Figure, len(counters))
	for i, c := range counters {
		keep := left + keepAfterPeriod
		if !c.Day.IsZero() {
			keep = keepDay
		} else if _, ok := account.PackOf(c.Source); ok {
			keep = keepPacks
		}
		figures[i] = meter.Figure{Counter: c, Units: sums[i], Keep: keep}
	}
	return figures, snapshot, nil
}
