// Package audit owns the proof that the books balance: for accounts and periods of usage it holds
// the two books of PostgreSQL against themselves, against each other, against the packs that were
// granted, and against the meter's counters, while calls go on. It reads and compares; it repairs
// nothing.
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
)

// Options of an audit. Zero values take the defaults named here.
type Options struct {
	Account account.ID // only this one; zero for all
	Period  string     // only periods that began on this date, 2026-11-01; empty for all
	// Patience is how long the audit waits, in all, for charges whose refund was recorded before
	// them. 30 s.
	Patience time.Duration
	Parallel int // accounts that are looked at together; 4

	Unrecorded func(UnrecordedCharges) // called for each key and hour with charges without a record of the call

	Progress      func(Summary) // called now and then, while the audit goes on
	ProgressEvery time.Duration // ten seconds
}

// Summary is how much was looked at.
type Summary struct {
	Accounts int `json:"accounts"`
	Periods  int `json:"periods"`  // of usage
	Packs    int `json:"packs"`    // granted, expired ones too
	Counters int `json:"counters"` // that the meter keeps for fences
	// Unrecorded are charges of the last day without a record of the call; a process that is killed
	// loses its last records.
	Unrecorded int `json:"unrecorded_charges"`
	// that still wait to be given back, or for somebody to know whether they were charged
	LostCalls   int `json:"lost_calls"`
	Differences int `json:"differences"` // one at most for each account and period
}

// Errors of an audit that was asked for something there is not.
var (
	ErrNoAccount = errors.New("there is no such account")
	ErrNoPeriod  = errors.New("no usage was recorded in such a period; a period is named by its start date")
)

// Run audits and tells each difference as it finds it, the first of each account and period. It is
// right while calls are admitted, refunded and flushed. An error says that not everything could be
// read, so that nothing is proven.
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
	// patient ends when the audit's patience does; nil while it was not needed. impatient ends it.
	patient   context.Context //nolint:containedctx // of one Run
	impatient context.CancelFunc
}

// report tells the progress until the function that it returns is called.
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

// all hands the accounts to look at to some goroutines.
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
		return failed // what made the walk end, if both failed
	}
	return err
}

// one audits an account with the periods of which there is usage.
func (a *auditor) one(ctx context.Context, id account.ID, periods []string) error {
	held, err := a.record.LoadAccount(ctx, id)
	unknown := errors.Is(err, store.ErrNotFound)
	if err != nil && !unknown {
		return err
	}
	if unknown && len(periods) == 0 {
		return nil // counted as no account
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
	if held.Kind == store.KindSettlement {
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

// provePeriods audits each period with usage, and all calls beside all usage, whose difference
// stands in the latest period. It returns the periods that differ.
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
		d, err := a.provePeriod(ctx, store.UsagePeriod{Account: id, Period: period}, packs)
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
