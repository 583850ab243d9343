package wire_test

import (
	"net/http"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
)

func TestStoredAnswers_AreSharedThroughTheCachesRedis(t *testing.T) {
	t.Parallel()
	kept := testkit.Redis(t)
	b := setup(t, func(cfg *config.Config) { cfg.CacheBytes, cfg.CacheRedisURL = 8<<20, kept.URL })
	for _, u := range b.upstreams {
		u.On("eth_getTransactionReceipt",
			testkit.Result(map[string]any{"blockNumber": "0x1", "transactionHash": storedHash}))
	}
	key := b.newKey(t)
	for range 3 {
		b.call(t, key, "eth_getTransactionReceipt", `["`+storedHash+`"]`, http.StatusOK, storedHash)
	}
	if n := b.upstreams[0].Count("eth_getTransactionReceipt") +
		b.upstreams[1].Count("eth_getTransactionReceipt"); n != 1 {
		t.Errorf("%d calls reached the upstreams", n)
	}
	b.serve.stop()
	if err := b.serve.end(t); err != nil {
		t.Errorf("serve: %v", err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: kept.Addr})
	defer func() { _ = rdb.Close() }()
	if n, err := rdb.DBSize(t.Context()).Result(); err != nil || n != 1 { // written before the API stops
		t.Errorf("the cache's Redis holds %d keys (%v)", n, err)
	}
}

func TestAPI_StartsAndStopsWithoutTheCachesRedis(t *testing.T) {
	t.Parallel()
	b := setup(t, func(cfg *config.Config) {
		cfg.CacheBytes, cfg.CacheRedisURL = 8<<20, "redis://"+testkit.ClosedAddress(t)+"/0"
	})
	for _, u := range b.upstreams {
		u.On("eth_getTransactionReceipt",
			testkit.Result(map[string]any{"blockNumber": "0x1", "transactionHash": storedHash}))
	}
	key := b.newKey(t)
	for range 3 {
		b.call(t, key, "eth_getTransactionReceipt", `["`+storedHash+`"]`, http.StatusOK, storedHash)
	}
	b.serve.stop()
	if err := b.serve.end(t); err != nil {
		t.Errorf("serve: %v", err)
	}
}
