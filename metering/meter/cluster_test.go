package meter_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/meter"
)

// roomy is a rate window that is counted and never refuses.
var roomy = account.RateWindow{Limit: 1 << 40, Per: time.Hour}

// clustered is a meter over the test's own persistent cluster, with a client on each node.
type clustered struct {
	*bundle
	cluster *testkit.RedisClusterServers
	clients []*client // by the node that serves them
}

func setupOwnCluster(t *testing.T) *clustered {
	t.Helper()
	cluster := testkit.RedisCluster(t, testkit.WithAppendOnly())
	c := &clustered{bundle: connect(t, cluster.URL), cluster: cluster}
	for _, node := range cluster.Nodes {
		one := c.client(t, limits(roomy, 1<<50, 1<<50))
		for cluster.NodeOf(t, tagOf(one)) != node {
			one = c.client(t, limits(roomy, 1<<50, 1<<50))
		}
		c.clients = append(c.clients, one)
	}
	return c
}

// admitAllBut admits one call of every client except those of one node.
func (c *clustered) admitAllBut(t testing.TB, gone int) {
	t.Helper()
	for i, one := range c.clients {
		if i != gone {
			c.mustAdmit(t, one, charge(1))
		}
	}
}

func TestCluster_HangingMasterHoldsUpItsOwnAccountsOnly(t *testing.T) {
	t.Parallel()
	c := setupOwnCluster(t)
	c.admitAllBut(t, -1)
	const hanging, callers, calls = 1, 3000, 200 // more callers than the hanging node's pipeliner and queue hold
	c.cluster.Nodes[hanging].Pause(t)
	stop := make(chan struct{})
	var waiting sync.WaitGroup
	var failed atomic.Int64
	for range callers {
		waiting.Go(func() {
			for {
				if _, err := c.meter.Admit(c.ctx, c.clients[hanging].Subject, charge(1)); err != nil {
					failed.Add(1)
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	testkit.Eventually(t, testTimeout, func() bool {
		return failed.Load() > 0
	}, "calls of the hanging master are refused")
	began := time.Now()
	for range calls {
		c.admitAllBut(t, hanging)
	}
	// a reply of the hanging node alone takes a second: all of them would take minutes
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("%d calls of the other masters took %s beside one that hangs", 2*calls, took)
	}
	if err := c.meter.Ping(c.ctx); err != nil {
		t.Errorf("the meter is taken for unreachable with two of three masters: %v", err)
	}
	close(stop)
	c.cluster.Nodes[hanging].Resume(t)
	waiting.Wait()
	testkit.Eventually(t, testTimeout, func() bool {
		a, err := c.meter.Admit(c.ctx, c.clients[hanging].Subject, charge(1))
		return err == nil && a.Admitted
	}, "the master that hung admits again")
}

func TestCluster_KilledMasterTakesItsOwnAccountsOnlyAndBringsThemBack(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	c := setupOwnCluster(t)
	c.admitAllBut(t, -1)
	const gone = 2
	c.cluster.Nodes[gone].Kill(t)
	for range 20 {
		if a, err := c.meter.Admit(c.ctx, c.clients[gone].Subject, charge(1)); err == nil {
			t.Errorf("the meter said %+v without the master", a)
		}
		c.admitAllBut(t, gone)
	}
	m := openMeter(c.ctx, t, c.url) // a process that starts meanwhile
	if a, err := m.Admit(c.ctx, c.clients[0].Subject, charge(1)); err != nil || !a.Admitted {
		t.Errorf("a process that started without the master: %+v, %v", a, err)
	}
	if _, err := m.Now(c.ctx); err != nil {
		t.Errorf("the time without the master: %v", err)
	}
	if _, err := m.NowOf(c.ctx, c.clients[1].Account); err != nil {
		t.Errorf("the time of another master: %v", err)
	}
	c.cluster.Nodes[gone].Start(t)
	for _, m := range []*meter.Meter{c.meter, m} {
		testkit.Eventually(t, testTimeout, func() bool {
			a, err := m.Admit(c.ctx, c.clients[gone].Subject, charge(1)) // its scripts are lost too
			return err == nil && a.Admitted
		}, "the master is back, with the counters that were there")
	}
	if day := c.usedDay(t, c.clients[gone]); day != 3 {
		t.Errorf("the day stands at %d, want 3", day)
	}
	c.wantUsage(t, c.clients[gone], usage{"ok": {3, 3}})
	c.wantUsage(t, c.clients[1], usage{"ok": {21, 21}})
}

// A meter whose picture of the cluster is old follows the redirection of the node that it asks, for
// every command.
func TestCluster_MovedShardIsFollowed(t *testing.T) {
	t.Parallel()
	c := setupOwnCluster(t)
	one, at := c.clients[0], 0
	r := c.mustAdmit(t, one, charge(100))
	sealed := c.buckets(t, one)
	c.mustAdmit(t, one, charge(100))
	shard := account.Shard(one.Account)
	for name, ask := range map[string]func() error{
		"admit": func() error { _, err := c.meter.Admit(c.ctx, one.Subject, charge(10)); return err },
		"refund": func() error {
			return c.meter.Refund(c.ctx, one.Subject, charge(100), r, "request", "upstream_timeout")
		},
		"push":        func() error { return c.meter.PushKey(c.ctx, withVersion(one.key, 2)) },
		"flush token": func() error { _, err := c.meter.FlushToken(c.ctx, one.Account); return err },
		"seal":        func() error { _, _, err := c.meter.SealedBuckets(c.ctx, shard, false, 10); return err },
		"dirty":       func() error { _, err := c.meter.DirtyShards(c.ctx, 0, account.Shards); return err },
		"drop":        func() error { return c.meter.DropBuckets(c.ctx, sealed) },
		"seed": func() error {
			_, err := c.trySeed(t, one, 0, figure{}, account.Counter{Period: "2020-01-01", Source: account.SourcePlan})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			next := (at + 1) % len(c.cluster.Nodes)
			c.cluster.MoveSlot(t, tagOf(one), c.cluster.Nodes[at], c.cluster.Nodes[next], nil, nil)
			at = next
			if err := ask(); err != nil {
				t.Errorf("%s after the shard moved: %v", name, err)
			}
		})
	}
	if day := c.usedDay(t, one); day != 110 {
		t.Errorf("the day stands at %d, want 110", day)
	}
	c.wantUsage(t, one, usage{"ok": {2, 110}, "refund": {-1, -100}, "upstream_timeout": {requests: 1}})
}

// While a slot moves, its keys are on two nodes. No script may run on half of them.
func TestCluster_CallsDuringAShardsMoveAreChargedOnceOrNotAtAll(t *testing.T) {
	t.Parallel()
	c := setupOwnCluster(t)
	one := c.clients[0]
	const callers, moves = 8, 6
	stop := make(chan struct{})
	var answered, lost atomic.Int64
	var load sync.WaitGroup
	for range callers {
		load.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				a, err := c.meter.Admit(c.ctx, one.Subject, charge(10))
				switch {
				case err != nil:
					lost.Add(1)
				case a.Admitted:
					answered.Add(1)
				case len(a.Missing) == 0:
					t.Errorf("the meter said %+v", a)
				}
			}
		})
	}
	for at := range moves {
		before := answered.Load()
		nodes := c.cluster.Nodes
		c.cluster.MoveSlot(t, tagOf(one), nodes[at%len(nodes)], nodes[(at+1)%len(nodes)], nil, nil)
		testkit.Eventually(t, testTimeout, func() bool {
			return answered.Load() > before+callers
		}, "calls go on after the move")
	}
	close(stop)
	load.Wait()
	day, period := c.usedDay(t, one), c.usedPeriod(t, one)
	expect.Equal(t, day, period)
	expect.Between(t, day, 10*answered.Load(), 10*(answered.Load()+lost.Load()))
	c.wantUsage(t, one, usage{"ok": {day / 10, day}})
}

