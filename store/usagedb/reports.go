package usagedb

import (
	"context"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store/db"
)

// SumServices sums the recorded units of an account by service, since the hour of the given time;
// only of key unless that is zero.
func (s *Store) SumServices(ctx context.Context, id account.ID, key account.KeyID,
	since time.Time,
) (map[account.Service]plan.Units, error) {
	w := UsageWindow{Account: id, Since: since}
	if !key.IsZero() {
		w.Keys = []account.KeyID{key}
	}
	rows, err := s.pool.Sums().SumServices(ctx, db.SumServicesParams{
		Account: id.UUID, Since: w.since(), FromDay: w.fromDay(), Keys: w.keys(),
	})
	if err != nil {
		return nil, fmt.Errorf("sum the services of account %s: %w", id, err)
	}
	sums := make(map[account.Service]plan.Units, len(rows))
	for _, row := range rows {
		sums[account.Service(row.Service)] = plan.Units(row.Units)
	}
	return sums, nil
}

// DayUsage is an account's usage on a UTC day.
type DayUsage struct {
	Day                    time.Time
	Requests               int64 // all calls; a refunded one counts as refused
	Standard, Heavy, Other plan.Units
	Hits, Refused          int64
}

// maxDays bounds the days that UsageByDay returns.
const maxDays = 400

// UsageByDay reads the usage of an account from the day of from to the day of to, one row per day.
// Unless only is zero, just that period's usage is counted: the day on which a period begins also
// has usage of the one before.
func (s *Store) UsageByDay(ctx context.Context, id account.ID, from, to time.Time,
	only account.Period,
) ([]DayUsage, error) {
	from = from.UTC().Truncate(day)
	rows, err := s.pool.Queries().SumDays(ctx,
		db.SumDaysParams{Account: id.UUID, Since: from, OnlyPeriod: onlyPeriod(only)})
	if err != nil {
		return nil, fmt.Errorf("usage of account %s by day: %w", id, err)
	}
	var days []DayUsage
	for at := from; !at.After(to) && len(days) < maxDays; at = at.Add(day) {
		d := DayUsage{Day: at}
		if len(rows) > 0 && rows[0].Day.Equal(at) {
			row := rows[0]
			rows = rows[1:]
			d = DayUsage{
				at, row.Requests, plan.Units(row.Standard), plan.Units(row.Heavy), plan.Units(row.Other), row.Hits,
				row.Refused,
			}
		}
		days = append(days, d)
	}
	return days, nil
}

// maxRefusals bounds the evidence of a ticket.
const maxRefusals = 20

// SumRefusals counts the refused and failed calls of a window by reason, chain and method: up to
// maxRefusals lines, the most frequent first. It ignores the window's chain.
func (s *Store) SumRefusals(ctx context.Context, w *UsageWindow) ([]ticket.RefusalCount, error) {
	rows, err := s.pool.Sums().SumRefusals(ctx, db.SumRefusalsParams{
		Account: w.Account.UUID, Since: w.since(), Keys: w.keys(), OnlyPeriod: w.period(), MaxRows: maxRefusals,
	})
	if err != nil {
		return nil, w.failed("refusals", err)
	}
	counts := make([]ticket.RefusalCount, len(rows))
	for i, row := range rows {
		counts[i] = ticket.RefusalCount{
			Reason: row.Outcome, Code: ticket.CodeOf(row.Outcome), Chain: chain.ID(row.Chain), Method: row.Method,
			Count: row.Requests, Last: row.LastHour.UTC(),
		}
	}
	return counts, nil
}
