package limits

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/accountdb"
)

// CounterState is a counter of a limit, with its value in the meter and the sum of its usage lines.
type CounterState struct {
	account.Counter
	// Limit is what the limit allows: a quota, a soft ceiling, a cap, a daily allowance or a pack's
	// units.
	Limit plan.Units
	meter.CounterState
}

// CounterStates are the counters that the recorded limits of an account and its keys ask for at an
// instant of the meter's clock: of the plan, of service and key caps, of the day, and of every
// pack, expired ones included.
type CounterStates struct {
	At       time.Time
	Period   account.Period
	Counters []CounterState
}

// maxCompared is how many counters are compared at once.
const maxCompared = 200

// CounterStates compares every counter that an account's limits ask for with the sum of its usage
// lines, flushed and unflushed. Calls may continue meanwhile: it reads again when a flush came in
// between. Counters that the meter does not keep are left out, except packs, unless all is set. It
// changes nothing.
func (f *Limits) CounterStates(ctx context.Context, a *accountdb.Account, keys []accountdb.Key,
	all bool,
) (CounterStates, error) {
	terms, err := a.Terms()
	if err != nil {
		return CounterStates{}, err
	}
	at, err := f.meter.NowOf(ctx, a.ID)
	if err != nil {
		return CounterStates{}, fmt.Errorf("read the meter's time: %w", err)
	}
	terms = terms.At(at)
	s := CounterStates{At: at.UTC(), Period: terms.Period(at)}
	asked := askedByAccount(a, terms, s.Period.Key())
	for i := range keys {
		asked = append(asked, askedByKey(&keys[i], s.Period.Key(), at)...)
	}
	for len(asked) > 0 {
		some := asked[:min(len(asked), maxCompared)]
		asked = asked[len(some):]
		if some, err = f.stand(ctx, a.ID, some, s.Period.End.Sub(at), all); err != nil {
			return CounterStates{}, err
		}
		s.Counters = append(s.Counters, some...)
	}
	return s, nil
}

// askedByAccount returns the counters of the account's own limits.
func askedByAccount(a *accountdb.Account, terms account.Terms, period string) []CounterState {
	var asked []CounterState
	switch quota, ceiling := terms.Quota(), terms.Plan.SoftCeiling(); {
	case quota != account.Unlimited:
		asked = append(asked, CounterState{
			Counter: account.Counter{Period: period, Source: account.SourcePlan}, Limit: quota,
		})
	case terms.Custom == nil && ceiling != plan.Unlimited:
		asked = append(asked, CounterState{
			Counter: account.Counter{Period: period, Source: account.SourcePlan}, Limit: ceiling,
		})
	}
	for _, service := range account.Services() {
		if limit, capped := a.Services.Caps[service]; capped {
			asked = append(asked, CounterState{
				Counter: account.Counter{Period: period, Service: string(service)}, Limit: limit,
			})
		}
	}
	for _, p := range a.Packs {
		asked = append(asked, CounterState{Counter: account.Counter{Source: p.ID.Source()}, Limit: p.Units})
	}
	return asked
}

// askedByKey returns the counters of a key's limits.
func askedByKey(k *accountdb.Key, period string, at time.Time) []CounterState {
	var asked []CounterState
	if k.MonthlyCap > 0 {
		asked = append(asked, CounterState{Counter: account.Counter{Period: period, Key: k.ID}, Limit: k.MonthlyCap})
	}
	for _, service := range account.Services() {
		if limit, capped := k.Services.Caps[service]; capped {
			asked = append(asked, CounterState{
				Counter: account.Counter{Period: period, Key: k.ID, Service: string(service)}, Limit: limit,
			})
		}
	}
	if k.Daily >= 0 {
		asked = append(asked, CounterState{Counter: account.Counter{Day: at, Key: k.ID}, Limit: k.Daily})
	}
	return asked
}

// stand sets the states of up to maxCompared counters.
func (f *Limits) stand(ctx context.Context, id account.ID, asked []CounterState, left time.Duration,
	all bool,
) ([]CounterState, error) {
	if !all {
		var err error
		if asked, err = f.keptOf(ctx, id, asked); err != nil || len(asked) == 0 {
			return nil, err
		}
	}
	counters := make([]account.Counter, len(asked))
	for i := range asked {
		counters[i] = asked[i].Counter
	}
	standings, err := f.compare(ctx, id, counters, left)
	if err != nil {
		return nil, err
	}
	for i := range asked {
		asked[i].CounterState = standings[i]
	}
	return asked, nil
}

// keptOf removes counters that the meter does not keep, except packs: what was drawn of a pack is
// bounded whether its counter is kept or not.
func (f *Limits) keptOf(ctx context.Context, id account.ID, asked []CounterState) ([]CounterState, error) {
	counters := make([]account.Counter, len(asked))
	for i := range asked {
		counters[i] = asked[i].Counter
	}
	kept, err := f.meter.Kept(ctx, id, counters)
	if err != nil {
		return nil, err
	}
	var left []CounterState
	for i := range asked {
		if _, pack := account.PackOf(asked[i].Source); pack || kept[i] {
			left = append(left, asked[i])
		}
	}
	return left, nil
}

// How often counters are compared when a flush drops buckets in between, and how the backoff grows.
// Slots end every ten seconds for all accounts at once, so flushes leave time between them.
const (
	maxCompares    = 40
	compareAgain   = 25 * time.Millisecond
	longestCompare = time.Second
)

var errFlushing = errors.New(
	"usage is flushed faster than counters can be compared; try again, or look why PostgreSQL is slow")

func (f *Limits) compare(ctx context.Context, id account.ID, counters []account.Counter,
	left time.Duration,
) ([]meter.CounterState, error) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for n := range maxCompares {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-pause.C:
		}
		figures, snapshot, err := f.figures(ctx, id, counters, left)
		if err != nil {
			return nil, err
		}
		standings, done, err := f.meter.Compare(ctx, id, figures, snapshot)
		if err != nil || done {
			return standings, err
		}
		pause.Reset(min(time.Duration(n+1)*compareAgain, longestCompare))
	}
	return nil, fmt.Errorf("compare the counters of account %s: %w", id, errFlushing)
}
