package store

import (
	"context"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/store/db"
)

// SaveWatermarks records, per shard, the instant of the meter's clock before which all usage is in PostgreSQL. It may go back:
// a bucket that returns after a failover of the meter makes an earlier instant the true one.
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

// DeleteFlushesBefore forgets ledger entries of slots before the instant and returns how many. A bucket of such a slot which the meter
// still holds would be added once more, so the instant lies days behind the watermark.
func (s *Store) DeleteFlushesBefore(ctx context.Context, before time.Time) (int64, error) {
	n, err := s.queries().DeleteFlushesBefore(ctx, before)
	if err != nil {
		return 0, fmt.Errorf("delete flush entries: %w", err)
	}
	return n, nil
}
