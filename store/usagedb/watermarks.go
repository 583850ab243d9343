package usagedb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// SaveWatermarks stores, per shard, the time by the meter's clock before which all usage is in
// PostgreSQL. A watermark may go back: after a Redis failover a bucket may reappear.
func (s *Store) SaveWatermarks(ctx context.Context, watermarks map[int]time.Time) error {
	if len(watermarks) == 0 {
		return nil
	}
	p := db.SaveWatermarksParams{
		Shards: make([]int32, 0, len(watermarks)), Watermarks: make([]time.Time, 0, len(watermarks)),
	}
	for shard, at := range watermarks {
		p.Shards = append(p.Shards, int32(shard)) //nolint:gosec // shards are 0 to 1,023
		p.Watermarks = append(p.Watermarks, at)
	}
	if err := s.pool.Queries().SaveWatermarks(ctx, p); err != nil {
		return fmt.Errorf("save %d watermarks: %w", len(watermarks), err)
	}
	return nil
}

// Watermark reads the watermark of a shard. It returns ErrNotFound before the shard's first flush.
func (s *Store) Watermark(ctx context.Context, shard int) (time.Time, error) {
	at, err := s.pool.Queries().GetWatermark(ctx, int32(shard)) //nolint:gosec // shards are 0 to 1,023
	if err != nil {
		return time.Time{}, fmt.Errorf("read the watermark of shard %d: %w", shard, pg.NotFound(err))
	}
	return at.UTC(), nil
}

// UsageWatermark returns the time before which all usage of every account is in PostgreSQL. It
// returns ErrNotFound until every shard was flushed once.
func (s *Store) UsageWatermark(ctx context.Context) (time.Time, error) {
	row, err := s.pool.Queries().GetUsageWatermark(ctx)
	if err == nil && row.Shards < account.Shards {
		err = pg.ErrNotFound
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("read the watermark of all usage: %w", err)
	}
	return row.Watermark.UTC(), nil
}

// AccountWatermark returns the time before which all usage of an account is in PostgreSQL. It
// returns ErrNotFound before its shard's first flush. A period may be closed once the watermark is
// past its end by more than the longest call and the largest step back of the meter's clock:
// refunds belong to the period of their charge, and usage that is still later becomes an
// adjustment.
func (s *Store) AccountWatermark(ctx context.Context, id account.ID) (time.Time, error) {
	return s.Watermark(ctx, account.Shard(id))
}

// DeleteFlushesBefore deletes ledger entries of slots before the given time, by whole UTC days
// where these have partitions, and returns how many. A bucket of such a slot that Redis still held
// would be added again. So the time must be days before the watermark; when usage was not flushed
// for that long, the watermark is used instead.
func (s *Store) DeleteFlushesBefore(ctx context.Context, before time.Time) (int64, error) {
	mark, err := s.UsageWatermark(ctx)
	switch {
	case errors.Is(err, pg.ErrNotFound): // a new system, or one that never flushed everything
	case err != nil:
		return 0, err
	case mark.Before(before):
		before = mark
	}
	forgotten, err := s.pool.Queries().DeleteDefaultFlushesBefore(ctx, before)
	if err != nil {
		return 0, fmt.Errorf("delete flush entries: %w", err)
	}
	limit := before.UTC().Truncate(day)
	dropped, err := s.pool.Queries().CountFlushesBefore(ctx, limit)
	if err != nil {
		return forgotten, fmt.Errorf("count flush entries: %w", err)
	}
	if _, err := s.dropPartitions(ctx, dailyFlushes, limit); err != nil {
		return forgotten, err
	}
	return forgotten + dropped, nil
}
