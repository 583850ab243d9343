package flush

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/chainaccess/gateway/store"
)

// watermarks are instants of the meter's clock before which all usage of a shard is recorded.
type watermarks map[int]time.Time

// replace sets the watermark of a shard, unless at is zero.
func (w watermarks) replace(shard int, at time.Time) {
	if !at.IsZero() {
		w[shard] = at
	}
}

// lower moves the watermark of a shard back to at, unless at is zero.
func (w watermarks) lower(shard int, at time.Time) {
	if before, ok := w[shard]; !at.IsZero() && (!ok || at.Before(before)) {
		w[shard] = at
	}
}

// beginnings returns the oldest instants whose usage the pages show to be unrecorded.
func beginnings(pages []page) watermarks {
	oldest := make(watermarks, len(pages))
	for i := range pages {
		p := &pages[i]
		oldest.lower(p.shard, p.oldestOpen)
		oldest.lower(p.shard, p.held)
		for j := range p.buckets {
			oldest.lower(p.shard, p.buckets[j].Slot)
		}
	}
	return oldest
}

// publish records the watermarks that are before the last recorded ones, or all of them with every.
// So when a slot comes back, after a step of the meter's clock or a failover, its shard's watermark
// moves back as soon as it is seen, and before anything of it is committed. The watermark of a
// range that was just taken over is unknown, and always recorded.
func (f *Flusher) publish(ctx context.Context, marks watermarks, every bool) error {
	changed := make(watermarks)
	for shard, at := range marks {
		if last, known := f.marked[shard]; every || !known || at.Before(last) {
			changed[shard] = at
		}
	}
	if len(changed) == 0 {
		return nil
	}
	if err := f.record.SaveWatermarks(ctx, changed); err != nil {
		return err
	}
	maps.Copy(f.marked, changed)
	return nil
}

// tell calls Options.OnWatermark with the watermark of all shards, no matter who holds their
// leases.
func (f *Flusher) tell(ctx context.Context) error {
	if f.o.OnWatermark == nil {
		return nil
	}
	at, err := f.record.UsageWatermark(ctx)
	switch {
	case errors.Is(err, store.ErrNotFound): // some shard was never flushed yet
		return nil
	case err != nil:
		return err
	}
	f.o.OnWatermark(at)
	return nil
}
