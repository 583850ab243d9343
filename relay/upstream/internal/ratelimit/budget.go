package ratelimit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/internal/config"
)

// budget is what an upstream may cost in a month, in the provider's units. Requests are counted
// here, and added to Redis with each exchange.
type budget struct {
	config.Budget

	total  atomic.Int64 // units that this process spent
	spent  atomic.Int64 // by all processes in the period, as last heard; -1 before
	usedUp atomic.Bool
	found  atomic.Int64 // units of the period in PostgreSQL; -1 unless Redis has to know

	// of the Sharer's goroutine
	confirmed int64 // of total, that Redis has
}

func newBudget(of *config.Budget) *budget {
	if of == nil {
		return nil
	}
	b := &budget{Budget: *of}
	b.spent.Store(-1)
	b.found.Store(-1)
	return b
}

// PeriodOf returns the first day of the period of a budget that begins on a day of each month.
func PeriodOf(b config.Budget, now time.Time) time.Time {
	now = now.UTC()
	first := time.Date(now.Year(), now.Month(), b.Day, 0, 0, 0, 0, time.UTC)
	if now.Before(first) {
		return first.AddDate(0, -1, 0)
	}
	return first
}

// Account is what a process brings to an exchange about one budget.
type Account struct {
	Key       string
	Holder    string // whose total it is; unique among all processes
	Period    string // its first day, as 2026-11-01
	Units     int64  // of the budget
	Total     int64  // units that the process spent since its start
	Confirmed int64  // of those, that Redis is known to have
	Found     int64  // units of the period in PostgreSQL; -1 unless they are known
}

// Statement is what Redis knows of a budget.
type Statement struct {
	Spent   int64 // -1 if Redis does not know
	Warning int64 // percent of the budget that this process is to warn of; 0 for none
}

// Books makes accounts and returns a statement for each.
type Books func(ctx context.Context, accounts []Account) ([]Statement, error)

//go:embed spend_budget.lua
var spendSource string

var spendScript = redis.NewScript(spendSource)

var errStatement = errors.New("add to budgets: the reply cannot be read")

// RedisBooks keeps budgets in Redis. All keys have the same hash tag.
func RedisBooks(rdb redis.UniversalClient) Books {
	return func(ctx context.Context, accounts []Account) ([]Statement, error) {
		keys := make([]string, len(accounts))
		args := make([]any, 0, 6*len(accounts))
		for i, a := range accounts {
			keys[i] = a.Key
			args = append(args, a.Holder, a.Period, a.Units, a.Total, a.Confirmed, a.Found)
		}
		reply, err := spendScript.Run(ctx, rdb, keys, args...).Slice()
		if err != nil {
			return nil, fmt.Errorf("add to budgets: %w", err)
		}
		if len(reply) != 2*len(accounts) {
			return nil, errStatement
		}
		statements := make([]Statement, len(accounts))
		for i := range statements {
			spent, err := strconv.ParseInt(fmt.Sprint(reply[2*i]), 10, 64)
			warning, ok := reply[2*i+1].(int64)
			if err != nil || !ok {
				return nil, errStatement
			}
			statements[i] = Statement{spent, warning}
		}
		return statements, nil
	}
}

// spendBudgets adds what this process spent to Redis.
func (s *Sharer) spendBudgets(ctx context.Context, current []*Limits) {
	var accounts []Account
	var budgets []*Limits
	now := s.now()
	for _, l := range current {
		if b := l.budget; b != nil && l.lease.shared.Load() {
			budgets = append(budgets, l)
			accounts = append(accounts, Account{
				l.budgetKey, l.holder(s.process), PeriodOf(b.Budget, now).Format(time.DateOnly), b.Units,
				b.total.Load(), b.confirmed, b.found.Load(),
			})
		}
	}
	if len(accounts) == 0 {
		return
	}
	statements, err := s.books(ctx, accounts)
	if err != nil {
		return // the next exchange brings it, once
	}
	for i, l := range budgets {
		b, news := l.budget, statements[i]
		b.spent.Store(news.Spent)
		b.usedUp.Store(news.Spent >= b.Units)
		if news.Spent < 0 {
			continue
		}
		b.confirmed = accounts[i].Total
		b.found.Store(-1)
		if news.Warning > 0 {
			s.warn(l, news)
		}
	}
}

func (s *Sharer) warn(l *Limits, news Statement) {
	const advice = "look at gateway ops costs, or raise budget in the upstreams file"
	s.log.Warn("an upstream has spent most of its budget of the month; at 100 % it gets no more calls", "key",
		l.budgetKey, "percent", news.Warning, "spent", news.Spent, "budget", l.budget.Units, "next", advice)
}

// Spend counts units of a request against the budget, if there is one.
func (l *Limits) Spend(units int64) {
	if l.budget != nil {
		l.budget.total.Add(units)
	}
}

// Budget returns the budget and what all processes spent of it in this period, as far as it is
// known; false without one.
func (l *Limits) Budget() (units, spent int64, ok bool) {
	if l.budget == nil {
		return 0, 0, false
	}
	return l.budget.Units, max(0, l.budget.spent.Load()), true
}

// Lost returns the first day of the budget's period if Redis does not know what was spent of it.
func (l *Limits) Lost(now time.Time) (period time.Time, lost bool) {
	if l.budget == nil || !l.lease.shared.Load() || l.budget.spent.Load() >= 0 || l.budget.found.Load() >= 0 {
		return time.Time{}, false
	}
	return PeriodOf(l.budget.Budget, now), true
}

// Recover has Redis take over what was spent according to PostgreSQL.
func (l *Limits) Recover(units int64) { l.budget.found.Store(units) }
