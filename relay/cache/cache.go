// Package cache owns answers that may be served again: in process, bounded in bytes, and in a
// second tier in Redis that processes share; and calls in flight that several callers wait for
// (Group). It knows neither methods nor rules: whoever stores decides what may be served again, for
// how long, and under which key.
//
// The second tier is a help, never a need. When it fails or is slow, everything is a miss there;
// when its writes do not keep up, they are dropped and counted. It must be a Redis of its own that
// may evict (maxmemory-policy allkeys-lru): the meter's evicts nothing.
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

// MaxEntryBytes is the largest value that is kept.
const MaxEntryBytes = 1 << 20

// Options are what a cache is made of.
type Options struct {
	// Bytes bounds what is kept in process, keys and bookkeeping included; 0 keeps nothing there.
	Bytes int64
	// RedisURL is the second tier's address; empty for none.
	RedisURL string
	// Secret authenticates what is kept in Redis, so that nobody who can write there can have it
	// served. Processes that share the tier share the secret; with another secret, everything kept
	// there is a miss.
	Secret []byte
	// LookupTimeout bounds a look-up in Redis; 0 is 50 ms. Writes, for which nobody waits, have a
	// second, or as much.
	LookupTimeout time.Duration
	Now           func() time.Time
	Logger        *slog.Logger
}

// Cache is safe for concurrent use. A nil one keeps nothing.
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

// New makes a cache. A second tier need not be reachable; only an address that is none is an error.
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

// Key names a value. Keys that differ in what they are made of differ; nobody can choose parts so
// that they meet (SHA-256).
type Key [sha256.Size]byte

const keyVersion = 1

// NewKey makes the key of parts. Where one part ends and the next begins counts.
func NewKey(parts ...[]byte) Key {
	var room [512]byte // longer ones go to the heap
	b := append(room[:0], keyVersion)
	for _, p := range parts {
		b = append(binary.AppendUvarint(b, uint64(len(p))), p...)
	}
	return sha256.Sum256(b)
}

// Tier says where a value was found.
type Tier uint8

// The tiers; Nowhere is a miss.
const (
	Nowhere Tier = iota
	Memory
	Redis
)

// Get returns the value of a key. It is shared: nobody may change it. What is found in Redis is
// kept in process for the time that it has left. A miss in process costs a round trip when there is
// a second tier, at most the look-up's time-out.
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

// Put keeps a value, which is one JSON text, for ttl. It takes a copy and gives it; like every
// value it is shared. A value larger than MaxEntryBytes is copied and not kept. Put never waits for
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

// Mark remembers a key without a value, in process only; Marked tells whether it does. Marks are
// part of what Bytes bounds, and may be forgotten early like everything else.
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

// Stats are counts since the start, save for the last two, which are of this moment. All but those
// are counters in the sense of Prometheus; reading them costs nothing worth mentioning, so a
// collector may call Stats at every scrape.
type Stats struct {
	MemoryHits, RedisHits, Misses uint64
	// Stores is how many values were taken; Refused how many were not, for their size.
	Stores, Refused uint64
	// Evictions is how many values left the process before their time, for want of room.
	Evictions uint64
	// RedisErrors counts look-ups and writes that failed or took too long; Corrupt what was found
	// in Redis and not believed.
	RedisErrors, Corrupt uint64
	// RedisWrites is how many values reached Redis; DroppedWrites how many did not because it
	// failed or did not keep up.
	RedisWrites, DroppedWrites uint64
	// Bytes and Entries are what the process holds now.
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

// Close writes to Redis what is still queued, as long as ctx lasts, and ends what New began. Nobody
// may use the cache afterwards.
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
