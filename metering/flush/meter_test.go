package flush_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/chainaccess/gateway/identity/account"
)

// memoryMeter is a flush.Meter in memory: sealed buckets are returned until they are dropped.
type memoryMeter struct {
	mu          sync.Mutex // guards all below
	now         time.Time
	open        map[int][]account.UsageBucket
	sealed      map[int][]account.UsageBucket
	generations int
	dropErr     error
	downErr     error
	beforeDrop  func()
}

func newMemoryMeter(now time.Time) *memoryMeter {
	return &memoryMeter{now: now, open: map[int][]account.UsageBucket{}, sealed: map[int][]account.UsageBucket{}}
}

// add opens a bucket in the slot that holds at.
func (m *memoryMeter) add(shard int, id account.ID, at time.Time, lines ...account.UsageLine) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generations++
	b := account.UsageBucket{
		Shard: shard, Slot: at.Truncate(slotLength), Account: id, Generation: strconv.Itoa(m.generations), Lines: lines,
	}
	m.open[shard] = append(m.open[shard], b)
}

// set changes the meter's state.
func (m *memoryMeter) set(change func(m *memoryMeter)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change(m)
}

func (m *memoryMeter) left() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, shards := range []map[int][]account.UsageBucket{m.open, m.sealed} {
		for _, buckets := range shards {
			n += len(buckets)
		}
	}
	return n
}

func (m *memoryMeter) Now(context.Context) (time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now, m.downErr
}

func (m *memoryMeter) DirtyShards(_ context.Context, from, to int) ([]int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := maps.Clone(m.open)
	maps.Copy(all, m.sealed)
	var dirty []int
	for _, shard := range slices.Sorted(maps.Keys(all)) {
		if shard >= from && shard < to && len(m.open[shard])+len(m.sealed[shard]) > 0 {
			dirty = append(dirty, shard)
		}
	}
	return dirty, m.downErr
}

func (m *memoryMeter) SealedBuckets(_ context.Context, shard int, all bool,
	limit int,
) ([]account.UsageBucket, time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var stillOpen []account.UsageBucket
	var oldest time.Time
	for _, b := range m.open[shard] {
		if all || !b.Slot.Add(slotLength).After(m.now) {
			m.sealed[shard] = append(m.sealed[shard], b)
			continue
		}
		stillOpen = append(stillOpen, b)
		if oldest.IsZero() || b.Slot.Before(oldest) {
			oldest = b.Slot
		}
	}
	m.open[shard] = stillOpen
	sealed := m.sealed[shard]
	return slices.Clone(sealed[:min(limit, len(sealed))]), oldest, m.downErr
}

func (m *memoryMeter) DropBuckets(_ context.Context, buckets []account.UsageBucket) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.beforeDrop != nil {
		m.beforeDrop()
	}
	if m.dropErr != nil {
		return m.dropErr
	}
	for _, b := range buckets {
		m.sealed[b.Shard] = slices.DeleteFunc(m.sealed[b.Shard], func(s account.UsageBucket) bool {
			return s.Account == b.Account && s.Generation == b.Generation && s.Slot.Equal(b.Slot)
		})
	}
	return nil
}

var errDown = errors.New("connection refused")
