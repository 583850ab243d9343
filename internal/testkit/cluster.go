package testkit

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// clusterNodes is how many masters a cluster of a test has.
const (
	clusterNodes = 3
	clusterSlots = 16384
)

// RedisClusterServers is a Redis Cluster of one test's own: masters without replicas, which share
// the 16,384 slots. One that is killed takes its slots with it until it is started again; the
// others go on, as production's should.
type RedisClusterServers struct {
	URL   string // redis+cluster://127.0.0.1:port?addr=…
	Nodes []*RedisServer
}

// RedisCluster starts a cluster for the test alone, which takes two to three seconds, for a node of
// a cluster says so long that it is not ready, and kills it when the test ends.
func RedisCluster(t testing.TB, options ...RedisOption) *RedisClusterServers {
	t.Helper()
	c := &RedisClusterServers{}
	node := append([]RedisOption{
		func(r *RedisServer) { r.busPort = -1 },
		WithRedisArgs("--cluster-enabled", "yes", "--cluster-require-full-coverage", "no",
			// Long enough for a machine under load not to take a slow node for a dead one.
			"--cluster-node-timeout", "5000"),
	}, options...)
	for range clusterNodes {
		c.Nodes = append(c.Nodes, Redis(t, node...))
	}
	c.URL = c.AddressOf(func(r *RedisServer) string { return r.Addr })
	c.assignSlots(t)
	c.AwaitWhole(t)
	return c
}

// AddressOf is an address of the cluster with what each node is to be connected by.
func (c *RedisClusterServers) AddressOf(addr func(*RedisServer) string) string {
	q := url.Values{}
	for _, n := range c.Nodes[1:] {
		q.Add("addr", addr(n))
	}
	return "redis+cluster://" + addr(c.Nodes[0]) + "?" + q.Encode()
}

func (c *RedisClusterServers) assignSlots(t testing.TB) {
	t.Helper()
	for i, n := range c.Nodes {
		n.Do(t, "cluster", "addslotsrange", i*clusterSlots/clusterNodes, (i+1)*clusterSlots/clusterNodes-1)
		n.Do(t, "cluster", "set-config-epoch", i+1) // nodes that meet with the same one have to agree first
	}
	for i, n := range c.Nodes {
		for _, other := range c.Nodes[:i] {
			n.Do(t, "cluster", "meet", "127.0.0.1", other.port, other.busPort)
		}
	}
}

// AwaitWhole waits until every node knows every other one, and that all slots are served.
func (c *RedisClusterServers) AwaitWhole(t testing.TB) {
	t.Helper()
	Eventually(t, redisDeadline, func() bool {
		for _, n := range c.Nodes {
			info, ok := n.Do(t, "cluster", "info").(string)
			if !ok || !strings.Contains(info, "cluster_state:ok") ||
				!strings.Contains(info, "cluster_slots_ok:16384") ||
				!strings.Contains(info, "cluster_known_nodes:"+strconv.Itoa(clusterNodes)+"\r\n") {
				return false
			}
		}
		return true
	}, "a node knows all others and serves with them every slot")
}

// NodeOf is the node that serves a key as long as no slot was moved. The first node tells the slot,
// so it must run.
func (c *RedisClusterServers) NodeOf(t testing.TB, key string) *RedisServer {
	t.Helper()
	slot, ok := c.Nodes[0].Do(t, "cluster", "keyslot", key).(int64)
	if !ok {
		t.Fatalf("redis-server on %s told no slot", c.Nodes[0].Addr)
	}
	node := 0
	for int(slot) >= (node+1)*clusterSlots/clusterNodes {
		node++
	}
	return c.Nodes[node]
}

// ID is the name of a node in its cluster.
func (r *RedisServer) ID(t testing.TB) string {
	t.Helper()
	return fmt.Sprint(r.Do(t, "cluster", "myid"))
}

// Do sends one command to the server and gives its answer; an error ends the test.
func (r *RedisServer) Do(t testing.TB, args ...any) any {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), redisDeadline)
	defer cancel()
	client := redis.NewClient(&redis.Options{
		Addr: r.Addr, MaxRetries: -1, DialerRetries: 1, PoolSize: 1, Protocol: 2, DisableIdentity: true,
		ReadTimeout: 5 * time.Second,
	})
	defer func() { _ = client.Close() }()
	answer, err := client.Do(ctx, args...).Result()
	if err != nil {
		t.Fatalf("redis-server on %s: %v: %v", r.Addr, args[:min(2, len(args))], err)
	}
	return answer
}

// MoveSlot moves the slot of a key, with all that it holds, from one node to another, in the steps
// of redis-cli's reshard. When the keys that first picks have moved, halfway runs; both may be nil.
func (c *RedisClusterServers) MoveSlot(t testing.TB, key string, from, to *RedisServer, first func(name string) bool,
	halfway func(),
) {
	t.Helper()
	slot := from.Do(t, "cluster", "keyslot", key)
	to.Do(t, "cluster", "setslot", slot, "importing", from.ID(t))
	from.Do(t, "cluster", "setslot", slot, "migrating", to.ID(t))
	move := func(pick func(string) bool) {
		names, ok := from.Do(t, "cluster", "getkeysinslot", slot, 10_000).([]any)
		if !ok {
			t.Fatalf("redis-server on %s gave no keys of slot %v", from.Addr, slot)
		}
		for _, name := range names {
			if pick == nil || pick(fmt.Sprint(name)) {
				from.Do(t, "migrate", "127.0.0.1", to.port, name, 0, 5000)
			}
		}
	}
	if first != nil {
		move(first)
	}
	if halfway != nil {
		halfway()
	}
	move(nil)
	for _, n := range append([]*RedisServer{to, from}, c.Nodes...) {
		n.Do(t, "cluster", "setslot", slot, "node", to.ID(t))
	}
}
