package upstream

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/relay/chain"
)

// Board is where probes publish what they found, operators what they ordered and API processes what
// they measured, and every process reads it. It lives in Redis beside the meter.
type Board struct{ rdb redis.UniversalClient }

//go:embed publish.lua
var publishSource string

var publishScript = redis.NewScript(publishSource)

// NewBoard makes a board over a connection that it does not own.
func NewBoard(rdb redis.UniversalClient) *Board { return &Board{rdb: rdb} }

func boardKey(id chain.ID) string      { return "{board}:" + string(id) }
func generationKey(id chain.ID) string { return boardKey(id) + ":generation" }
func cordonKey(id chain.ID) string     { return boardKey(id) + ":cordoned" }

// Posted is what stands on the board about one chain.
type Posted struct {
	// Snapshot is the newest one; only its Generation counts unless Known.
	Snapshot Snapshot
	Known    bool
	// Cordons are the upstreams that operators took out of rotation, by name.
	Cordons map[string]Cordon
}

// Publish puts a snapshot on the board, in place of the last one.
func (b *Board) Publish(ctx context.Context, s Snapshot) error {
	raw, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("publish the probes of %s: %w", s.Chain, err)
	}
	err = publishScript.Run(ctx, b.rdb, []string{boardKey(s.Chain), generationKey(s.Chain)}, raw, s.Generation).Err()
	if err != nil && !errors.Is(err, redis.Nil) {
		return fmt.Errorf("publish the probes of %s: %w", s.Chain, err)
	}
	return nil
}

// Forget takes the snapshots of chains off the board, so that nothing of before is believed, nor
// served from what was stored under it. Cordons stay.
func (b *Board) Forget(ctx context.Context, ids ...chain.ID) error {
	_, err := b.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for _, id := range ids {
			p.Del(ctx, boardKey(id))
			p.Incr(ctx, generationKey(id))
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("forget the probes of %v: %w", ids, err)
	}
	return nil
}

// Read returns what stands on the board about one chain.
func (b *Board) Read(ctx context.Context, id chain.ID) (Posted, error) {
	all, err := b.ReadAll(ctx, id)
	return all[id], err
}

// ReadAll returns what stands on the board about these chains, in one round trip. A chain of which
// something cannot be read is told in the error; it is left out unless its cordons could be read,
// which then stand alone.
func (b *Board) ReadAll(ctx context.Context, ids ...chain.ID) (map[chain.ID]Posted, error) {
	type reads struct {
		snapshot, generation *redis.StringCmd
		cordons              *redis.MapStringStringCmd
	}
	asked := make([]reads, len(ids))
	_, err := b.rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, id := range ids {
			asked[i] = reads{p.Get(ctx, boardKey(id)), p.Get(ctx, generationKey(id)), p.HGetAll(ctx, cordonKey(id))}
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("read the board: %w", err)
	}
	all := make(map[chain.ID]Posted, len(ids))
	var faults []error
	for i, id := range ids {
		posted, err := decodePosted(asked[i].snapshot, asked[i].generation, asked[i].cordons)
		if err != nil {
			faults = append(faults, fmt.Errorf("read the board of %s: %w", id, err))
			if posted.Cordons == nil {
				continue
			}
		}
		all[id] = posted
	}
	return all, errors.Join(faults...)
}

func decodePosted(snapshot, generation *redis.StringCmd, cordons *redis.MapStringStringCmd) (Posted, error) {
	named, err := cordons.Result()
	if err != nil {
		return Posted{}, err
	}
	alone := Posted{Cordons: decodeCordons(named)} // an operator's order holds whatever else cannot be read
	posted := alone
	raw, err := snapshot.Bytes()
	switch {
	case errors.Is(err, redis.Nil):
	case err != nil:
		return alone, err
	default:
		if err := json.Unmarshal(raw, &posted.Snapshot); err != nil {
			return alone, err
		}
		posted.Known = true
	}
	text, err := generation.Result()
	switch {
	case errors.Is(err, redis.Nil):
	case err != nil:
		return alone, err
	default:
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return alone, errors.New("the generation is not a number")
		}
		posted.Snapshot.Generation = max(posted.Snapshot.Generation, n)
	}
	return posted, nil
}

// Watch follows the board on behalf of the pool until ctx ends. When the board cannot be read the
// last verdicts stay in force: a board that is gone must not take the relay with it.
func (b *Board) Watch(ctx context.Context, p *Pool, every time.Duration, log *slog.Logger) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	readable := true
	for {
		all, err := b.ReadAll(ctx, p.Chains()...)
		if (err == nil) != readable && ctx.Err() == nil {
			readable = err == nil
			if readable {
				log.Info("board readable again")
			} else {
				log.Warn("board not readable, keeping the last verdicts", "error", err)
			}
		}
		for id, posted := range all {
			c, ok := p.Chain(id)
			if !ok {
				continue // a reload took it away meanwhile
			}
			before := c.Generation()
			c.follow(posted)
			if now := c.Generation(); before != 0 && now > before {
				log.Warn("the chain reorganised deeper than what counts as final: nothing stored before is served "+
					"any more",
					"chain", id, "generation", now)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
