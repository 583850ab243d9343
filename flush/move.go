package flush

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/internal/faultpoint"
	"github.com/chainaccess/gateway/store"
)

// readers is how many shards are read at the same time.
const readers = 8

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

// flushShards moves what the shards in [from, to) have, in rounds, until a round finds less than a full page everywhere.
func (f *Flusher) flushShards(ctx context.Context, from, to int, all, mark bool) error {
	// The clock is read first: a shard that is found clean afterwards was clean at that instant.
	now, err := f.meter.Now(ctx)
	if err != nil {
		return fmt.Errorf("read the meter's clock: %w", err)
	}
	dirty, err := f.meter.DirtyShards(ctx, from, to)
	if err != nil {
		return err
	}
	marks := make(map[int]time.Time, to-from)
	for shard := from; shard < to; shard++ {
		marks[shard] = now.Add(-f.o.SlotLength)
	}
	for len(dirty) > 0 {
		pages, err := f.read(ctx, dirty, all)
		if err != nil {
			return err
		}
		if err := f.move(ctx, pages); err != nil {
			return err
		}
		dirty = dirty[:0]
		for _, p := range pages {
			switch {
			case p.more:
				dirty = append(dirty, p.shard)
			case p.held:
				delete(marks, p.shard)
			case !p.oldestOpen.IsZero():
				marks[p.shard] = p.oldestOpen
			}
		}
	}
	if !mark {
		return nil
	}
	return f.record.SaveWatermarks(ctx, marks)
}

// page is what one read of a shard gave.
type page struct {
	shard      int
	buckets    []account.UsageBucket // without refused ones
	oldestOpen time.Time
	more       bool // the page was full: read the shard again
	held       bool // the shard has a bucket that PostgreSQL refuses
}

// read gets a page from each shard.
func (f *Flusher) read(ctx context.Context, shards []int, all bool) ([]page, error) {
	pages := make([]page, len(shards))
	readers, ctx := f.group(ctx)
	for i, shard := range shards {
		skip := 0
		for name := range f.refused {
			if name.shard == shard {
				skip++
			}
		}
		readers.Go(func() error {
			limit := f.o.PerShard + skip
			sealed, oldestOpen, err := f.meter.SealedBuckets(ctx, shard, all, limit)
			p := page{shard: shard, oldestOpen: oldestOpen, more: len(sealed) >= limit}
			for j := range sealed {
				if _, ok := f.refused[nameOf(&sealed[j])]; ok {
					p.held = true
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

func (f *Flusher) group(ctx context.Context) (*errgroup.Group, context.Context) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(readers)
	return g, ctx
}

// move commits the buckets of the pages in one transaction, and then drops them from the meter.
func (f *Flusher) move(ctx context.Context, pages []page) error {
	var buckets []account.UsageBucket
	for i := range pages {
		buckets = append(buckets, pages[i].buckets...)
	}
	if len(buckets) == 0 {
		return nil
	}
	committed, err := f.commit(ctx, buckets)
	if len(committed) > 0 {
		faultpoint.Hit(faultpoint.FlushCommitted)
		if f.o.OnFlush != nil {
			f.o.OnFlush(len(committed))
		}
		err = errors.Join(err, f.meter.DropBuckets(ctx, committed))
	}
	if len(committed) < len(buckets) {
		for i := range pages {
			pages[i].held = pages[i].held || f.holds(pages[i].buckets)
		}
	}
	return err
}

// commit commits buckets and gives those that are in PostgreSQL now. When PostgreSQL refuses the content of one, the others still go.
func (f *Flusher) commit(ctx context.Context, buckets []account.UsageBucket) ([]account.UsageBucket, error) {
	err := f.record.CommitUsage(ctx, buckets)
	switch {
	case err == nil:
		return buckets, nil
	case !errors.Is(err, store.ErrRejected):
		return nil, err
	case len(buckets) == 1:
		b := &buckets[0]
		f.refused[nameOf(b)] = struct{}{}
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

func (f *Flusher) holds(buckets []account.UsageBucket) bool {
	for i := range buckets {
		if _, ok := f.refused[nameOf(&buckets[i])]; ok {
			return true
		}
	}
	return false
}
