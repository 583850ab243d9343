package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/plan"
	"github.com/chainaccess/gateway/store/db"
)

// FlushEntry names a bucket of an account which is in PostgreSQL already.
type FlushEntry struct {
	Slot       time.Time
	Generation string
}

// ledgerReach is how far back a seed lists flushed buckets. A bucket that was flushed is dropped from the meter at the next pass,
// a second later; the reach covers a meter that was out of reach in between.
const ledgerReach = 48 * time.Hour

// SumCounters reads, in one snapshot, what is recorded of an account's counters, in their order, and the account's buckets that these sums
// hold, by the time of their flush, within ledgerReach. A counter is its sum plus the meter's buckets that are not among them.
func (s *Store) SumCounters(ctx context.Context, id account.ID, counters []account.Counter) (sums []plan.Units, flushed []FlushEntry, err error) {
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = s.tx(ctx, snapshot, func(_ pgx.Tx, q *db.Queries) error {
		sums, flushed = make([]plan.Units, len(counters)), nil // a transaction may be tried again
		for i := range counters {
			n, err := sumCounter(ctx, q, id, &counters[i])
			if err != nil {
				return err
			}
			sums[i] = plan.Units(n)
		}
		rows, err := q.ListFlushes(ctx, db.ListFlushesParams{Account: id.UUID, WithinSeconds: ledgerReach.Seconds()})
		if err != nil {
			return err
		}
		for _, row := range rows {
			flushed = append(flushed, FlushEntry{Slot: row.Slot.UTC(), Generation: row.Generation})
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("sum the counters of account %s: %w", id, err)
	}
	return sums, flushed, nil
}

func sumCounter(ctx context.Context, q *db.Queries, id account.ID, c *account.Counter) (int64, error) {
	if !c.Day.IsZero() {
		day := c.Day.UTC().Truncate(24 * time.Hour)
		return q.SumKeyDay(ctx, db.SumKeyDayParams{Key: c.Key.UUID, Account: id.UUID, DayStart: day, DayEnd: day.Add(24 * time.Hour)})
	}
	if _, ok := account.PackOf(c.Source); ok {
		return q.SumPack(ctx, db.SumPackParams{Account: id.UUID, Source: c.Source})
	}
	period, err := time.Parse(periodLayout, c.Period)
	if err != nil {
		return 0, fmt.Errorf("a period must be a date like 2026-11-01: %w", err)
	}
	p := db.SumPeriodParams{Account: id.UUID, Period: period, Source: c.Source, Service: c.Service}
	if !c.Key.IsZero() {
		p.Key = &c.Key.UUID
	}
	return q.SumPeriod(ctx, p)
}

// UsageHour is the recorded usage of one hour that shares every word of its line.
type UsageHour struct {
	Account account.ID
	Hour    time.Time
	account.UsageLine
}

// ListUsage reads all recorded usage of an account's period, in the order of its words. Period is its start date.
func (s *Store) ListUsage(ctx context.Context, id account.ID, period string) ([]UsageHour, error) {
	start, err := time.Parse(periodLayout, period)
	if err != nil {
		return nil, fmt.Errorf("list usage of account %s: period must be a date like 2026-11-01: %w", id, err)
	}
	rows, err := s.queries().ListUsage(ctx, db.ListUsageParams{Account: id.UUID, Period: start})
	if err != nil {
		return nil, fmt.Errorf("list usage of account %s: %w", id, err)
	}
	hours := make([]UsageHour, len(rows))
	for i, row := range rows {
		hours[i] = usageHourOf(row)
	}
	return hours, nil
}

func usageHourOf(row db.UsageHour) UsageHour {
	return UsageHour{
		Account: account.ID{UUID: row.AccountID}, Hour: row.Hour.UTC(),
		UsageLine: account.UsageLine{
			Period: row.Period.Format(periodLayout), Key: account.KeyID{UUID: row.KeyID}, Agent: row.Agent, Chain: row.Chain,
			Service: row.Service, Method: row.Method, Class: row.Class, Outcome: row.Outcome, Source: row.Source, Tier: row.Tier,
			Requests: row.Requests, Units: plan.Units(row.Units),
		},
	}
}
