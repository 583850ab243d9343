package cache

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/maypok86/otter/v2"
)

// memory is the in-process tier: bounded in bytes, with W-TinyLFU eviction. A nil memory keeps
// nothing.
type memory struct {
	now     func() time.Time
	entries *otter.Cache[Key, entry]
	most    int // bytes of one value
}

type entry struct {
	value   []byte
	expires int64 // unix nanoseconds
}

const (
	entryOverhead = 200 // bytes of an entry besides its value: key, node, table, policy
	shareOfBytes  = 8   // no value takes more than this fraction of the limit
)

func newMemory(limit int64, now func() time.Time, n *counters, log *slog.Logger) (*memory, error) {
	m := &memory{now: now, most: int(min(MaxEntryBytes, limit/shareOfBytes))}
	entries, err := otter.New(&otter.Options[Key, entry]{
		MaximumWeight: uint64(limit),
		Weigher:       func(_ Key, e entry) uint32 { return uint32(len(e.value) + entryOverhead) },
		ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[Key, entry]) time.Duration {
			return time.Duration(e.Value.expires - now().UnixNano())
		}),
		OnAtomicDeletion: func(e otter.DeletionEvent[Key, entry]) {
			if e.Cause == otter.CauseOverflow {
				n.evictions.Add(1)
			}
		},
		Logger: complaints{log},
	})
	if err != nil {
		return nil, fmt.Errorf("make a cache of %d bytes: %w", limit, err)
	}
	m.entries = entries
	return m, nil
}

func (m *memory) get(key Key) ([]byte, bool) {
	if m == nil {
		return nil, false
	}
	e, ok := m.entries.GetIfPresent(key)
	if !ok || m.now().UnixNano() >= e.expires {
		return nil, false
	}
	return e.value, true
}

func (m *memory) put(key Key, value []byte, expires time.Time) {
	if m == nil || len(value) > m.most {
		return
	}
	m.entries.Set(key, entry{value, expires.UnixNano()})
}

func (m *memory) held() (size, count uint64) {
	if m == nil {
		return 0, 0
	}
	return m.entries.WeightedSize(), uint64(m.entries.EstimatedSize())
}

func (m *memory) close() {
	if m != nil {
		m.entries.StopAllGoroutines()
	}
}

// complaints sends the cache library's log to ours. The library logs only when it is broken.
type complaints struct{ log *slog.Logger }

// Warn logs a harmless complaint.
func (c complaints) Warn(ctx context.Context, said string, err error) {
	c.log.WarnContext(ctx, "cache in process", "said", said, "error", err)
}

// Error logs a harmful complaint.
func (c complaints) Error(ctx context.Context, said string, err error) {
	c.log.ErrorContext(ctx, "cache in process", "said", said, "error", err)
}
