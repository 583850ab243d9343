package usagedb

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// FlushEntry identifies a bucket of an account that PostgreSQL already has.
type FlushEntry struct {
	Slot       time.Time
	Generation string
}

// Which flushed buckets a seed lists: those that the meter may still hold. Buckets before the
// shard's watermark were deleted before the watermark was stored, but a Redis that lost its last
// writes, in a failover or a restart, holds them again. Buckets flushed longer ago would have been
// deleted by a later pass.
const (
	ledgerBehind = 2 * time.Hour // before the watermark, which stops while the meter is down
	ledgerReach  = 48 * time.Hour
)

// SumCounters reads, in one snapshot, the sums of an account's counters, in the order of counters,
// and the flushed buckets that the meter may still hold. A counter is its sum plus the meter's
// buckets that are not in flushed.
func (s *Store) SumCounters(ctx context.Context, id account.ID,
	counters []account.Counter,
) (sums []plan.Units, flushed []FlushEntry, err error) {
	snapshot := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
	err = s.pool.Tx(ctx, snapshot, func(_ pgx.Tx, q *db.Queries) error {
		flushed = nil // the transaction may be retried
		var err error
		if sums, err = sumCounters(ctx, q, id, counters); err != nil {
			return err
		}
		rows, err := q.ListFlushes(ctx, db.ListFlushesParams{
			Account: id.UUID, Shard: int32(account.Shard(id)), //nolint:gosec // shards are 0 to 1,023
			BehindSeconds: ledgerBehind.Seconds(), WithinSeconds: ledgerReach.Seconds(),
		})
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

// UsageHour is the usage of one hour in one group of rows.
type UsageHour struct {
	Account account.ID
	Hour    time.Time
	account.UsageLine
}

// ListUsage reads all hourly usage of an account's period, in the order of the primary key. period
// is its start date.
func (s *Store) ListUsage(ctx context.Context, id account.ID, period string) ([]UsageHour, error) {
	start, err := time.Parse(pg.PeriodLayout, period)
	if err != nil {
		return nil, fmt.Errorf("list usage of account %s: period must be a date like 2026-11-01: %w", id, err)
	}
	rows, err := s.pool.Queries().ListUsage(ctx, db.ListUsageParams{Account: id.UUID, Period: start})
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
			Period: row.Period.Format(pg.PeriodLayout), Key: account.KeyID{UUID: row.KeyID}, Agent: row.Agent,
			Chain: row.Chain, Service: row.Service, Method: row.Method, Class: row.Class, Outcome: row.Outcome,
			Source: row.Source, Tier: row.Tier, Requests: row.Requests, Units: plan.Units(row.Units),
		},
	}
}
