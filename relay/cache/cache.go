// Package cache keeps answers for reuse: in process, bounded in bytes, and in a second tier in
// Redis that processes share. Group deduplicates calls in flight. The package knows neither methods
// nor rules: the caller decides what may be reused, for how long, and under which key.
//
// The second tier is optional. When it fails or is slow, every look-up there is a miss; when its
// writes fall behind, they are dropped and counted. It must be a separate Redis that may evict
// (maxmemory-policy allkeys-lru): the meter's Redis never evicts.
package cache

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"log/slog"
	"sync/atomic"
	"time"
)

// MaxEntryBytes is the largest value that is cached.
const MaxEntryBytes = 1 << 20

// Options configures a Cache.
type Options struct {
	// Bytes bounds the in-process tier, keys and bookkeeping included; 0 disables it.
	Bytes int64
	// RedisURL is the address of the second tier; empty disables it.
	RedisURL string
	// Secret authenticates the values in Redis, so that a writer without it cannot have its values
	// served. Processes that share the tier share the secret. After a change of the secret every
	// look-up misses.
	Secret []byte
	// LookupTimeout bounds a look-up in Redis; 0 means 50 ms. Writes, which nobody waits for, have
	// one second or LookupTimeout, whichever is longer.
	LookupTimeout time.Duration
	Now           func() time.Time
	Logger        *slog.Logger
}

// Cache is safe for concurrent use. A nil Cache keeps nothing.
type Cache struct {
	now    func() time.Time
	memory *memory // nil for none
	shared *shared // nil for none

	counters counters
}

type counters struct {
	memoryHits, redisHits, misses, stores, refused, evictions atomic.Uint64
	redisErrors, corrupt, redisWrites, droppedWrites          atomic.Uint64
}

// New returns a cache. The second tier need not be reachable; only an invalid address is an error.
func New(o Options) (*Cache, error) {
	c := &Cache{now: o.Now}
	if o.Bytes > 0 {
		m, err := newMemory(o.Bytes, o.Now, &c.counters, o.Logger)
		if err != nil {
			return nil, err
		}
		c.memory = m
	}
	if o.RedisURL != "" {
		s, err := openShared(o, &c.counters)
		if err != nil {
			return nil, err
		}
		c.shared = s
	}
	return c, nil
}

// Key identifies a value. It is a SHA-256 of its parts, so different parts never collide and nobody
// can choose parts that do.
type Key [sha256.Size]byte

const keyVersion = 1

// NewKey returns the key of parts. The boundaries between parts are part of the key.
func NewKey(parts ...[]byte) Key {
	var room [512]byte // longer keys go to the heap
	b := append(room[:0], keyVersion)
	for _, p := range parts {
		b = append(binary.AppendUvarint(b, uint64(len(p))), p...)
	}
	return sha256.Sum256(b)
}

// Tier is where a value was found.
type Tier uint8

// The tiers; Nowhere is a miss.
const (
	Nowhere Tier = iota
	Memory
	Redis
)

// Get returns the value of a key. The value is shared and must not be changed. A value found in
// Redis is kept in process for the rest of its TTL. A miss in process costs one round trip if there
// is a second tier, at most LookupTimeout.
func (c *Cache) Get(ctx context.Context, key Key) ([]byte, Tier) {
	if c == nil {
		return nil, Nowhere
	}
	if value, ok := c.memory.get(key); ok {
		c.counters.memoryHits.Add(1)
		return value, Memory
	}
	if c.shared != nil {
		if value, expires, ok := c.shared.get(ctx, key); ok {
			c.counters.redisHits.Add(1)
			c.memory.put(key, value, expires)
			return value, Redis
		}
	}
	c.counters.misses.Add(1)
	return nil, Nowhere
}

// Put keeps value, one JSON text, for ttl. It returns a copy of it, which is shared like every
// cached value. A value larger than MaxEntryBytes is copied but not kept. Put never waits for
// Redis.
func (c *Cache) Put(key Key, value []byte, ttl time.Duration) []byte {
	value = bytes.Clone(value)
	if c == nil {
		return value
	}
	if len(value) > MaxEntryBytes || ttl <= 0 {
		c.counters.refused.Add(1)
		return value
	}
	c.counters.stores.Add(1)
	expires := c.now().Add(ttl)
	c.memory.put(key, value, expires)
	if c.shared != nil {
		c.shared.put(key, value, expires)
	}
	return value
}

// Mark remembers a key without a value, in process only; see Marked. Marks count towards Bytes and
// may be evicted like values.
func (c *Cache) Mark(key Key, ttl time.Duration) {
	if c != nil {
		c.memory.put(key, nil, c.now().Add(ttl))
	}
}

// Marked reports whether Mark's key is still remembered.
func (c *Cache) Marked(key Key) bool {
	if c == nil {
		return false
	}
	_, ok := c.memory.get(key)
	return ok
}

// Stats are counts since the start, except Bytes and Entries, which are gauges. Reading them is
// cheap enough for every scrape.
type Stats struct {
	MemoryHits, RedisHits, Misses uint64
	// Stores counts the values that were cached; Refused those that were not, for their size or
	// TTL.
	Stores, Refused uint64
	// Evictions counts the values that left the process before they expired, for want of room.
	Evictions uint64
	// RedisErrors counts look-ups and writes that failed or timed out; Corrupt counts values in
	// Redis that failed authentication or are no JSON.
	RedisErrors, Corrupt uint64
	// RedisWrites counts the values that reached Redis; DroppedWrites those that did not, because
	// Redis failed or the queue was full.
	RedisWrites, DroppedWrites uint64
	// Bytes and Entries are what the in-process tier holds now.
	Bytes, Entries uint64
}

// Stats returns the counts.
func (c *Cache) Stats() Stats {
	if c == nil {
		return Stats{}
	}
	n := &c.counters
	s := Stats{
		MemoryHits: n.memoryHits.Load(), RedisHits: n.redisHits.Load(), Misses: n.misses.Load(),
		Stores: n.stores.Load(), Refused: n.refused.Load(), Evictions: n.evictions.Load(),
		RedisErrors: n.redisErrors.Load(), Corrupt: n.corrupt.Load(), RedisWrites: n.redisWrites.Load(),
		DroppedWrites: n.droppedWrites.Load(),
	}
	s.Bytes, s.Entries = c.memory.held()
	return s
}

// Close writes the queued values to Redis until ctx ends, and stops what New started. The cache
// must not be used afterwards.
func (c *Cache) Close(ctx context.Context) error {
	if c == nil {
		return nil
	}
	c.memory.close()
	if c.shared == nil {
		return nil
	}
	return c.shared.close(ctx)
}
