package cache_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/cache"
)

func TestSecondTier_IsSharedByProcesses(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	clock := testkit.NewClock(time.Now())
	sameClock := func(o *cache.Options) { o.Now = clock.Now }
	one, other := open(t, with(server.URL), sameClock), open(t, with(server.URL), sameClock)
	wantEntry(t, other, key(1), "", cache.Nowhere)
	one.Put(key(1), []byte(`{"a":1}`), time.Hour)
	written(t, one, 1)
	wantEntry(t, other, key(1), `{"a":1}`, cache.Redis)
	wantEntry(t, other, key(1), `{"a":1}`, cache.Memory)
	wantEntry(t, one, key(1), `{"a":1}`, cache.Memory)
	s := other.Stats()
	expect.Equal(t, s.RedisHits, 1)
	expect.Equal(t, s.MemoryHits, 1)
	expect.Equal(t, s.Misses, 1)
	expect.Equal(t, s.Stores, 0)
	if ttl := client(t, server).TTL(t.Context(), redisKey(key(1))).Val(); ttl <= 0 || ttl > time.Hour {
		t.Errorf("Redis keeps it for %s", ttl)
	}
	// A value from Redis keeps its expiry, and is not accepted after it, even if Redis still has
	// it.
	clock.Advance(time.Hour)
	wantEntry(t, other, key(1), "", cache.Nowhere)
	wantEntry(t, open(t, with(server.URL), sameClock), key(1), "", cache.Nowhere)
}

func TestSecondTier_WorksWithoutTheFirst(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	c := open(t, with(server.URL), func(o *cache.Options) { o.Bytes = 0 })
	c.Put(key(1), []byte(`1`), week)
	written(t, c, 1)
	for range 2 {
		wantEntry(t, c, key(1), `1`, cache.Redis)
	}
}

