package meter_test

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store/usagedb"
)

// openLatencies returns a buffer that is written when it is closed or half full, unless an interval
// is set.
func openLatencies(t testing.TB, m *meter.Meter, o meter.LatencyOptions) *meter.Latencies {
	t.Helper()
	if o.Interval == 0 {
		o.Interval = time.Hour
	}
	o.Logger = slog.New(slog.DiscardHandler)
	l := meter.NewLatencies(m, o)
	t.Cleanup(func() { _ = l.Close(context.WithoutCancel(t.Context())) })
	return l
}

func (b *bundle) closeLatencies(t testing.TB, l *meter.Latencies) {
	t.Helper()
	if err := l.Close(b.ctx); err != nil {
		t.Error(err)
	}
}

// took is what distinguishes an account's latencies.
type took struct {
	key     account.KeyID
	chain   string
	outcome string
	bucket  int
}

// latencies returns what the meter has of a client, by line and histogram bucket.
func (b *bundle) latencies(t testing.TB, c *client) map[took]int64 {
	t.Helper()
	found := map[took]int64{}
	for _, bucket := range b.buckets(t, c) {
		for _, l := range bucket.Latencies {
			if l.Service != "rpc" || l.Class != "standard" {
				t.Errorf("latencies are of %s, %s", l.Service, l.Class)
			}
			found[took{l.Key, l.Chain, l.Outcome, l.Bucket}] += l.Calls
		}
	}
	return found
}

func (b *bundle) wantLatencies(t testing.TB, c *client, want map[took]int64) {
	t.Helper()
	if got := b.latencies(t, c); !maps.Equal(got, want) {
		t.Errorf("latencies are %v, want %v", got, want)
	}
}

func TestLatencies_ReachTheBucketsOfTheirAccounts(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		one, other := b.client(t, nil), b.client(t, nil)
		second := meter.NewSubject(account.Identity{Key: account.NewKeyID(), Account: one.Account}, account.Digest{})
		onBase := charge(1000)
		onBase.Chain = "base_mainnet"
		b.mustAdmit(t, one, charge(1000)) // opens a bucket; that of the other is opened by the latencies
		l := openLatencies(t, b.meter, meter.LatencyOptions{})
		for range 3 {
			l.Observe(one.Subject, charge(1000), time.Millisecond)
		}
		l.Observe(one.Subject, charge(7), 30*time.Millisecond)
		l.Observe(one.Subject, hit(), time.Millisecond)
		l.Observe(one.Subject, onBase, time.Millisecond)
		l.Observe(second, charge(1000), time.Millisecond)
		l.Observe(other.Subject, charge(1000), -time.Second) // as after a step of the clock
		if err := l.Close(b.ctx); err != nil {
			t.Fatal(err)
		}
		b.mustAdmit(t, other, charge(1000)) // into a bucket that is open already, most likely
		if l.Written() != 8 || l.Dropped() != 0 {
			t.Errorf("%d written and %d dropped, want 8 and none", l.Written(), l.Dropped())
		}
		fast, slow := account.LatencyBucketOf(time.Millisecond), account.LatencyBucketOf(30*time.Millisecond)
		b.wantLatencies(t, one, map[took]int64{
			{one.Key, "eth_mainnet", "ok", fast}:    3,
			{one.Key, "eth_mainnet", "ok", slow}:    1,
			{one.Key, "eth_mainnet", "hit", fast}:   1,
			{one.Key, "base_mainnet", "ok", fast}:   1,
			{second.Key, "eth_mainnet", "ok", fast}: 1,
		})
		b.wantLatencies(t, other, map[took]int64{{other.Key, "eth_mainnet", "ok", 0}: 1})
		b.wantUsage(t, one, usage{"ok": {1, 1000}})
		b.wantUsage(t, other, usage{"ok": {1, 1000}})
	})
}

