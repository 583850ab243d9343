package meter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
)

// DirtyShards lists the shards in [from, to) whose usage is not all dropped yet.
func (m *Meter) DirtyShards(ctx context.Context, from, to int) ([]int, error) {
	pipe := m.rdb.Pipeline()
	counts := make([]*redis.IntCmd, 0, to-from)
	for shard := from; shard < to; shard++ {
		counts = append(counts, pipe.Exists(ctx, tag(shard)+"dirty"), pipe.Exists(ctx, tag(shard)+"sealed"))
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return nil, fmt.Errorf("list shards with usage: %w", err)
	}
	var dirty []int
	for i := 0; i < len(counts); i += 2 {
		if counts[i].Val()+counts[i+1].Val() > 0 {
			dirty = append(dirty, from+i/2)
		}
	}
	return dirty, nil
}

// SealedBuckets seals the buckets of a shard whose slot ended at least SealDelay ago by Redis'
// clock, or every bucket when all is set. It returns up to limit sealed buckets, oldest first; a
// bucket is returned until it is dropped. oldestOpen is the start of the oldest open slot, zero
// when there is none.
func (m *Meter) SealedBuckets(ctx context.Context, shard int, all bool,
	limit int,
) (sealed []account.UsageBucket, oldestOpen time.Time, err error) {
	t := tag(shard)
	everything := 0
	if all {
		everything = 1
	}
	reply, err := m.run(ctx, m.seal, []string{t + "dirty", t + "sealed"}, everything, limit).Slice()
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("seal buckets of shard %d: %w", shard, err)
	}
	if len(reply) < 2 {
		return nil, time.Time{}, fmt.Errorf("seal buckets of shard %d: unexpected reply of %d parts", shard, len(reply))
	}
	if open, ok := reply[1].(int64); ok && open >= 0 {
		oldestOpen = time.Unix(open, 0).UTC()
	}
	members := reply[2:]
	pipe := m.rdb.Pipeline()
	contents := make([]*redis.MapStringStringCmd, len(members))
	for i, member := range members {
		contents[i] = pipe.HGetAll(ctx, t+"s:"+fmt.Sprint(member))
	}
	if len(members) > 0 {
		if _, err := pipe.Exec(ctx); err != nil {
			return nil, time.Time{}, fmt.Errorf("read sealed buckets of shard %d: %w", shard, err)
		}
	}
	for i, member := range members {
		b, err := parseBucket(shard, fmt.Sprint(member), contents[i].Val())
		if err != nil {
			return nil, time.Time{}, err
		}
		sealed = append(sealed, b)
	}
	return sealed, oldestOpen, nil
}

// DropBuckets deletes sealed buckets that are in PostgreSQL and ends the flush token of their
// shards, so that a concurrent seed starts again. When a bucket is gone already, Redis may have
// lost it before it was in PostgreSQL, and its counters may have been seeded without it: they are
// deleted, to be seeded again.
func (m *Meter) DropBuckets(ctx context.Context, buckets []account.UsageBucket) error {
	// Before the deletion and after it: the process may be killed in between, and a bucket may be
	// lost in between.
	gone, err := m.countersOfLost(ctx, buckets)
	if err != nil {
		return err
	}
	if err := m.dropCounters(ctx, gone); err != nil {
		return err
	}
	pipe := m.rdb.Pipeline()
	byShard := make(map[int][]string)
	deleted := make(map[string]*redis.IntCmd, len(buckets))
	for _, b := range buckets {
		byShard[b.Shard] = append(byShard[b.Shard], BucketName(b.Slot, b.Account, b.Generation))
	}
	for shard, names := range byShard {
		t := tag(shard)
		// The flush token first: if the process were killed after the deletion alone, a concurrent
		// seed would miss these buckets. The flush token is deleted, not incremented, because a
		// Redis without memory refuses all but deletions.
		pipe.Del(ctx, t+"epoch")
		members := make([]any, len(names))
		for i, n := range names {
			deleted[n] = pipe.Del(ctx, t+"s:"+n)
			members[i] = n
		}
		pipe.ZRem(ctx, t+"sealed", members...)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("drop flushed buckets: %w", err)
	}
	gone = nil
	for i := range buckets {
		if b := &buckets[i]; deleted[BucketName(b.Slot, b.Account, b.Generation)].Val() == 0 {
			gone = append(gone, countersOf(b)...)
		}
	}
	return m.dropCounters(ctx, gone)
}

