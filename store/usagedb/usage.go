package usagedb

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// CommitUsage adds sealed buckets to hourly usage and latency and, independently, to the totals of
// their periods, in one transaction. It counts each bucket exactly once: the ledger of flushes
// keeps it from being added again, whoever committed it. It also inserts notices for percentages of
// a quota that are reached. It returns ErrRejected when the content of a bucket is invalid; other
// errors may be retried.
func (s *Store) CommitUsage(ctx context.Context, buckets []account.UsageBucket) error {
	if len(buckets) == 0 {
		return nil
	}
	err := s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		entered, err := q.InsertFlushes(ctx, flushParams(buckets))
		if err != nil {
			return err
		}
		fresh := freshOf(buckets, entered)
		if err := addLatency(ctx, q, fresh); err != nil {
			return err
		}
		lines, err := linesOf(fresh)
		if err != nil || len(lines.Accounts) == 0 {
			return err
		}
		if err := q.AddUsage(ctx, lines); err != nil {
			return err
		}
		return book(ctx, q, fresh)
	})
	if err != nil && pg.IsRejected(err) {
		err = fmt.Errorf("%w: %w", pg.ErrRejected, err)
	}
	if err != nil {
		return fmt.Errorf("commit %d usage buckets: %w", len(buckets), err)
	}
	return nil
}

func flushParams(buckets []account.UsageBucket) db.InsertFlushesParams {
	n := len(buckets)
	p := db.InsertFlushesParams{
		Shards: make([]int32, n), Slots: make([]time.Time, n), Accounts: make([]uuid.UUID, n),
		Generations: make([]string, n),
	}
	for i := range buckets {
		b := &buckets[i]
		p.Shards[i] = int32(b.Shard) //nolint:gosec // shards are 0 to 1,023
		p.Slots[i], p.Accounts[i], p.Generations[i] = b.Slot, b.Account.UUID, b.Generation
	}
	return p
}

// bucketID identifies a bucket in the ledger. The slot is in microseconds, PostgreSQL's resolution.
type bucketID struct {
	slot       int64
	account    uuid.UUID
	generation string
}

// freshOf returns the buckets that were not in the ledger. A bucket that is twice in one call is
// returned once.
func freshOf(buckets []account.UsageBucket, entered []db.InsertFlushesRow) []*account.UsageBucket {
	wanted := make(map[bucketID]struct{}, len(entered))
	for _, row := range entered {
		wanted[bucketID{row.Slot.UnixMicro(), row.AccountID, row.Generation}] = struct{}{}
	}
	fresh := make([]*account.UsageBucket, 0, len(entered))
	for i := range buckets {
		b := &buckets[i]
		id := bucketID{b.Slot.UnixMicro(), b.Account.UUID, b.Generation}
		if _, ok := wanted[id]; ok {
			delete(wanted, id)
			fresh = append(fresh, b)
		}
	}
	return fresh
}

// linesOf splits the lines of buckets into columns.
func linesOf(buckets []*account.UsageBucket) (db.AddUsageParams, error) {
	total := 0
	for _, b := range buckets {
		total += len(b.Lines)
	}
	p := newUsageColumns(total)
	periods := map[string]time.Time{}
	for _, b := range buckets {
		hour := b.Slot.UTC().Truncate(time.Hour)
		for j := range b.Lines {
			l := &b.Lines[j]
			period, ok := periods[l.Period]
			if !ok {
				var err error
				if period, err = time.Parse(pg.PeriodLayout, l.Period); err != nil {
					return p, fmt.Errorf("usage of account %s in slot %s: period is not a date: %w: %w", b.Account,
						b.Slot, pg.ErrRejected, err)
				}
				periods[l.Period] = period
			}
			appendLine(&p, b.Account, period, hour, l)
		}
	}
	return p, nil
}

func newUsageColumns(n int) db.AddUsageParams {
	text := func() []string { return make([]string, 0, n) }
	return db.AddUsageParams{
		Accounts: make([]uuid.UUID, 0, n), Periods: make([]time.Time, 0, n), Hours: make([]time.Time, 0, n),
		Keys: make([]uuid.UUID, 0, n), Agents: text(), Chains: text(), Services: text(), Methods: text(),
		Classes: text(), Outcomes: text(), Sources: text(), Tiers: text(), Requests: make([]int64, 0, n),
		Units: make([]int64, 0, n),
	}
}

func appendLine(p *db.AddUsageParams, id account.ID, period, hour time.Time, l *account.UsageLine) {
	p.Accounts = append(p.Accounts, id.UUID)
	p.Periods = append(p.Periods, period)
	p.Hours = append(p.Hours, hour)
	p.Keys = append(p.Keys, l.Key.UUID)
	p.Agents = append(p.Agents, l.Agent)
	p.Chains = append(p.Chains, l.Chain)
	p.Services = append(p.Services, l.Service)
	p.Methods = append(p.Methods, l.Method)
	p.Classes = append(p.Classes, l.Class)
	p.Outcomes = append(p.Outcomes, l.Outcome)
	p.Sources = append(p.Sources, l.Source)
	p.Tiers = append(p.Tiers, l.Tier)
	p.Requests = append(p.Requests, l.Requests)
	p.Units = append(p.Units, int64(l.Units))
}