// A bucket that latencies open is like every other: it is sealed, and returned until it is dropped.
func TestLatencies_BucketOpenedByThemIsSealedAndDropped(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, nil)
		l := openLatencies(t, b.meter, meter.LatencyOptions{})
		l.Observe(c.Subject, charge(1000), time.Second)
		b.closeLatencies(t, l)
		if dirty, err := b.meter.DirtyShards(b.ctx, 0, account.Shards); err != nil ||
			!slices.Contains(dirty, account.Shard(c.Account)) {
			t.Fatalf("shards %v have something to flush, %v", dirty, err)
		}
		sealed := b.buckets(t, c)
		in := expect.In(t, "one bucket with latencies alone")
		require.Len(in, sealed, 1)
		require.NotEqual(in, sealed[0].Generation, "")
		require.Empty(in, sealed[0].Lines)
		require.Len(in, sealed[0].Latencies, 1)
		if err := b.meter.DropBuckets(b.ctx, sealed); err != nil {
			t.Fatal(err)
		}
		if left := b.rdb.Keys(b.ctx, tagOf(c)+"[bs]:*").Val(); len(left) != 0 {
			t.Errorf("dropped buckets left %v", left)
		}
	})
}

// Latencies are in the same buckets as usage, and a counter that is seeded from there does not
// count them as units.
func TestLatencies_CounterSeededBesideThemHoldsUsageAlone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, limits(noWindow, 1<<50, 1<<50))
		for round := range 2 { // the first one's bucket is sealed
			b.mustAdmit(t, c, charge(1000))
			l := openLatencies(t, b.meter, meter.LatencyOptions{})
			for range 50 {
				l.Observe(c.Subject, charge(1000), time.Duration(round+1)*time.Second)
			}
			b.closeLatencies(t, l)
			if round == 0 {
				b.buckets(t, c)
			}
		}
		b.rdb.Del(b.ctx, dayKey(c, b.now(t)), periodKey(c, c.account.Current.Key()))
		b.seed(t, c, figure{})
		if day, period := b.usedDay(t, c), b.usedPeriod(t, c); day != 2000 || period != 2000 {
			t.Errorf("the day is seeded with %d and the period with %d, want 2000", day, period)
		}
	})
}

func TestLatencies_LostReplyCountsAtMostOnce(t *testing.T) {
	t.Parallel()
	for name, swallow := range map[string]int64{"connection ends": 1, "silence": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := testkit.Redis(t)
			b := connect(t, server.URL)
			p := startProxy(t, server.Addr)
			c := b.client(t, nil)
			m := openMeter(b.ctx, t, "redis://"+p.listener.Addr().String()+"/0")
			l := openLatencies(t, m, meter.LatencyOptions{})
			for range 5 {
				l.Observe(c.Subject, charge(1), time.Second)
			}
			p.swallow.Store(swallow)
			if err := l.Close(b.ctx); err == nil || !strings.Contains(err.Error(), "5 calls") {
				t.Errorf("closed with %v, want an error that says how many calls were lost", err)
			}
			p.swallow.Store(0)
			if got := p.count("evalsha"); got != 1 {
				t.Errorf("latencies whose reply was lost were sent %d times, want once", got)
			}
			if l.Written() != 0 || l.Dropped() != 5 {
				t.Errorf("%d written and %d dropped, want 5 dropped", l.Written(), l.Dropped())
			}
			// the server has run it
			b.wantLatencies(t, c, map[took]int64{{c.Key, "eth_mainnet", "ok", account.LatencyBucketOf(time.Second)}: 5})
		})
	}
}

// A failed script loses its counts; counts that were not sent are kept for the next write.
func TestLatencies_UnsentAreKept(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	b := connect(t, server.URL)
	p := startProxy(t, server.Addr)
	m := openMeter(b.ctx, t, "redis://"+p.listener.Addr().String()+"/0")
	clients := make([]*client, 8)
	for i := range clients {
		clients[i] = b.client(t, nil)
	}
	l := openLatencies(t, m, meter.LatencyOptions{Interval: 10 * time.Millisecond})
	p.swallow.Store(1)
	for _, c := range clients {
		l.Observe(c.Subject, charge(1), time.Second)
	}
	testkit.Eventually(t, testTimeout, func() bool {
		return l.Written()+l.Dropped() == int64(len(clients))
	}, "all are written or lost")
	b.closeLatencies(t, l)
	expect.NotEqual(t, l.Dropped(), 0)
	expect.NotEqual(t, l.Written(), 0)
	expect.AtMost(t, p.count("evalsha"), len(clients))
	for i, c := range clients {
		if got := b.latencies(t, c); len(got) != 1 || got[took{
			c.Key, "eth_mainnet", "ok", account.LatencyBucketOf(time.Second),
		}] != 1 {
			t.Errorf("client %d has %v", i, got)
		}
	}
}

