package heads

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/internal/testkit"
)

const (
	key      = "{board}:eth_mainnet:told"
	patience = 30 * time.Second
)

// process returns the heads of one process that shares them through a server.
func process(t *testing.T, server *testkit.RedisServer) *Told {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr, MaxRetries: -1})
	t.Cleanup(func() { _ = rdb.Close() })
	told := new(Told)
	told.Share(Redis(rdb, key), time.Now)
	follow(t, told)
	return told
}

// follow exchanges heads until the test ends.
func follow(t *testing.T, told *Told) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- told.Follow(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// latest returns the head for a call that comes now.
func latest(t *testing.T, told *Told) uint64 {
	t.Helper()
	return told.Fresh(t.Context(), time.Now()).Latest
}

// reaches waits until a process tells a head.
func reaches(t *testing.T, told *Told, n uint64) {
	t.Helper()
	if !told.Hold(t.Context(), Latest, n, time.Now, time.Now().Add(patience)) {
		t.Fatalf("head %d is not told, but %d", n, latest(t, told))
	}
}