func TestSecondTier_ForeignEntriesInRedisAreNotServed(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	rdb := client(t, server)
	writer := open(t, with(server.URL))
	writer.Put(key(1), []byte(`{"value":"0x1"}`), week)
	writer.Put(key(2), []byte(`{"value":"0x2"}`), week)
	writer.Put(key(3), []byte(`no JSON`), week) // a caller's mistake
	written(t, writer, 3)
	sealed, err := rdb.Get(t.Context(), redisKey(key(1))).Result()
	if err != nil {
		t.Fatal(err)
	}
	another, err := rdb.Get(t.Context(), redisKey(key(2))).Result()
	if err != nil {
		t.Fatal(err)
	}
	noJSON, err := rdb.Get(t.Context(), redisKey(key(3))).Result()
	if err != nil {
		t.Fatal(err)
	}
	changed := func(at int, to byte) string {
		b := []byte(sealed)
		b[at] ^= to
		return string(b)
	}
	later := []byte(sealed)
	binary.BigEndian.PutUint64(later[1:], uint64(time.Now().Add(2*week).UnixMilli()))
	rows := map[string]string{
		"nothing":             "",
		"one byte":            "\x01",
		"a bare value":        `{"value":"0x1"}`,
		"a head alone":        sealed[:41],
		"cut off":             sealed[:len(sealed)-1],
		"longer":              sealed + " ",
		"another version":     changed(0, 3),
		"another sum":         changed(20, 1),
		"another value":       strings.Replace(sealed, "0x1", "0x9", 1),
		"a later expiry":      string(later),
		"another key's value": another,
	}
	n := 10
	for what, raw := range rows {
		t.Run(what, func(t *testing.T) {
			n++
			k := key(n)
			if strings.HasPrefix(what, "another key") {
				k = key(1)
			}
			reader := open(t, with(server.URL))
			if err := rdb.Set(t.Context(), redisKey(k), raw, time.Hour).Err(); err != nil {
				t.Fatal(err)
			}
			if value, tier := reader.Get(t.Context(), k); tier != cache.Nowhere {
				t.Errorf("%q was served", value)
			}
			if s := reader.Stats(); s.Corrupt != 1 || s.Misses != 1 {
				t.Errorf("counted %+v", s)
			}
		})
	}
	// The same value under its own key: any changed byte makes it a miss, unchanged it is a hit.
	for at := range len(sealed) {
		if err := rdb.Set(t.Context(), redisKey(key(1)), changed(at, 1), time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
		if value, tier := open(t, with(server.URL)).Get(t.Context(), key(1)); tier != cache.Nowhere {
			t.Fatalf("with byte %d changed %q was served", at, value)
		}
	}
	if err := rdb.Set(t.Context(), redisKey(key(1)), sealed, time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	wantEntry(t, open(t, with(server.URL)), key(1), `{"value":"0x1"}`, cache.Redis)
	wantEntry(t, open(t, with(server.URL), func(o *cache.Options) { o.Secret = []byte("another secret") }), key(1), "",
		cache.Nowhere)
	if err := rdb.Set(t.Context(), redisKey(key(3)), noJSON, time.Hour).Err(); err != nil {
		t.Fatal(err)
	}
	wantEntry(t, open(t, with(server.URL)), key(3), "", cache.Nowhere)
	// A corrupt value counts as a miss and is overwritten by the next write.
	writer.Put(key(3), []byte(`3`), week)
	written(t, writer, 4)
	wantEntry(t, open(t, with(server.URL)), key(3), `3`, cache.Redis)
}

func TestSecondTier_DeadOneIsAMissUntilItIsBack(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	c := open(t, with(server.URL))
	c.Put(key(1), []byte(`1`), week)
	written(t, c, 1)
	server.Kill(t)
	wantEntry(t, c, key(1), `1`, cache.Memory)
	for i := range 200 {
		wantEntry(t, c, key(100+i), "", cache.Nowhere)
	}
	if s := c.Stats(); s.RedisErrors == 0 || s.RedisErrors > 20 {
		t.Errorf("%d of 200 look-ups tried a server that is gone, want a few", s.RedisErrors)
	}
	c.Put(key(2), []byte(`2`), week)
	testkit.Eventually(t, patience, func() bool { return c.Stats().DroppedWrites == 1 }, "the write is dropped")
	wantEntry(t, c, key(2), `2`, cache.Memory)
	server.Start(t)
	wanted := c.Stats().RedisWrites
	testkit.Eventually(t, patience, func() bool {
		c.Put(key(3), []byte(`3`), week)
		return c.Stats().RedisWrites > wanted
	}, "the second tier is used again")
	wantEntry(t, open(t, with(server.URL)), key(3), `3`, cache.Redis)
}

func TestSecondTier_HangingCostsALookupItsTimeoutAtMost(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	c := open(t, with(server.URL), func(o *cache.Options) { o.LookupTimeout = 50 * time.Millisecond })
	server.Pause(t)
	t.Cleanup(func() { server.Resume(t) })
	begun := time.Now()
	for i := range 500 {
		wantEntry(t, c, key(i), "", cache.Nowhere)
	}
	// Without the circuit breaker, 500 look-ups of 50 ms would take 25 s.
	if took := time.Since(begun); took > 12*time.Second {
		t.Errorf("500 look-ups took %s", took)
	}
	if s := c.Stats(); s.RedisErrors == 0 || s.Misses != 500 {
		t.Errorf("counted %+v", s)
	}
}

func TestSecondTier_SlowWritesAreDroppedAndCounted(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	c := open(t, with(server.URL), func(o *cache.Options) { o.Bytes = 0 })
	server.Pause(t)
	value := []byte(`"` + strings.Repeat("x", cache.MaxEntryBytes-2) + `"`)
	const n = 200
	for i := range n { // ten times the capacity of the queue: no write waits
		c.Put(key(i), value, week)
	}
	if s := c.Stats(); s.Stores != n || s.DroppedWrites < n/2 {
		t.Errorf("counted %+v", s)
	}
	server.Resume(t)
	testkit.Eventually(t, patience, func() bool {
		s := c.Stats()
		return s.RedisWrites+s.DroppedWrites == n
	}, "every write is counted as written or dropped")
}

func TestClose_WritesWhatIsQueued(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	c := open(t, with(server.URL))
	const n = 500
	for i := range n {
		c.Put(key(i), fmt.Appendf(nil, "%d", i), week)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	reader := open(t, with(server.URL))
	for i := range n {
		wantEntry(t, reader, key(i), fmt.Sprint(i), cache.Redis)
	}
}

func TestClose_GivesUpWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	c := open(t, with(server.URL))
	server.Pause(t)
	t.Cleanup(func() { server.Resume(t) })
	for i := range 1000 {
		c.Put(key(i), []byte(`"x"`), week)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestSecondTier_LookupOfAClientThatLeftSaysNothingOfRedis(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	writer := open(t, with(server.URL))
	writer.Put(key(1), []byte(`1`), week)
	written(t, writer, 1)
	reader := open(t, with(server.URL))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 50 {
		if _, tier := reader.Get(gone, key(1)); tier != cache.Nowhere {
			t.Error("found without looking")
		}
	}
	if s := reader.Stats(); s.RedisErrors != 0 {
		t.Errorf("counted %+v", s)
	}
	wantEntry(t, reader, key(1), `1`, cache.Redis)
}

func TestForget_LeavesEverythingElse(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	rdb := client(t, server)
	if err := rdb.Set(t.Context(), "{u0001}:cfg:account", "kept", 0).Err(); err != nil {
		t.Fatal(err)
	}
	c := open(t, with(server.URL))
	for i := range 2500 {
		c.Put(key(i), []byte(`1`), week)
	}
	written(t, c, 2500)
	if err := cache.Forget(t.Context(), server.URL); err != nil {
		t.Fatal(err)
	}
	if names := rdb.Keys(t.Context(), "*").Val(); len(names) != 1 || names[0] != "{u0001}:cfg:account" {
		t.Errorf("left are %d keys", len(names))
	}
}

func TestSecondTier_BadAddressIsReportedWithoutItsPassword(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"redis://:canary@host:port:x/0", "http://canary", "redis://user:canary@host/notanumber",
	} {
		_, err := cache.New(cache.Options{RedisURL: address, Secret: secret, Now: time.Now})
		in := expect.In(t, "%s", address)
		require.Error(in, err)
		expect.NotContains(in, err.Error(), "canary")
		expect.Contains(in, err.Error(), "CACHE_REDIS_URL")
		if err := cache.Forget(t.Context(), address); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