// While no Redis answers, a few counts are lost, not all that wait.
func TestLatencies_WaitForARedisThatIsAway(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	b := connect(t, server.URL)
	p := startProxy(t, server.Addr)
	m := openMeter(b.ctx, t, "redis://"+p.listener.Addr().String()+"/0")
	l := openLatencies(t, m, meter.LatencyOptions{Interval: 10 * time.Millisecond})
	p.swallow.Store(-1)
	const accounts = 20
	for range accounts {
		l.Observe(b.stranger(t, nil).Subject, charge(1), time.Second)
	}
	testkit.Eventually(t, testTimeout, func() bool { return l.Dropped() > 0 }, "the first is given up")
	p.swallow.Store(0)
	testkit.Eventually(t, testTimeout, func() bool {
		return l.Written()+l.Dropped() == accounts
	}, "the others are written")
	b.closeLatencies(t, l)
	if l.Dropped() >= accounts/2 {
		t.Errorf("%d of %d are lost", l.Dropped(), accounts)
	}
}

func TestLatencies_FullBufferDropsTheNewestAndNeverWaits(t *testing.T) {
	t.Parallel()
	server := testkit.Redis(t)
	b := connect(t, server.URL)
	p := startProxy(t, server.Addr)
	c := b.client(t, nil)
	m := openMeter(b.ctx, t, "redis://"+p.listener.Addr().String()+"/0")
	l := openLatencies(t, m, meter.LatencyOptions{Most: 1})
	p.swallow.Store(-1)
	l.Observe(c.Subject, charge(1), time.Second) // fills the buffer, so it is written
	testkit.Eventually(t, testTimeout, func() bool { return p.count("evalsha") == 1 }, "the first is being written")
	l.Observe(c.Subject, charge(1), 2*time.Second)
	l.Observe(c.Subject, charge(1), 4*time.Second) // one too many
	l.Observe(c.Subject, charge(1), 2*time.Second) // known already
	if got := l.Dropped(); got < 1 {
		t.Errorf("%d dropped, want the one for which there is no room", got)
	}
	p.swallow.Store(0)
	_ = l.Close(b.ctx) // what was being written meanwhile may be lost
	if l.Written()+l.Dropped() != 4 {
		t.Errorf("%d written and %d dropped of 4", l.Written(), l.Dropped())
	}
	dropped := l.Dropped()
	l.Observe(c.Subject, charge(1), time.Second)
	if got := l.Dropped() - dropped; got != 1 {
		t.Errorf("%d dropped after the end, want the one that came then", got)
	}
	b.closeLatencies(t, l) // again
	var there int64
	for _, calls := range b.latencies(t, c) {
		there += calls
	}
	if there < l.Written() || there > 3 {
		t.Errorf("the meter has %d, of %d written", there, l.Written())
	}
}

func TestLatencies_OutliveScriptsThatRedisForgets(t *testing.T) {
	t.Parallel()
	b, _ := setupRedis(t)
	c := b.client(t, nil)
	l := openLatencies(t, b.meter, meter.LatencyOptions{})
	l.Observe(c.Subject, charge(1), time.Second)
	if err := b.rdb.ScriptFlush(b.ctx).Err(); err != nil {
		t.Fatal(err)
	}
	b.closeLatencies(t, l)
	b.wantLatencies(t, c, map[took]int64{{c.Key, "eth_mainnet", "ok", account.LatencyBucketOf(time.Second)}: 1})
}

func TestLatencies_ThatNoScriptWroteAreRefusedAsUsage(t *testing.T) {
	t.Parallel()
	b := setupMini(t)
	c := b.client(t, nil)
	b.mustAdmit(t, c, charge(1))
	good := "l|" + c.Key.String() + "|eth_mainnet|rpc|standard|ok|"
	name := tagOf(c) + "b:" + time64(noon) + ":" + c.Account.String()
	for field, value := range map[string]string{
		good + "5": "3", good + "a": "1", good + "6": "x", good + "9999": "1", good + "102": "1", good + "7": "0",
		"l|1|2": "1", "l|": "1",
	} {
		b.rdb.HSet(b.ctx, name, field, value)
	}
	sealed := b.buckets(t, c)
	in := expect.In(t, "one good count")
	require.Len(in, sealed, 1)
	require.Len(in, sealed[0].Latencies, 1)
	require.Equal(in, sealed[0].Latencies[0].Calls, 3)
	require.Equal(in, sealed[0].Latencies[0].Bucket, 5)
	foreign := 0
	for _, line := range sealed[0].Lines {
		if strings.HasPrefix(line.Period, "foreign field") {
			foreign++
		}
	}
	if foreign != 7 {
		t.Errorf("%d lines tell of fields that no script wrote, want 7: %+v", foreign, sealed[0].Lines)
	}
}

