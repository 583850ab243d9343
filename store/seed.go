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

// Figures is a count of requests and units.
type Figures struct {
	Requests int64
	Units    plan.Units
}

// FlushEntry names a bucket of an account which is in PostgreSQL already.
type FlushEntry struct {
	Slot       time.Time
	Generation string
}

// SeedFigures is what a lost counter of the meter begins with: recorded usage by source, and which recent buckets it includes.
// A counter is the figures plus the meter's buckets that Flushed does not name.
type SeedFigures struct {
	Period  map[string]Figures // of the account in the period
	Day     map[string]Figures // of the key on the UTC day
	Flushed []FlushEntry       // of the account, by the time of the flush, within ledgerReach
}

// ledgerReach is how far back a seed lists flushed buckets. A bucket that was flushed is dropped from the meter at the next pass,
// a second later; the reach covers a meter that was out of reach in between.
const ledgerReach = 48 * time.Hour

// Seed reads, in one snapshot, what the counters of an account's period and a key's day begin with. Period is the period's start
// date (2026-11-01); of day only the UTC date counts. Usage of a key before an adoption counts in its day.
func (s *Store) Seed(ctx context.Context, id account.ID, key account.KeyID, period string, day time.Time) (SeedFigures, error) {
	start, err := time.Parse(periodLayout, period)
	if err != nil {
		return SeedFigures{}, fmt.Errorf("seed account %s: period must be a date like 2026-11-01: %w", id, err)
	}
	dayStart := day.UTC().Truncate(24 * time.Hour)
	var seed SeedFigures
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = s.tx(ctx, snapshot, func(_ pgx.Tx, q *db.Queries) error {
		periodRows, err := q.SumPeriod(ctx, db.SumPeriodParams{Account: id.UUID, Period: start})
		if err != nil {
			return err
		}
		seed.Period = make(map[string]Figures, len(periodRows))
		for _, row := range periodRows {
			seed.Period[row.Source] = Figures{Requests: row.Requests, Units: plan.Units(row.Units)}
		}
		dayRows, err := q.SumKeyDay(ctx, db.SumKeyDayParams{Key: key.UUID, DayStart: dayStart, DayEnd: dayStart.Add(24 * time.Hour)})
		if err != nil {
			return err
		}
		seed.Day = make(map[string]Figures, len(dayRows))
		for _, row := range dayRows {
			seed.Day[row.Source] = Figures{Requests: row.Requests, Units: plan.Units(row.Units)}
		}
		flushed, err := q.ListFlushes(ctx, db.ListFlushesParams{Account: id.UUID, WithinSeconds: ledgerReach.Seconds()})
		if err != nil {
			return err
		}
		seed.Flushed = make([]FlushEntry, len(flushed))
		for i, row := range flushed {
			seed.Flushed[i] = FlushEntry{Slot: row.Slot.UTC(), Generation: row.Generation}
		}
		return nil
	})
	if err != nil {
		return SeedFigures{}, fmt.Errorf("seed account %s: %w", id, err)
	}
	return seed, nil
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
