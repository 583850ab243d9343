package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/store/db"
)

// SaveWatermarks records, per shard, the instant of the meter's clock before which all usage is in
// PostgreSQL. It may go back: a bucket that returns after a failover of the meter makes an earlier
// instant the true one.
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
	if err := s.queries().SaveWatermarks(ctx, p); err != nil {
		return fmt.Errorf("save %d watermarks: %w", len(watermarks), err)
	}
	return nil
}

// Watermark reads the watermark of a shard, or ErrNotFound before the shard's first flush.
func (s *Store) Watermark(ctx context.Context, shard int) (time.Time, error) {
	at, err := s.queries().GetWatermark(ctx, int32(shard)) //nolint:gosec // shards are 0 to 1,023
	if err != nil {
		return time.Time{}, fmt.Errorf("read the watermark of shard %d: %w", shard, found(err))
	}
	return at.UTC(), nil
}

// UsageWatermark is the instant before which all usage of every account is in PostgreSQL, or
// ErrNotFound before every shard was flushed once.
func (s *Store) UsageWatermark(ctx context.Context) (time.Time, error) {
	row, err := s.queries().GetUsageWatermark(ctx)
	if err == nil && row.Shards < account.Shards {
		err = ErrNotFound
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("read the watermark of all usage: %w", err)
	}
	return row.Watermark.UTC(), nil
}

// AccountWatermark is the instant before which all usage of an account is in PostgreSQL, or
// ErrNotFound before its shard's first flush. A period may be closed once it lies past the period's
// end by more than the longest call takes and the meter's clock may step back: refunds belong to
// their charge's period, and usage that comes later still is an adjustment.
func (s *Store) AccountWatermark(ctx context.Context, id account.ID) (time.Time, error) {
	return s.Watermark(ctx, account.Shard(id))
}

// DeleteFlushesBefore forgets ledger entries of slots before the instant, by whole UTC days where
// the days have partitions, and returns how many. A bucket of such a slot which the meter still
// holds would be added once more, so the instant lies days behind the watermark; where it does not,
// because usage was not flushed for so long, it is drawn back to it.
func (s *Store) DeleteFlushesBefore(ctx context.Context, before time.Time) (int64, error) {
	mark, err := s.UsageWatermark(ctx)
	switch {
	case errors.Is(err, ErrNotFound): // a new system, or one that never flushed everything
	case err != nil:
		return 0, err
	case mark.Before(before):
		before = mark
	}
	forgotten, err := s.queries().DeleteDefaultFlushesBefore(ctx, before)
	if err != nil {
		return 0, fmt.Errorf("delete flush entries: %w", err)
	}
	limit := before.UTC().Truncate(day)
	dropped, err := s.queries().CountFlushesBefore(ctx, limit)
	if err != nil {
		return forgotten, fmt.Errorf("count flush entries: %w", err)
	}
	if _, err := s.dropPartitions(ctx, dailyFlushes, limit); err != nil {
		return forgotten, err
	}
	return forgotten + dropped, nil
}
