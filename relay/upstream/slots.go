package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/relay/chain"
)

// slotsLast is how long slots stay on the board. A process that ended during a slot is counted in
// it until the slot is over and recorded.
const slotsLast = 2*SlotLength + time.Minute

func slotsKey(id chain.ID, process string) string { return boardKey(id) + ":slots:" + process }

// putSlots publishes this process's slots of a chain on the board.
func putSlots(ctx context.Context, pipe redis.Pipeliner, c *Chain, process string) error {
	raw, err := json.Marshal(c.Slots())
	if err != nil {
		return err
	}
	pipe.Set(ctx, slotsKey(c.ID, process), raw, slotsLast)
	return nil
}

// ReadSlots returns the sum of what all API processes observed of the calls of these chains, for
// the slots that they still report, the newest last.
func (b *Board) ReadSlots(ctx context.Context, ids ...chain.ID) (map[chain.ID][]Slot, error) {
	processes, err := b.rdb.ZRange(ctx, processesKey, 0, -1).Result()
	if err != nil {
		return nil, fmt.Errorf("read slots: %w", err)
	}
	all := make(map[chain.ID][]Slot, len(ids))
	if len(processes) == 0 {
		return all, nil
	}
	for _, id := range ids {
		keys := make([]string, len(processes))
		for i, p := range processes {
			keys[i] = slotsKey(id, p)
		}
		values, err := b.rdb.MGet(ctx, keys...).Result()
		if err != nil {
			return nil, fmt.Errorf("read slots of %s: %w", id, err)
		}
		var reported [][]Slot
		for _, v := range values {
			raw, ok := v.(string)
			if !ok {
				continue
			}
			var slots []Slot
			if err := json.Unmarshal([]byte(raw), &slots); err != nil {
				return nil, fmt.Errorf("read slots of %s: a process reported what is no JSON: %w", id, err)
			}
			reported = append(reported, slots)
		}
		all[id] = mergeSlots(reported)
	}
	return all, nil
}