func TestCluster_HalfOfAShardAdmitsNothingWrongly(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	c := setupOwnCluster(t)
	one, at := c.clients[0], 0
	r := c.mustAdmit(t, one, charge(10))
	answered, refunded := int64(1), int64(0)
	for _, first := range []string{"b:", "dirty", "win:", "day:", "ap:", "cfg:", "key:", "s:", "sealed"} {
		next := (at + 1) % len(c.cluster.Nodes)
		pick := func(name string) bool { return strings.HasPrefix(name, tagOf(one)+first) }
		c.cluster.MoveSlot(t, tagOf(one), c.cluster.Nodes[at], c.cluster.Nodes[next], pick, func() {
			if a, err := c.meter.Admit(c.ctx, one.Subject, charge(10)); err == nil && a.Admitted {
				answered++
			}
			if err := c.meter.Refund(c.ctx, one.Subject, charge(10), r, first, "upstream_timeout"); err == nil {
				refunded++
			}
			_, _, _ = c.meter.SealedBuckets(c.ctx, account.Shard(one.Account), true, everything) // it may be refused
		})
		at = next
		if a, err := c.meter.Admit(c.ctx, one.Subject, charge(10)); err != nil || !a.Admitted {
			t.Errorf("after the move that began with %s: %+v, %v", first, a, err)
		}
		answered++
		if day, period := c.usedDay(t, one), c.usedPeriod(t, one); day != 10*(answered-refunded) || period != day {
			t.Fatalf("the move that began with %s: %d and %d units stand for %d calls and %d refunds", first, day,
				period, answered, refunded)
		}
	}
	want := usage{"ok": {answered, 10 * answered}}
	if refunded > 0 {
		want["refund"], want["upstream_timeout"] = figures{-refunded, -10 * refunded}, figures{requests: refunded}
	}
	c.wantUsage(t, one, want)
}