// countersOfLost names the counters of the buckets that Redis has lost.
func (m *Meter) countersOfLost(ctx context.Context, buckets []account.UsageBucket) ([]string, error) {
	pipe := m.rdb.Pipeline()
	there := make([]*redis.IntCmd, len(buckets))
	for i, b := range buckets {
		there[i] = pipe.Exists(ctx, tag(b.Shard)+"s:"+BucketName(b.Slot, b.Account, b.Generation))
	}
	if _, err := pipe.Exec(ctx); err != nil && len(buckets) > 0 {
		return nil, fmt.Errorf("look for flushed buckets: %w", err)
	}
	var names []string
	for i := range buckets {
		if there[i].Val() == 0 {
			names = append(names, countersOf(&buckets[i])...)
		}
	}
	return names, nil
}

// dropCounters deletes counters, which are seeded again with the next call that needs them.
func (m *Meter) dropCounters(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	pipe := m.rdb.Pipeline()
	for _, name := range names { // one by one: in a cluster they may be in several slots
		pipe.Del(ctx, name)
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return fmt.Errorf("drop counters of lost buckets: %w", err)
	}
	return nil
}

// countersOf returns the names of the counters that a bucket's lines are counted in.
func countersOf(b *account.UsageBucket) []string {
	names := map[string]struct{}{packsName(b.Account): {}}
	for i := range b.Lines {
		l := &b.Lines[i]
		names[perName(b.Account, l.Period)] = struct{}{}
		names[kpName(b.Account, l.Key, l.Period)] = struct{}{}
		names[dayName(b.Account, l.Key, b.Slot)] = struct{}{}
	}
	return slices.Sorted(maps.Keys(names))
}

func parseBucket(shard int, member string, fields map[string]string) (account.UsageBucket, error) {
	parts := strings.Split(member, ":")
	if len(parts) != 3 {
		return account.UsageBucket{}, fmt.Errorf("bucket %q of shard %d: unexpected name", member, shard)
	}
	slot, err1 := strconv.ParseInt(parts[0], 10, 64)
	owner, err2 := uuid.Parse(parts[1])
	if err := errors.Join(err1, err2); err != nil {
		return account.UsageBucket{}, fmt.Errorf("bucket %q of shard %d: %w", member, shard, err)
	}
	b := account.UsageBucket{
		Shard: shard, Slot: time.Unix(slot, 0).UTC(), Account: account.ID{UUID: owner}, Generation: parts[2],
	}
	b.Latencies = takeLatencies(fields)
	b.Lines = parseLines(fields)
	return b, nil
}

// parseLines reads the fields of a bucket. A field that no script of the meter wrote becomes a line
// whose period is no date. PostgreSQL refuses that line, so the flush reports the bucket and keeps
// it, and other buckets move on.
func parseLines(fields map[string]string) []account.UsageLine {
	lines := make(map[string]*account.UsageLine, len(fields))
	for field, value := range fields {
		if field == "g" {
			continue
		}
		bar := max(strings.LastIndexByte(field, '|'), 0)
		words := field[:bar]
		line, known := lines[words]
		if !known {
			line, known = parseLine(words)
		}
		requests, err1 := strconv.ParseInt(value, 10, 64)
		weight, unitsOnly := strings.CutPrefix(field[min(bar+1, len(field)):], "+")
		each, err2 := strconv.ParseUint(weight, 10, 63)
		units, fits := product(requests, int64(each)) //nolint:gosec // 63 bits
		if err1 != nil || err2 != nil || !known || !fits {
			lines[field] = &account.UsageLine{Period: fmt.Sprintf("foreign field %q with value %q", field, value)}
			continue
		}
		lines[words] = line
		if !unitsOnly { // a call's draws from further sources are not calls
			line.Requests += requests
		}
		line.Units += plan.Units(units)
	}
	all := make([]account.UsageLine, 0, len(lines))
	for _, line := range lines {
		all = append(all, *line)
	}
	return all
}

// product returns n × each and reports whether it fits; each is not negative.
func product(n, each int64) (int64, bool) {
	p := n * each
	return p, n == 0 || p/n == each
}

// parseLine reads
// <period>|<outcome>|<source>|<key>|<agent>|<chain>|<service>|<method>|<class>|<tier>.
func parseLine(words string) (*account.UsageLine, bool) {
	w := strings.Split(words, "|")
	if len(w) != 10 {
		return nil, false
	}
	key, err := uuid.Parse(w[3])
	if err != nil {
		return nil, false
	}
	return &account.UsageLine{
		Period: w[0], Outcome: w[1], Source: w[2], Key: account.KeyID{UUID: key}, Agent: w[4],
		Chain: w[5], Service: w[6], Method: w[7], Class: w[8], Tier: w[9],
	}, true
}
