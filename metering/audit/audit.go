// Package audit proves that the books balance. For accounts and periods of usage it checks
// PostgreSQL's two books for consistency and compares them with each other, with the granted packs
// and with the meter's counters, while calls continue. It only reads and repairs nothing.
package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

// Options of an audit. Zero values take the defaults named here.
type Options struct {
	Account account.ID // audit only this account; zero for all
	Period  string     // audit only periods that began on this date, 2026-11-01; empty for all
	// Patience is how long the audit waits in total for charges whose refund was recorded before
	// them; 30 s.
	Patience time.Duration
	Parallel int // accounts audited concurrently; 4

	Unrecorded func(UnrecordedCharges) // called for each key and hour with charges that have no call record

	Progress      func(Summary) // called every ProgressEvery while the audit runs
	ProgressEvery time.Duration // ten seconds
}

// Summary counts what was audited.
type Summary struct {
	Accounts int `json:"accounts"`
	Periods  int `json:"periods"`  // of usage
	Packs    int `json:"packs"`    // granted, expired ones included
	Counters int `json:"counters"` // kept by the meter for limits
	// Unrecorded are charges of the last day that have no call record; a killed process loses its
	// last records.
	Unrecorded int `json:"unrecorded_charges"`
	// calls whose lost charge is not refunded or decided yet
	LostCalls   int `json:"lost_calls"`
	Differences int `json:"differences"` // at most one for each account and period
}

// Errors when what was asked for does not exist.
var (
	ErrNoAccount = errors.New("there is no such account")
	ErrNoPeriod  = errors.New("no usage was recorded in such a period; a period is named by its start date")
)

// Run audits and passes each difference to tell as it finds it, at most the first of each account
// and period. Its result is correct while calls are admitted, refunded and flushed. With an error,
// not everything could be read, so nothing is proven.
func Run(ctx context.Context, record *store.Store, f *limits.Limits, o Options,
	tell func(Difference),
) (Summary, error) {
	if o.Patience <= 0 {
		o.Patience = 30 * time.Second
	}
	if o.Parallel <= 0 {
		o.Parallel = 4
	}
	if o.ProgressEvery <= 0 {
		o.ProgressEvery = 10 * time.Second
	}
	a := &auditor{record: record, limits: f, o: o, tell: tell}
	stopped := a.report(ctx)
	err := a.all(ctx)
	stopped()
	if err == nil {
		var lost int64
		lost, err = record.CountLostCalls(ctx)
		a.add(Summary{LostCalls: int(lost)})
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.impatient != nil {
		a.impatient()
	}
	switch {
	case err != nil:
		return a.done, err
	case !o.Account.IsZero() && a.done.Accounts == 0:
		return a.done, fmt.Errorf("account %s: %w", o.Account, ErrNoAccount)
	case o.Period != "" && a.done.Periods == 0:
		return a.done, fmt.Errorf("period %s: %w", o.Period, ErrNoPeriod)
	}
	return a.done, nil
}

type auditor struct {
	record *store.Store
	limits *limits.Limits
	o      Options

	mu   sync.Mutex // guards what follows, and calls of tell
	tell func(Difference)
	done Summary
	// patient ends with the audit's patience; nil until it is needed. impatient cancels it.
	patient   context.Context //nolint:containedctx // of one Run
	impatient context.CancelFunc
}

// report calls Options.Progress until the returned function is called.
func (a *auditor) report(ctx context.Context) func() {
	ctx, stop := context.WithCancel(ctx)
	var reporter sync.WaitGroup
	if a.o.Progress != nil {
		reporter.Go(func() {
			tick := time.NewTicker(a.o.ProgressEvery)
			defer tick.Stop()
			for {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
					a.mu.Lock()
					done := a.done
					a.mu.Unlock()
					a.o.Progress(done)
				}
			}
		})
	}
	return func() {
		stop()
		reporter.Wait()
	}
}

// all audits the accounts concurrently.
func (a *auditor) all(ctx context.Context) error {
	if !a.o.Account.IsZero() {
		periods, err := a.periodsOf(ctx, a.o.Account)
		if err != nil {
			return err
		}
		return a.one(ctx, a.o.Account, periods)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(a.o.Parallel)
	err := a.walk(ctx, func(id account.ID, periods []string) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		group.Go(func() error { return a.one(ctx, id, periods) })
		return nil
	})
	if failed := group.Wait(); failed != nil {
		return failed // the cause of the walk's error, if both failed
	}
	return err
}

// one audits an account and its periods with usage.
func (a *auditor) one(ctx context.Context, id account.ID, periods []string) error {
	held, err := a.record.LoadAccount(ctx, id)
	unknown := errors.Is(err, store.ErrNotFound)
	if err != nil && !unknown {
		return err
	}
	if unknown && len(periods) == 0 {
		return nil // not counted
	}
	packs := make(map[account.PackID]bool, len(held.Packs))
	for _, p := range held.Packs {
		packs[p.ID] = true
	}
	seen := Summary{Accounts: 1, Periods: len(periods), Packs: len(held.Packs)}
	differing, err := a.provePeriods(ctx, id, periods, packs, unknown, &seen)
	if err != nil {
		return err
	}
	if held.Kind == accountdb.KindSettlement {
		d, err := a.proveSettled(ctx, &held)
		if err != nil {
			return err
		}
		if d != nil {
			d.Account = id
			seen.Differences++
			a.found(*d)
		}
	}
	if !unknown {
		if err := a.proveCounters(ctx, &held, differing, &seen); err != nil {
			return err
		}
	}
	a.add(seen)
	return nil
}

// provePeriods audits each period with usage. It also compares all calls with all usage, and
// reports that difference in the latest period. It returns the periods that differ.
func (a *auditor) provePeriods(
	ctx context.Context, id account.ID, periods []string, packs map[account.PackID]bool, unknown bool, seen *Summary,
) (differing map[string]bool, err error) {
	differing = map[string]bool{}
	tell := func(d *Difference, period string) {
		d.Account, d.Period = id, period
		seen.Differences++
		differing[period] = true
		a.found(*d)
	}
	for _, period := range periods {
		d, err := a.provePeriod(ctx, usagedb.UsagePeriod{Account: id, Period: period}, packs)
		if err != nil {
			return nil, err
		}
		if d == nil && unknown {
			d = &Difference{
				Identity: Accounts, What: "usage of an account that is not recorded",
				Left: Side{"periods with usage", Count(1)}, Right: Side{"periods it can have", Count(0)},
			}
		}
		if d != nil {
			tell(d, period)
		}
	}
	if len(periods) == 0 || a.o.Period != "" {
		return differing, nil
	}
	d, err := a.proveCalls(ctx, id, seen)
	if err != nil {
		return nil, err
	}
	if latest := slices.Max(periods); d != nil && !differing[latest] {
		tell(d, latest)
	}
	return differing, nil
}

func (a *auditor) found(d Difference) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tell(d)
}

func (a *auditor) add(s Summary) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.done.Accounts += s.Accounts
	a.done.Periods += s.Periods
	a.done.Packs += s.Packs
	a.done.Counters += s.Counters
	a.done.Unrecorded += s.Unrecorded
	a.done.LostCalls += s.LostCalls
	a.done.Differences += s.Differences
}
