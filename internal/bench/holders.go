package main

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
)

// holder is a key of one of the kinds, with its account. Its limits are those of the account's
// terms, except that its rate window never fills: a few accounts make the calls of the many that a
// load would need.
type holder struct {
	kind    *kind
	account account.ID
	key     account.KeyID
	packs   []account.Pack
}

// kind determines which limits a holder has.
type kind struct {
	name   string
	plan   string
	capped bool // the key has a monthly cap, the plan is used up and every call is drawn from a pack
}

var (
	noQuota = &kind{name: "no_quota", plan: plan.Enterprise}
	quota   = &kind{name: "quota", plan: plan.Growth}
	doorKey = &kind{name: "door_key", plan: plan.Door1}
	packKey = &kind{name: "capped_key_with_pack", plan: plan.Pro, capped: true}

	kinds = []*kind{noQuota, quota, doorKey, packKey}
)

const (
	wideWindow  = 1 << 40
	bulkCallers = 1024 // goroutines that seed: enough to fill several pipelines
)

// newHolder returns a holder of a kind. Its packs, if its kind uses them, last for the run.
func newHolder(k *kind, now time.Time) holder {
	h := holder{kind: k, account: account.NewID(), key: account.NewKeyID()}
	if k.capped {
		h.packs = []account.Pack{
			{ID: account.NewPackID(), Units: 32_000_000 * plan.Unit, Expires: now.AddDate(1, 0, 0)},
		}
	}
	return h
}

func (h *holder) subject() *meter.Subject {
	held := plan.Must(h.kind.plan)
	return meter.NewSubject(account.Identity{
		Key: h.key, Account: h.account, Door: h.door(), Plan: h.kind.plan, Supply: held.Supply,
	}, account.Digest{})
}

func (h *holder) door() account.Door {
	if h.kind == doorKey {
		return account.DoorPublic
	}
	return account.DoorAccount
}

func (h *holder) accountLimits(now time.Time) account.AccountLimits {
	f := account.Terms{Plan: plan.Must(h.kind.plan)}.Limits(h.account, 1, account.Active, account.ServiceLimits{},
		h.packs, now)
	f.Rate.Limit = wideWindow
	return f
}

func (h *holder) keyLimits() account.KeyLimits {
	f := account.KeyLimits{
		Key: h.key, Account: h.account, Version: 1, Status: account.Active, Door: h.door(),
		Daily: plan.Must(h.kind.plan).DailyQuota(),
	}
	if h.kind.capped {
		f.MonthlyCap = account.MaxCap
	}
	return f
}

// pushAccount loads the account's limits as package limits does when the meter lacks them.
func (h *holder) pushAccount(ctx context.Context, l *ledger) error {
	load, err := l.bulk.BeginLoadAccount(ctx, h.account)
	if err != nil {
		return err
	}
	return pushed(l.bulk.PushLoadedAccount(ctx, h.accountLimits(l.begun), load))
}

// pushKey loads the key's limits in the same way.
func (h *holder) pushKey(ctx context.Context, l *ledger) error {
	load, err := l.bulk.BeginLoadKey(ctx, h.account, h.key)
	if err != nil {
		return err
	}
	f := h.accountLimits(l.begun)
	return pushed(l.bulk.PushLoadedKey(ctx, h.keyLimits(), load, f.Current.Key(), f.Next.Key()))
}

func pushed(done bool, err error) error {
	if err == nil && !done {
		err = errors.New("a load of fences was ended by nobody's change")
	}
	return err
}

// counters returns the counters that the holder's limits need, with their initial values.
func (h *holder) counters(now time.Time) []meter.Figure {
	f := h.accountLimits(now)
	period, keep := f.Current, f.Current.End.Sub(now)+40*24*time.Hour
	var all []meter.Figure
	if period.Quota >= 0 {
		c := meter.Figure{Counter: account.Counter{Period: period.Key(), Source: account.SourcePlan}, Keep: keep}
		if h.kind.capped {
			c.Units = period.Quota
		}
		all = append(all, c)
	}
	if h.kind.capped {
		all = append(all, meter.Figure{Counter: account.Counter{Period: period.Key(), Key: h.key}, Keep: keep})
	}
	if h.keyLimits().Daily >= 0 {
		all = append(all, meter.Figure{Counter: account.Counter{Day: now, Key: h.key}, Keep: 48 * time.Hour})
	}
	for _, p := range h.packs {
		all = append(all, meter.Figure{Counter: account.Counter{Source: p.ID.Source()}, Keep: 400 * 24 * time.Hour})
	}
	return all
}

// seed sets the holder's counters, as package limits does when the meter lacks them.
func (h *holder) seed(ctx context.Context, l *ledger) error {
	figures := h.counters(l.begun)
	if len(figures) == 0 {
		return nil
	}
	token, err := l.bulk.FlushToken(ctx, h.account)
	if err != nil {
		return err
	}
	done, err := l.bulk.Seed(ctx, h.account, h.key, figures, meter.Snapshot{FlushToken: token})
	if err == nil && !done {
		err = fmt.Errorf("the counters of account %s were not taken", h.account)
	}
	return err
}

// load loads into the meter everything that admissions of the holders read.
func (l *ledger) load(ctx context.Context, what string, holders []holder) error {
	return l.each(ctx, what, len(holders), func(ctx context.Context, i int) error {
		h := &holders[i]
		if err := h.pushAccount(ctx, l); err != nil {
			return err
		}
		if err := h.pushKey(ctx, l); err != nil {
			return err
		}
		return h.seed(ctx, l)
	})
}

// each does n things concurrently and reports its progress every few seconds.
func (l *ledger) each(ctx context.Context, what string, n int, do func(ctx context.Context, i int) error) error {
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range min(bulkCallers, n) {
		group.Go(func() error {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if err := do(ctx, int(i)); err != nil {
					return fmt.Errorf("%s: %w", what, err)
				}
			}
			return nil
		})
	}
	told := make(chan struct{})
	var telling errgroup.Group
	telling.Go(func() error {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-told:
				return nil
			case <-tick.C:
				l.rig.sayf("%s: %s of %s", what, thousands(float64(min(next.Load(), int64(n)))), thousands(float64(n)))
			}
		}
	})
	err := group.Wait()
	close(told)
	_ = telling.Wait() // it returns no error
	return err
}

const progressEvery = 5 * time.Second
