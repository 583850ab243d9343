package flush

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/faultpoint"
	"github.com/chainaccess/gateway/store"
)

const (
	// readers is how many shards are read concurrently.
	readers = 8
	// committers is how many transactions run concurrently.
	committers = 2
	// batchLines bounds a transaction: PostgreSQL sorts this many lines within its default work_mem
	// of 4 MB.
	batchLines = 8192
)

// bucketName identifies a bucket.
type bucketName struct {
	shard      int
	slot       int64
	account    account.ID
	generation string
}

func nameOf(b *account.UsageBucket) bucketName {
	return bucketName{b.Shard, b.Slot.Unix(), b.Account, b.Generation}
}

// flushShards flushes the shards in [from, to), in rounds, until no shard returns a full page. With
// mark it records all their watermarks afterwards; a watermark that moved back is always recorded.
func (f *Flusher) flushShards(ctx context.Context, from, to int, all, mark bool) error {
	// The clock is read first: a shard that is clean when checked afterwards has no usage from
	// before it.
	now, err := f.meter.Now(ctx)
	if err != nil {
		return fmt.Errorf("read the meter's clock: %w", err)
	}
	dirty, err := f.meter.DirtyShards(ctx, from, to)
	if err != nil {
		return err
	}
	clean := now.Add(-f.o.SlotLength)
	marks := make(watermarks, to-from)
	for shard := from; shard < to; shard++ {
		marks[shard] = clean
	}
	for len(dirty) > 0 {
		pages, err := f.read(ctx, dirty, all)
		if err != nil {
			return err
		}
		if err := f.publish(ctx, beginnings(pages), false); err != nil {
			return err
		}
		if err := f.move(ctx, pages); err != nil {
			return err
		}
		dirty = dirty[:0]
		for i := range pages {
			p := &pages[i]
			if p.more {
				dirty = append(dirty, p.shard)
				continue
			}
			// An open slot ahead of the clock was opened before the clock stepped back: new usage
			// will be before it.
			if !p.oldestOpen.After(now) {
				marks.replace(p.shard, p.oldestOpen)
			}
			marks.lower(p.shard, p.held)
		}
	}
	return f.publish(ctx, marks, mark)
}

// page is the result of one read of a shard. Its times are starts of slots, zero for none.
type page struct {
	shard      int
	buckets    []account.UsageBucket // without the refused ones
	oldestOpen time.Time
	held       time.Time // the oldest bucket that PostgreSQL refuses
	more       bool      // the page was full: read the shard again
}

// hold records that a bucket of the page stays in the meter.
func (p *page) hold(b *account.UsageBucket) {
	if p.held.IsZero() || b.Slot.Before(p.held) {
		p.held = b.Slot
	}
}

// read reads a page of each shard.
func (f *Flusher) read(ctx context.Context, shards []int, all bool) ([]page, error) {
	pages := make([]page, len(shards))
	skips := make(map[int]int)
	for name := range f.refused {
		skips[name.shard]++
	}
	readers, ctx := f.group(ctx, readers)
	for i, shard := range shards {
		readers.Go(func() error {
			limit := f.o.PerShard + skips[shard]
			sealed, oldestOpen, err := f.meter.SealedBuckets(ctx, shard, all, limit)
			p := page{shard: shard, oldestOpen: oldestOpen, more: len(sealed) >= limit}
			for j := range sealed {
				if _, ok := f.refused[nameOf(&sealed[j])]; ok {
					p.hold(&sealed[j])
					continue
				}
				p.buckets = append(p.buckets, sealed[j])
			}
			pages[i] = p
			return err
		})
	}
	return pages, readers.Wait()
}

func (f *Flusher) group(ctx context.Context, limit int) (*errgroup.Group, context.Context) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(limit)
	return g, ctx
}

// move commits the buckets of the pages in bounded transactions, and then drops them from the
// meter.
func (f *Flusher) move(ctx context.Context, pages []page) error {
	var buckets []account.UsageBucket
	for i := range pages {
		buckets = append(buckets, pages[i].buckets...)
	}
	committers, batches := f.group(ctx, committers)
	for len(buckets) > 0 {
		n := batch(buckets)
		one := buckets[:n:n]
		buckets = buckets[n:]
		committers.Go(func() error { return f.moveBatch(batches, one) })
	}
	if err := committers.Wait(); err != nil {
		return err
	}
	for i := range pages {
		for j := range pages[i].buckets {
			if _, ok := f.refused[nameOf(&pages[i].buckets[j])]; ok {
				pages[i].hold(&pages[i].buckets[j])
			}
		}
	}
	return nil
}

// moveBatch commits buckets in one transaction, and then drops them from the meter.
func (f *Flusher) moveBatch(ctx context.Context, buckets []account.UsageBucket) error {
	committed, err := f.commit(ctx, buckets)
	if len(committed) > 0 {
		faultpoint.Hit(faultpoint.FlushCommitted)
		if f.o.OnFlush != nil {
			f.o.OnFlush(len(committed))
		}
		err = errors.Join(err, f.meter.DropBuckets(ctx, committed))
	}
	return err
}

// batch returns how many of the buckets go into one transaction: up to batchLines lines together,
// latencies included, and at least one bucket.
func batch(buckets []account.UsageBucket) int {
	lines := 0
	for i := range buckets {
		lines += len(buckets[i].Lines) + len(buckets[i].Latencies)
		if lines > batchLines && i > 0 {
			return i
		}
	}
	return len(buckets)
}

// commit commits buckets and returns those that are in PostgreSQL now. When PostgreSQL refuses the
// content of one, the others are still committed.
func (f *Flusher) commit(ctx context.Context, buckets []account.UsageBucket) ([]account.UsageBucket, error) {
	err := f.record.CommitUsage(ctx, buckets)
	switch {
	case err == nil:
		return buckets, nil
	case !errors.Is(err, store.ErrRejected):
		return nil, err
	case len(buckets) == 1:
		b := &buckets[0]
		f.refuse(b)
		f.o.Logger.Error("usage bucket refused by PostgreSQL; it stays in the meter until the next start",
			"shard", b.Shard, "slot", b.Slot, "account_id", b.Account, "generation", b.Generation, "error", err)
		return nil, nil
	}
	half := len(buckets) / 2
	first, err := f.commit(ctx, buckets[:half:half])
	if err != nil {
		return first, err
	}
	second, err := f.commit(ctx, buckets[half:])
	return append(first, second...), err
}

// refuse records a bucket that PostgreSQL refuses. It is safe for concurrent use with itself.
func (f *Flusher) refuse(b *account.UsageBucket) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refused[nameOf(b)] = struct{}{}
}
