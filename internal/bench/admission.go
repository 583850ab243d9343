package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/devstack"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
)

const (
	admissionsName   = "admissions"
	openLoopName     = "admissions_10000"
	perSecondKey     = "per_second"
	scriptKey        = "script_us"
	openLoopP50Key   = "p50_ms"
	openLoopP99Key   = "p99_ms"
	mixName          = "all_kinds"
	holdersPerKind   = 1024
	admissionCallers = 256 // goroutines; the requests that a busy process has in flight
	admissionRound   = time.Second
	openLoopRate     = 10_000 // admissions per second
)

var (
	admissionsBar = bar{atLeast, 40_000, 0}
	openLoopBar   = bar{below, 2, 0}
)

// admitted is a load of admissions with its results.
type admitted struct {
	name     string
	bar      bar
	subjects []*meter.Subject
	rounds   []admissionFigures
}

type admissionFigures struct {
	rate   float64 // admissions per second
	script float64 // microseconds of Redis per admission
}

// admissionCall is a metered read of the standard weight, which most calls are.
var admissionCall = &meter.Call{
	Mode: meter.Charge, Units: plan.Unit, Chain: "eth_mainnet", Service: string(account.RPC), Method: "eth_getBalance",
	Class: "standard", Tier: "balanced",
}

// measureAdmissions admits calls through the meter as the relay does: first as fast as one Redis
// can, then at a fixed rate.
func measureAdmissions(ctx context.Context, r *rig, o options, report *report) (err error) {
	l, err := r.ledger(ctx, devstack.Redis)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close(ctx)) }()
	loads, err := l.admissionLoads(ctx)
	if err != nil {
		return err
	}
	for round := range o.rounds + 1 { // the first warms up
		report.sayf("%s: round %d of %d", admissionsName, round, o.rounds)
		for i := range loads {
			f, err := l.admitAll(ctx, loads[i].subjects, admissionRound)
			if err != nil {
				return fmt.Errorf("%s: %w", loads[i].name, err)
			}
			if round > 0 {
				loads[i].rounds = append(loads[i].rounds, f)
			}
		}
	}
	for _, load := range loads {
		f := load.median()
		report.add(result{load.name, perSecondKey, f.rate, 0, load.bar})
		report.add(result{load.name, scriptKey, f.script, 1, bar{}})
	}
	return l.openLoop(ctx, o, loads[len(loads)-1].subjects, report)
}

// admissionLoads returns one load per kind of holder, and one that mixes all kinds.
func (l *ledger) admissionLoads(ctx context.Context) ([]admitted, error) {
	var loads []admitted
	mixed := make([]*meter.Subject, holdersPerKind*len(kinds))
	for n, k := range kinds {
		holders := make([]holder, holdersPerKind)
		load := admitted{name: admissionsName + "_" + k.name, bar: admissionsBar}
		if k.capped {
			load.bar = bar{} // internal/bench/README.md says why
		}
		for i := range holders {
			holders[i] = newHolder(k, l.begun)
			s := holders[i].subject()
			load.subjects = append(load.subjects, s)
			mixed[i*len(kinds)+n] = s
		}
		if err := l.load(ctx, "loading accounts", holders); err != nil {
			return nil, err
		}
		loads = append(loads, load)
	}
	return append(loads, admitted{name: admissionsName + "_" + mixName, subjects: mixed}), nil
}

func (a *admitted) median() admissionFigures {
	slices.SortFunc(a.rounds, func(a, b admissionFigures) int { return cmp.Compare(a.rate, b.rate) })
	return a.rounds[len(a.rounds)/2]
}

