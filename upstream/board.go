package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/chain"
)

// Board is where probes publish what they found and every process reads it. It lives in Redis beside the meter.
type Board struct{ rdb redis.UniversalClient }

// NewBoard makes a board over a connection that it does not own.
func NewBoard(rdb redis.UniversalClient) *Board { return &Board{rdb: rdb} }

func boardKey(id chain.ID) string { return "{board}:" + string(id) }

// Publish puts a snapshot on the board, in place of the last one.
func (b *Board) Publish(ctx context.Context, s Snapshot) error {
	raw, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("publish the probes of %s: %w", s.Chain, err)
	}
	if err := b.rdb.Set(ctx, boardKey(s.Chain), raw, 0).Err(); err != nil {
		return fmt.Errorf("publish the probes of %s: %w", s.Chain, err)
	}
	return nil
}

// Forget takes the snapshots of chains off the board, so that nothing of before is believed.
func (b *Board) Forget(ctx context.Context, ids ...chain.ID) error {
	for _, id := range ids {
		if err := b.rdb.Del(ctx, boardKey(id)).Err(); err != nil {
			return fmt.Errorf("forget the probes of %s: %w", id, err)
		}
	}
	return nil
}

// Read gives the newest snapshot of a chain; false when there is none yet.
func (b *Board) Read(ctx context.Context, id chain.ID) (Snapshot, bool, error) {
	raw, err := b.rdb.Get(ctx, boardKey(id)).Bytes()
	if errors.Is(err, redis.Nil) {
		return Snapshot{}, false, nil
	}
	if err != nil {
		return Snapshot{}, false, fmt.Errorf("read the board of %s: %w", id, err)
	}
	var s Snapshot
	if err := json.Unmarshal(raw, &s); err != nil {
		return Snapshot{}, false, fmt.Errorf("read the board of %s: %w", id, err)
	}
	return s, true, nil
}

// Watch applies every new snapshot to the pool until ctx ends. When the board cannot be read the last verdicts stay in force: a
// board that is gone must not take the relay with it.
func (b *Board) Watch(ctx context.Context, p *Pool, every time.Duration, log *slog.Logger) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		for _, id := range p.order {
			s, ok, err := b.Read(ctx, id)
			switch {
			case err != nil && ctx.Err() == nil:
				log.Warn("board not readable, keeping the last verdicts", "chain", id, "error", err)
			case ok && s.MeasuredAt.UnixNano() != p.chains[id].measuredAt.Load():
				p.chains[id].Apply(s)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