// Two processes count calls of the same accounts while two flushers move buckets, one of which
// always dies before the drop.
func TestLatencies_OfProcessesAddUpExactlyOnceInTheRecord(t *testing.T) {
	t.Parallel()
	r := setupRecorded(t)
	since := r.now(t).Add(-time.Hour)
	clients := make([]*client, 4)
	for i := range clients {
		clients[i] = r.client(t, nil)
	}
	other := openMeter(r.ctx, t, r.url)
	done := make(chan struct{})
	var flushes, load sync.WaitGroup
	flushes.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			_ = r.flusher(killed{r.meter}).FlushAll(r.ctx)
			if err := r.flusher(r.meter).FlushAll(r.ctx); err != nil {
				t.Error(err)
			}
		}
	})
	const rounds = 400
	var fed atomic.Int64
	for _, m := range []*meter.Meter{r.meter, other} {
		l := openLatencies(t, m, meter.LatencyOptions{Interval: time.Millisecond})
		var callers sync.WaitGroup
		for _, c := range clients {
			callers.Go(func() {
				for n := range rounds {
					l.Observe(c.Subject, charge(1), time.Duration(n)*time.Millisecond)
					fed.Add(1)
				}
			})
		}
		load.Go(func() {
			callers.Wait()
			r.closeLatencies(t, l)
		})
	}
	load.Wait()
	close(done)
	flushes.Wait()
	r.flushAll(t)
	var want account.Latency
	for n := range rounds {
		want[account.LatencyBucketOf(time.Duration(n)*time.Millisecond)] += 2 // of two processes
	}
	for i, c := range clients {
		if got := r.latencyInRecord(t, c, since); got != want {
			t.Errorf("client %d has %v in the record, want %v", i, got, want)
		}
	}
	if fed.Load() != int64(2*len(clients)*rounds) {
		t.Errorf("%d calls were counted", fed.Load())
	}
}

// latencyInRecord returns what PostgreSQL has of a client since an instant.
func (r *recorded) latencyInRecord(t testing.TB, c *client, since time.Time) account.Latency {
	t.Helper()
	all, err := r.store.Latency(r.ctx, usagedb.LatencyQuery{
		Account: c.Account, Since: since, Until: since.Add(24 * time.Hour),
	})
	if err != nil || len(all) > 1 {
		t.Fatalf("%d groups, %v", len(all), err)
	}
	if len(all) == 0 {
		return account.Latency{}
	}
	return all[0].Answered()
}

// Observe is on the hot path: it may cost a lock and a look-up, and no allocation.
func TestLatencies_ObservingAllocatesNothing(t *testing.T) { //nolint:paralleltest // allocations are counted per process
	b := setupMini(t)
	c := b.client(t, nil)
	l := openLatencies(t, b.meter, meter.LatencyOptions{})
	call := charge(plan.Unit)
	l.Observe(c.Subject, call, time.Millisecond)
	if n := testing.AllocsPerRun(1000, func() { l.Observe(c.Subject, call, time.Millisecond) }); n != 0 {
		t.Errorf("an observation allocates %v times", n)
	}
}

func BenchmarkObserveLatency(b *testing.B) {
	bundle := setupMini(b)
	clients := make([]*client, 64)
	for i := range clients {
		clients[i] = bundle.client(b, nil)
	}
	l := openLatencies(b, bundle.meter, meter.LatencyOptions{Interval: time.Second})
	call := charge(plan.Unit)
	b.ReportAllocs()
	var callers atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for n := callers.Add(7); pb.Next(); n++ {
			l.Observe(clients[n%64].Subject, call, time.Duration(n%50)*time.Millisecond)
		}
	})
}