// admitAll admits calls for the given time in a closed loop: every caller sends its next call as
// soon as the last one was answered.
func (l *ledger) admitAll(ctx context.Context, subjects []*meter.Subject,
	lasts time.Duration,
) (admissionFigures, error) {
	if err := l.rdb.ConfigResetStat(ctx).Err(); err != nil {
		return admissionFigures{}, err
	}
	var count atomic.Int64
	begun := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	for caller := range admissionCallers {
		group.Go(func() error {
			for n := caller; time.Since(begun) < lasts; n += admissionCallers {
				if err := l.admit(ctx, subjects[n%len(subjects)]); err != nil {
					return err
				}
				count.Add(1)
			}
			return nil
		})
	}
	err := group.Wait()
	took := time.Since(begun)
	if err != nil {
		return admissionFigures{}, err
	}
	script, err := l.scriptTime(context.WithoutCancel(ctx), count.Load())
	return admissionFigures{float64(count.Load()) / took.Seconds(), script}, err
}

// admit admits one call. A refusal is an error, because it would measure something else.
func (l *ledger) admit(ctx context.Context, s *meter.Subject) error {
	a, err := l.meter.Admit(ctx, s, admissionCall)
	if err == nil && !a.Admitted {
		err = fmt.Errorf("a call of account %s was not admitted: refused %q, missing %q", s.Account, a.Refused,
			a.Missing)
	}
	return err
}

// scriptTime returns the mean time in microseconds of a script since Redis' statistics were reset.
// It fails unless exactly want scripts ran.
func (l *ledger) scriptTime(ctx context.Context, want int64) (float64, error) {
	stats, err := l.info(ctx, "commandstats")
	if err != nil {
		return 0, err
	}
	calls, micros, err := stats.scripts()
	if err == nil && int64(calls) != want {
		err = fmt.Errorf("redis ran %.0f scripts for %d admissions", calls, want)
	}
	return micros, err
}

// openLoop admits calls at a fixed rate, however long answers take. Each call's latency counts from
// the instant at which it was due, so that one slow answer shows in all calls that waited behind it
// (no coordinated omission).
func (l *ledger) openLoop(ctx context.Context, o options, subjects []*meter.Subject, report *report) error {
	report.sayf("%s: %s", openLoopName, o.duration)
	if err := l.rdb.ConfigResetStat(ctx).Err(); err != nil {
		return err
	}
	took, late, err := l.admitAtRate(ctx, subjects, openLoopRate, int(openLoopRate*o.duration.Seconds()))
	if err != nil {
		return fmt.Errorf("%s: %w", openLoopName, err)
	}
	script, err := l.scriptTime(ctx, int64(len(took)))
	if err != nil {
		return err
	}
	report.sayf("calls began %.2f ms late at p99, of which the load's own clock is the cause; slowest answer %.2f ms",
		percentile(late, 99), percentile(took, 100))
	report.add(result{openLoopName, openLoopP50Key, percentile(took, 50), 2, bar{}})
	report.add(result{openLoopName, openLoopP99Key, percentile(took, 99), 2, openLoopBar})
	report.add(result{openLoopName, scriptKey, script, 1, bar{}})
	return nil
}

// admitAtRate admits n calls. It returns how long each took since it was due, and how late each
// started.
func (l *ledger) admitAtRate(ctx context.Context, subjects []*meter.Subject,
	rate, n int,
) (took, late []time.Duration, err error) {
	took, late = make([]time.Duration, n), make([]time.Duration, n)
	due := make(chan int, n) // never full: the load does not wait for its callers
	begun := time.Now()
	at := func(i int) time.Duration { return time.Duration(i) * time.Second / time.Duration(rate) }
	group, ctx := errgroup.WithContext(ctx)
	for range admissionCallers {
		group.Go(func() error {
			for i := range due {
				late[i] = time.Since(begun) - at(i)
				if err := l.admit(ctx, subjects[i%len(subjects)]); err != nil {
					return err
				}
				took[i] = time.Since(begun) - at(i)
			}
			return nil
		})
	}
	group.Go(func() error {
		defer close(due)
		for i := range n {
			if wait := at(i) - time.Since(begun); wait > 0 {
				time.Sleep(wait)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			due <- i
		}
		return nil
	})
	err = group.Wait()
	return took, late, err
}
