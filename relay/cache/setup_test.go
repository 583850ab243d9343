package cache_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/cache"
)

const (
	patience = 30 * time.Second
	week     = 7 * 24 * time.Hour
)

var secret = []byte(strings.Repeat("pepper", 8))

// open returns a cache whose look-up timeout suits a loaded machine, unless change sets another.
func open(t testing.TB, change ...func(*cache.Options)) *cache.Cache {
	t.Helper()
	o := cache.Options{
		Bytes: 8 << 20, Secret: secret, LookupTimeout: 10 * time.Second, Now: time.Now,
		Logger: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(&o)
	}
	c, err := cache.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = c.Close(ctx) // Redis may be gone by then
	})
	return c
}

func with(url string) func(*cache.Options) { return func(o *cache.Options) { o.RedisURL = url } }

func key(n int) cache.Key { return cache.NewKey(fmt.Appendf(nil, "%d", n)) }

// client returns a connection of the test's own.
func client(t testing.TB, server *testkit.RedisServer) *redis.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// redisKey returns the key under which a value is stored in Redis.
func redisKey(k cache.Key) string { return "answer:" + string(k[:]) }

// written waits until n values have reached Redis.
func written(t testing.TB, c *cache.Cache, n uint64) {
	t.Helper()
	testkit.Eventually(t, patience, func() bool { return c.Stats().RedisWrites == n }, "%d values are in Redis", n)
}

func wantEntry(t testing.TB, c *cache.Cache, k cache.Key, want string, tier cache.Tier) {
	t.Helper()
	if value, from := c.Get(t.Context(), k); string(value) != want || from != tier {
		t.Errorf("got %.80q from tier %d, want %.80q from %d", value, from, want, tier)
	}
}
