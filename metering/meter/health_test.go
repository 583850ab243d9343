package meter_test

import (
	"errors"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/meter"
)

func (b *bundle) health(t *testing.T) meter.Health {
	t.Helper()
	h, err := b.meter.CheckHealth(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestCheckHealth_StopsAdmissionsWhileRedisMayEvict(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t, testkit.WithAppendOnly(), testkit.WithRedisArgs("--maxmemory", "512mb"))
	b := connect(t, server.URL)
	c := b.client(t, limits(noWindow, unlimited, 1<<50))
	b.mustAdmit(t, c, charge(7))
	h := b.health(t)
	in := expect.In(t, "a Redis in order")
	expect.False(in, h.Evicts(), h)
	expect.Equal(in, h.Policy, "noeviction")
	expect.True(in, h.AppendOnly)
	expect.Equal(in, h.Failed, "")
	expect.Equal(in, h.Limit, 512<<20)
	expect.Greater(in, h.Used, 0)
	expect.Less(in, h.Used, h.Limit)
	for _, policy := range []string{"allkeys-lru", "volatile-ttl"} {
		server.Do(t, "config", "set", "maxmemory-policy", policy)
		if h := b.health(t); !h.Evicts() || h.Policy != policy {
			t.Errorf("with %s it is %+v", policy, h)
		}
		if a, err := b.meter.Admit(b.ctx, c.Subject, charge(7)); !errors.Is(err, meter.ErrEvicts) {
			t.Errorf("with %s a call is %+v, %v", policy, a, err)
		}
		if err := b.meter.Ping(b.ctx); !errors.Is(err, meter.ErrEvicts) {
			t.Errorf("with %s the meter is ready: %v", policy, err)
		}
		server.Do(t, "config", "set", "maxmemory-policy", "noeviction")
		b.health(t)
		b.mustAdmit(t, c, charge(7))
	}
	if got := b.usedPeriod(t, c); got != 21 {
		t.Errorf("%d thousandths are charged, want 21 for three calls", got)
	}
	server.Do(t, "config", "set", "appendonly", "no")
	if h := b.health(t); h.AppendOnly || h.Evicts() {
		t.Errorf("without its append-only file it is %+v", h)
	}
}

func TestCheckHealth_FindsTheOneMasterOfAClusterThatMayEvict(t *testing.T) {
	t.Parallel()
	cluster := testkit.RedisCluster(t)
	b := connect(t, cluster.URL)
	if h := b.health(t); h.Evicts() {
		t.Fatalf("a cluster in order is %+v", h)
	}
	cluster.Nodes[1].Do(t, "config", "set", "maxmemory-policy", "allkeys-lfu")
	if h := b.health(t); h.Policy != "allkeys-lfu" {
		t.Errorf("it is %+v", h)
	}
}

func TestCheckHealth_OfAMasterThatWentKeepsWhatWasFound(t *testing.T) {
	t.Parallel()
	cluster := testkit.RedisCluster(t)
	b := connect(t, cluster.URL)
	cluster.Nodes[1].Do(t, "config", "set", "maxmemory-policy", "allkeys-lfu")
	b.health(t)
	cluster.Nodes[1].Kill(t)
	if h := b.health(t); h.Policy != "allkeys-lfu" {
		t.Errorf("while the master that evicts is away it is %+v", h)
	}
	if err := b.meter.Ping(b.ctx); !errors.Is(err, meter.ErrEvicts) {
		t.Errorf("while it is away the meter is ready: %v", err)
	}
	cluster.Nodes[1].Start(t) // with the policy of its start
	testkit.Eventually(t, testTimeout, func() bool {
		h, err := b.meter.CheckHealth(b.ctx)
		return err == nil && !h.Evicts() && b.meter.Ping(b.ctx) == nil
	}, "the meter is ready once every master was seen")
}

func TestCheckHealth_SaysThatAPolicyIsUnknown(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	b := connect(t, server.URL)
	if h := b.health(t); h.Unknown {
		t.Errorf("a Redis in order is %+v", h)
	}
	server.Do(t, "acl", "setuser", "default", "-info")
	if h := b.health(t); !h.Unknown || h.Evicts() {
		t.Errorf("a Redis that forbids INFO is %+v", h)
	}
	b.mustAdmit(t, b.client(t, limits(noWindow, unlimited, 1<<50)), charge(7))
}

func TestUnflushed_CountsWhatWaitsForPostgreSQL(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	b := connect(t, server.URL)
	if u, err := b.meter.Unflushed(b.ctx); err != nil || u != (meter.Unflushed{}) {
		t.Fatalf("without usage it is %+v, %v", u, err)
	}
	const accounts = 5
	for range accounts {
		b.mustAdmit(t, b.client(t, limits(noWindow, unlimited, 1<<50)), charge(7))
	}
	u, err := b.meter.Unflushed(b.ctx)
	require.NoError(t, err)
	expect.AtLeast(t, u.Buckets, accounts)
	expect.Between(t, u.Bytes, 300*u.Buckets, 2000*u.Buckets)
	expect.Greater(t, u.Oldest, 0)
	testkit.Eventually(t, testTimeout, func() bool {
		later, err := b.meter.Unflushed(b.ctx)
		return err == nil && later.Oldest > u.Oldest
	}, "what waits grows older")
}
