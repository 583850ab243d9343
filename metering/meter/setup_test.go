package meter_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/redisconn"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
)

const (
	testTimeout = 30 * time.Second
	unlimited   = account.Unlimited
	everything  = 1 << 20
)

// bundle is a meter over its own server or the shared cluster. mini is set when the server is the
// embedded one, whose clock stands still.
type bundle struct {
	ctx    context.Context //nolint:containedctx // a test's own
	url    string
	meter  *meter.Meter
	rdb    redis.UniversalClient // for reading Redis directly
	mini   *miniredis.Miniredis
	shared bool
}

// noon is the time at which the embedded server's clock starts.
var noon = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

// Tests share one cluster, each on shards that no other test touches.
var (
	shared        testkit.Shared
	sharedCluster = sync.OnceValue(func() *testkit.RedisClusterServers { return testkit.RedisCluster(&shared) })

	claimedMu sync.Mutex // guards claimed
	claimed   = map[int]bool{}
)

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

// ownAccount returns an account on a shard that no other test uses, while there are enough.
func ownAccount() account.ID {
	claimedMu.Lock()
	defer claimedMu.Unlock()
	for {
		if id := account.NewID(); !claimed[account.Shard(id)] || len(claimed) > account.Shards*3/4 {
			claimed[account.Shard(id)] = true
			return id
		}
	}
}

func setupRedis(t testing.TB) (*bundle, *testkit.RedisServer) {
	t.Helper()
	server := testkit.Redis(t)
	return connect(t, server.URL), server
}

func setupMini(t testing.TB) *bundle {
	t.Helper()
	mini := miniredis.RunT(t)
	mini.SetTime(noon)
	b := connect(t, "redis://"+mini.Addr()+"/0")
	b.mini = mini
	return b
}

// setupCluster opens a meter over the shared cluster.
func setupCluster(t testing.TB) *bundle {
	t.Helper()
	b := connect(t, sharedCluster().URL)
	b.shared = true
	return b
}

// onBoth runs a test against a Redis process, a cluster, and the embedded server that development
// falls back to. The cluster is shared: a test that reads more than its own accounts uses
// onBothAlone.
func onBoth(t *testing.T, test func(t *testing.T, b *bundle)) {
	t.Helper()
	onBothAlone(t, test, setupCluster)
}

// onBothAlone is onBoth with another set-up of the cluster; by default it is the test's own.
func onBothAlone(t *testing.T, test func(t *testing.T, b *bundle), cluster ...func(testing.TB) *bundle) {
	t.Helper()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		b, _ := setupRedis(t)
		test(t, b)
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		if len(cluster) > 0 {
			test(t, cluster[0](t))
			return
		}
		test(t, connect(t, testkit.RedisCluster(t).URL))
	})
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		test(t, setupMini(t))
	})
}

func connect(t testing.TB, url string) *bundle {
	t.Helper()
	testkit.RoomIn(t, 24*time.Hour, time.Minute)
	ctx, cancel := context.WithTimeout(context.Background(), 2*testTimeout)
	t.Cleanup(cancel)
	b := &bundle{ctx: ctx, url: url, meter: openMeter(ctx, t, url)}
	where, err := redisconn.Parse(url)
	if err != nil {
		t.Fatal(err)
	}
	if b.rdb, err = redisconn.Open(where, redisconn.Certificates{}); err != nil {
		t.Fatal(err)
	}
	if cluster, ok := b.rdb.(*redis.ClusterClient); ok {
		b.rdb = wholeCluster{cluster}
	}
	t.Cleanup(func() { _ = b.rdb.Close() })
	return b
}

// wholeCluster sends to every master what the client would send to one.
type wholeCluster struct{ *redis.ClusterClient }

