package wire

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/meter"
)

func TestServe_RefusesARedisThatMayDeleteUsage(t *testing.T) {
	t.Parallel()
	const canary = "canary-of-the-password"
	redis := testkit.Redis(t, testkit.WithRedisArgs("--maxmemory-policy", "allkeys-lru"))
	redis.Do(t, "config", "set", "requirepass", canary)
	cfg := config.Config{
		DatabaseURL: testkit.Postgres(t), RedisURL: "redis://:" + canary + "@" + redis.Addr + "/0",
		KeyPepper: strings.Repeat("p", account.MinPepperBytes), MetricsAddress: "127.0.0.1:0",
		TemporalAddress: testkit.ClosedAddress(t), TemporalNamespace: "default", DrainTimeout: time.Second,
	}
	err := Serve(t.Context(), cfg, config.Upstreams{}, nil, slog.New(slog.DiscardHandler), nil)
	in := expect.In(t, "serve")
	require.Error(in, err)
	expect.HasPrefix(in, err.Error(), "REDIS_URL: ")
	expect.Contains(in, err.Error(), "allkeys-lru")
	expect.Contains(in, err.Error(), "noeviction")
	expect.NotContains(in, err.Error(), canary)
}

func TestRedisHealth_StopsAndBeginsAdmittingAsThePolicyChanges(t *testing.T) {
	t.Parallel()
	redis := testkit.Redis(t, testkit.WithAppendOnly())
	m, err := meter.Open(t.Context(), redis.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	metrics := telemetry.NewMetrics(nil)
	w := watchRedis(m, metrics, slog.New(slog.DiscardHandler), true)
	w.every = 10 * time.Millisecond
	if err := w.refuse(t.Context()); err != nil {
		t.Fatalf("a Redis in order is refused: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { w.run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	served := func(name string) float64 {
		t.Helper()
		families, err := metrics.Registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == name {
				return f.GetMetric()[0].GetGauge().GetValue()
			}
		}
		t.Fatalf("no %s is served", name)
		return 0
	}
	for _, row := range []struct {
		policy string
		evicts float64
	}{{"volatile-lru", 1}, {"noeviction", 0}} {
		redis.Do(t, "config", "set", "maxmemory-policy", row.policy)
		testkit.Eventually(t, time.Minute, func() bool {
			return (m.Ping(t.Context()) != nil) == (row.evicts == 1) && served("gateway_redis_evicts") == row.evicts
		}, "the gate notices %s", row.policy)
	}
	in := expect.In(t, "a Redis in order is served as one that is not")
	expect.Equal(in, served("gateway_redis_append_only"), 1)
	expect.Equal(in, served("gateway_redis_write_failed"), 0)
	expect.NotEqual(in, served("gateway_redis_memory_used_bytes"), 0)
}
