package meter

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
)

// Unflushed is the usage in Redis that is not in PostgreSQL yet.
type Unflushed struct {
	Buckets int64
	Bytes   int64         // estimated from a sample of buckets
	Oldest  time.Duration // since the oldest slot began, by Redis' clock
}

const (
	// weighed is how many buckets are asked for their size.
	weighed = 32
	// bucketOverhead is the bytes that a bucket takes besides its own key, mostly in its shard's
	// list.
	bucketOverhead = 250
)

// Unflushed counts the usage that is not in PostgreSQL yet.
func (m *Meter) Unflushed(ctx context.Context) (Unflushed, error) {
	pipe := m.rdb.Pipeline()
	var lists []listed
	for shard := range account.Shards {
		for _, state := range []struct{ list, bucket string }{{"dirty", "b:"}, {"sealed", "s:"}} {
			name := tag(shard) + state.list
			lists = append(lists, listed{
				tag(shard) + state.bucket, pipe.ZCard(ctx, name), pipe.ZRangeWithScores(ctx, name, 0, 0),
			})
		}
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return Unflushed{}, fmt.Errorf("count usage that is not flushed: %w", err)
	}
	now, err := m.Now(ctx)
	if err != nil {
		return Unflushed{}, fmt.Errorf("read the meter's time: %w", err)
	}
	var u Unflushed
	var names []string
	for i := range lists {
		oldest := lists[i].oldest.Val()
		if len(oldest) == 0 {
			continue
		}
		u.Buckets += lists[i].count.Val()
		u.Oldest = max(u.Oldest, now.Sub(time.Unix(int64(oldest[0].Score), 0)))
		if len(names) < weighed {
			names = append(names, lists[i].prefix+fmt.Sprint(oldest[0].Member))
		}
	}
	u.Bytes = u.Buckets * (m.weigh(ctx, names) + bucketOverhead)
	return u, nil
}

// listed is the list of a shard's open or sealed buckets.
type listed struct {
	prefix string
	count  *redis.IntCmd
	oldest *redis.ZSliceCmd
}

// weigh returns the average size of the buckets in bytes, 0 when all of them were flushed in
// between.
func (m *Meter) weigh(ctx context.Context, names []string) int64 {
	pipe := m.rdb.Pipeline()
	sizes := make([]*redis.IntCmd, len(names))
	for i, name := range names {
		sizes[i] = pipe.MemoryUsage(ctx, name, 0)
	}
	_, _ = pipe.Exec(ctx) // each has its own error; a server may not know the command
	var sum, n int64
	for _, s := range sizes {
		if s.Err() == nil {
			sum, n = sum+s.Val(), n+1
		}
	}
	return sum / max(n, 1)
}