func (c wholeCluster) Keys(ctx context.Context, pattern string) *redis.StringSliceCmd {
	all := redis.NewStringSliceCmd(ctx)
	var mu sync.Mutex // guards names
	var names []string
	all.SetErr(c.ForEachMaster(ctx, func(ctx context.Context, m *redis.Client) error {
		some, err := m.Keys(ctx, pattern).Result()
		mu.Lock()
		defer mu.Unlock()
		names = append(names, some...)
		return err
	}))
	all.SetVal(names)
	return all
}

func (c wholeCluster) FlushAll(ctx context.Context) *redis.StatusCmd {
	all := redis.NewStatusCmd(ctx)
	all.SetErr(c.ForEachMaster(ctx, func(ctx context.Context, m *redis.Client) error { return m.FlushAll(ctx).Err() }))
	return all
}

func openMeter(ctx context.Context, t testing.TB, url string) *meter.Meter {
	t.Helper()
	m, err := meter.Open(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// now returns the server's time.
func (b *bundle) now(t testing.TB) time.Time {
	t.Helper()
	now, err := b.meter.Now(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	return now.UTC()
}

// client is an account with one key, as the meter knows them.
type client struct {
	*meter.Subject
	account account.AccountLimits
	key     account.KeyLimits
}

// client makes an account whose month began ten days ago, without limits unless change sets some,
// puts it in force, and starts its counters at 0.
func (b *bundle) client(t testing.TB, change func(a *account.AccountLimits, k *account.KeyLimits)) *client {
	t.Helper()
	c := b.stranger(t, change)
	b.push(t, c)
	b.seed(t, c, figure{})
	return c
}

// stranger returns a client that the meter does not know.
func (b *bundle) stranger(t testing.TB, change func(a *account.AccountLimits, k *account.KeyLimits)) *client {
	t.Helper()
	now := b.now(t)
	id, key := account.NewID(), account.NewKeyID()
	if b.shared {
		id = ownAccount()
	}
	start := now.Add(-10 * 24 * time.Hour)
	end := now.Add(20 * 24 * time.Hour)
	c := &client{
		account: account.AccountLimits{
			Account: id, Version: 1, Status: account.Active, Figures: account.Figures{
				Rate: account.RateWindow{Limit: -1, Per: time.Second}, DrawsPacks: true,
			},
			Current: account.Period{Start: start, End: end, Quota: unlimited},
			Next:    account.Period{Start: end, End: end.Add(30 * 24 * time.Hour), Quota: unlimited},
		},
		key: account.KeyLimits{Key: key, Account: id, Version: 1, Status: account.Active, Daily: unlimited},
	}
	if change != nil {
		change(&c.account, &c.key)
	}
	c.Subject = meter.NewSubject(account.Identity{Key: key, Account: id}, account.Digest{})
	return c
}

// push loads a client's limits, as package limits does when they are missing.
func (b *bundle) push(t testing.TB, c *client) {
	t.Helper()
	load, err := b.meter.BeginLoadAccount(b.ctx, c.Account)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := b.meter.PushLoadedAccount(b.ctx, c.account, load); err != nil || !ok {
		t.Fatalf("load the account: %t, %v", ok, err)
	}
	if load, err = b.meter.BeginLoadKey(b.ctx, c.Account, c.Key); err != nil {
		t.Fatal(err)
	}
	if ok, err := b.meter.PushLoadedKey(b.ctx, c.key, load, c.periods()...); err != nil || !ok {
		t.Fatalf("load the key: %t, %v", ok, err)
	}
}

// periods returns the names of the client's current and next period.
func (c *client) periods() []string { return []string{c.account.Current.Key(), c.account.Next.Key()} }

// change puts a change of a client's limits in force.
func (b *bundle) change(t testing.TB, c *client, change func(a *account.AccountLimits, k *account.KeyLimits)) {
	t.Helper()
	change(&c.account, &c.key)
	c.account.Version++
	c.key.Version++
	if err := b.meter.PushAccount(b.ctx, c.account); err != nil {
		t.Fatal(err)
	}
	if err := b.meter.PushKey(b.ctx, c.key, c.periods()...); err != nil {
		t.Fatal(err)
	}
}

// figure is what the record knows of a counter, in a test.
type figure struct {
	units   plan.Units
	flushed []string
}

// seed seeds every missing counter that the client's limits ask for.
func (b *bundle) seed(t testing.TB, c *client, f figure) {
	t.Helper()
	period := c.account.Current.Key()
	var counters []account.Counter
	if c.account.Current.Quota >= 0 || c.account.SoftRate.Limit > 0 {
		counters = append(counters, account.Counter{Period: period, Source: account.SourcePlan})
	}
	for s := range c.account.Services.Caps {
		counters = append(counters, account.Counter{Period: period, Service: string(s)})
	}
	if c.key.MonthlyCap > 0 {
		counters = append(counters, account.Counter{Period: period, Key: c.Key})
	}
	for s := range c.key.Services.Caps {
		counters = append(counters, account.Counter{Period: period, Key: c.Key, Service: string(s)})
	}
	for _, p := range c.account.Packs {
		counters = append(counters, account.Counter{Source: p.ID.Source()})
	}
	if c.key.Daily >= 0 {
		counters = append(counters, account.Counter{Day: b.now(t), Key: c.Key})
	}
	b.seedCounters(t, c, f, counters...)
}

func (b *bundle) seedPeriod(t testing.TB, c *client, period string, f figure) {
	t.Helper()
	b.seedCounters(t, c, f, account.Counter{Period: period, Source: account.SourcePlan})
}

func (b *bundle) seedDay(t testing.TB, c *client, day time.Time) {
	t.Helper()
	b.seedCounters(t, c, figure{}, account.Counter{Day: day, Key: c.Key})
}

func (b *bundle) seedCounters(t testing.TB, c *client, f figure, counters ...account.Counter) {
	t.Helper()
	ok, err := b.trySeed(t, c, b.flushToken(t, c), f, counters...)
	if err != nil || !ok {
		t.Fatalf("seed %v: %t, %v", counters, ok, err)
	}
}

// trySeed seeds with a token that was read before.
func (b *bundle) trySeed(t testing.TB, c *client, token int64, f figure, counters ...account.Counter) (bool, error) {
	t.Helper()
	figures := make([]meter.Figure, len(counters))
	for i, counter := range counters {
		figures[i] = meter.Figure{Counter: counter, Units: f.units, Keep: time.Hour}
	}
	return b.meter.Seed(b.ctx, c.Account, c.Key, figures, meter.Snapshot{FlushToken: token, Flushed: f.flushed})
}

func (b *bundle) flushToken(t testing.TB, c *client) int64 {
	t.Helper()
	token, err := b.meter.FlushToken(b.ctx, c.Account)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func charge(units plan.Units) *meter.Call {
	return &meter.Call{
		Mode: meter.Charge, Units: units, Chain: "eth_mainnet", Service: "rpc", Method: "eth_call", Class: "standard",
		Tier: "balanced",
	}
}

func hit() *meter.Call {
	c := charge(0)
	c.Mode = meter.Hit
	return c
}

func windowOnly(reason string) *meter.Call {
	c := charge(0)
	c.Mode, c.Reason = meter.WindowOnly, reason
	return c
}

func (b *bundle) admit(t testing.TB, c *client, call *meter.Call) meter.Admission {
	t.Helper()
	a, err := b.meter.Admit(b.ctx, c.Subject, call)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (b *bundle) mustAdmit(t testing.TB, c *client, call *meter.Call) meter.Receipt {
	t.Helper()
	a := b.admit(t, c, call)
	if !a.Admitted {
		t.Fatalf("not admitted: %+v", a)
	}
	return a.Receipt
}

func (b *bundle) mustRefuse(t testing.TB, c *client, call *meter.Call, reason string) meter.Admission {
	t.Helper()
	a := b.admit(t, c, call)
	require.Equal(t, a.Refused, reason)
	require.False(t, a.Admitted)
	require.Empty(t, a.Missing)
	require.False(t, a.Moved)
	return a
}

func tagOf(c *client) string { return fmt.Sprintf("{u%04d}:", account.Shard(c.Account)) }

func dayKey(c *client, at time.Time) string {
	return tagOf(c) + "day:" + c.Key.String() + ":" + strconv.FormatInt(at.Unix()/86400, 10)
}

func periodKey(c *client, period string) string {
	return tagOf(c) + "ap:" + c.Account.String() + ":" + period
}

func windowKey(c *client) string { return tagOf(c) + "win:" + c.Account.String() }

// windowOf returns the state of a rate window, for comparison.
func (b *bundle) windowOf(c *client) string {
	return fmt.Sprint(b.rdb.HGetAll(b.ctx, windowKey(c)).Val())
}

// counter reads a counter; −1 when it is missing.
func (b *bundle) counter(t testing.TB, name string) int64 {
	t.Helper()
	n, err := b.rdb.Get(b.ctx, name).Int64()
	if b.rdb.Type(b.ctx, name).Val() == "hash" {
		n, err = b.rdb.HGet(b.ctx, name, "u").Int64()
	}
	switch {
	case err == redis.Nil: //nolint:errorlint // go-redis returns it bare
		return -1
	case err != nil:
		t.Fatal(err)
	}
	return n
}

func (b *bundle) usedDay(t testing.TB, c *client) int64 {
	t.Helper()
	return b.counter(t, dayKey(c, b.now(t)))
}

func (b *bundle) usedPeriod(t testing.TB, c *client) int64 {
	t.Helper()
	return b.counter(t, periodKey(c, c.account.Current.Key()))
}

// buckets seals and returns all buckets of a client.
func (b *bundle) buckets(t testing.TB, c *client) []account.UsageBucket {
	t.Helper()
	all, _, err := b.meter.SealedBuckets(b.ctx, account.Shard(c.Account), true, everything)
	if err != nil {
		t.Fatal(err)
	}
	own := all[:0]
	for _, bucket := range all {
		if bucket.Account == c.Account {
			own = append(own, bucket)
		}
	}
	return own
}

// usage is what a client's buckets hold, by outcome.
type usage map[string]figures

type figures struct{ requests, units int64 }

func (b *bundle) usage(t testing.TB, c *client) usage {
	t.Helper()
	u := usage{}
	for _, bucket := range b.buckets(t, c) {
		for _, line := range bucket.Lines {
			f := u[line.Outcome]
			f.requests += line.Requests
			f.units += int64(line.Units)
			u[line.Outcome] = f
		}
	}
	return u
}

func (b *bundle) wantUsage(t testing.TB, c *client, want usage) {
	t.Helper()
	if got := b.usage(t, c); !maps.Equal(got, want) {
		t.Errorf("usage is %v, want %v", got, want)
	}
}

// snapshot returns everything in the server, or of a shared one in the client's shard, except keys
// with these prefixes after the hash tag.
func (b *bundle) snapshot(t testing.TB, c *client, except ...string) map[string]string {
	t.Helper()
	pattern := "*"
	if b.shared {
		pattern = tagOf(c) + "*"
	}
	names, err := b.rdb.Keys(b.ctx, pattern).Result()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range names {
		if skip(name, tagOf(c), except) {
			continue
		}
		switch kind := b.rdb.Type(b.ctx, name).Val(); kind {
		case "string":
			all[name] = b.rdb.Get(b.ctx, name).Val()
		case "hash":
			all[name] = fmt.Sprint(b.rdb.HGetAll(b.ctx, name).Val())
		case "zset":
			all[name] = fmt.Sprint(b.rdb.ZRangeWithScores(b.ctx, name, 0, -1).Val())
		default:
			t.Fatalf("key %s is a %s", name, kind)
		}
	}
	return all
}

func skip(name, tag string, except []string) bool {
	for _, prefix := range except {
		if len(name) >= len(tag+prefix) && name[:len(tag+prefix)] == tag+prefix {
			return true
		}
	}
	return false
}
