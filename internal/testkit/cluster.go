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

// clusterNodes is the number of masters of a test's cluster.
const (
	clusterNodes = 3
	clusterSlots = 16384
)

// RedisClusterServers is a Redis Cluster for one test: masters without replicas, which share the
// 16,384 slots. The slots of a killed node are unavailable until it is started again; the other
// nodes keep serving, as production's should.
type RedisClusterServers struct {
	URL   string // redis+cluster://127.0.0.1:port?addr=…
	Nodes []*RedisServer
}

// RedisCluster starts a cluster for one test and kills it when the test ends. The start takes two
// to three seconds, because a node reports that long that the cluster is down.
func RedisCluster(t testing.TB, options ...RedisOption) *RedisClusterServers {
	t.Helper()
	c := &RedisClusterServers{}
	node := append([]RedisOption{
		func(r *RedisServer) { r.busPort = -1 },
		WithRedisArgs("--cluster-enabled", "yes", "--cluster-require-full-coverage", "no",
			// Long enough that a slow node on a loaded machine is not taken for a dead one.
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

// AddressOf returns an address of the cluster in which addr chooses the address of each node.
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
		n.Do(t, "cluster", "set-config-epoch", i+1) // nodes that meet with equal epochs have to agree first
	}
	for i, n := range c.Nodes {
		for _, other := range c.Nodes[:i] {
			n.Do(t, "cluster", "meet", "127.0.0.1", other.port, other.busPort)
		}
	}
}

// AwaitWhole waits until every node knows all others and all slots are served.
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

// NodeOf returns the node that serves a key, unless a slot was moved. It asks the first node for
// the slot, so that node must run.
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

// ID returns the node's id in its cluster.
func (r *RedisServer) ID(t testing.TB) string {
	t.Helper()
	return fmt.Sprint(r.Do(t, "cluster", "myid"))
}

// Do sends a command to the server and returns its reply; an error ends the test.
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

// MoveSlot moves a key's slot with all of its keys from one node to another, in the steps of
// redis-cli's reshard. The keys that first selects are moved first, then halfway runs. Both
// functions may be nil.
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
