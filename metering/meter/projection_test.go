package meter_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/meter"
)

func TestProjection_OlderNeverOverwritesANewer(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, nil)
		active := *c
		b.change(t, c, func(a *account.AccountLimits, k *account.KeyLimits) {
			a.Status, k.Status = account.Suspended, account.Revoked
		})
		b.push(t, &active) // an old load that arrives late
		b.mustRefuse(t, c, charge(1), "key_invalid")
		same := *c
		same.account.Status, same.key.Status = account.Active, account.Active
		b.push(t, &same) // the same version with other content: the first one stays
		b.mustRefuse(t, c, charge(1), "key_invalid")
		if err := b.meter.PushKey(b.ctx, withVersion(same.key, 10)); err != nil {
			t.Fatal(err)
		}
		b.mustRefuse(t, c, charge(1), "account_suspended")
		same.account.Version = 10 // as a number, not as text
		if err := b.meter.PushAccount(b.ctx, same.account); err != nil {
			t.Fatal(err)
		}
		b.mustAdmit(t, c, charge(1))
	})
}

func withVersion(k account.KeyLimits, version int64) account.KeyLimits {
	k.Version = version
	return k
}

func TestProjection_HighestVersionWinsInAnyOrder(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, nil)
		const versions = 60
		var wg sync.WaitGroup
		for _, v := range rand.Perm(versions) { //nolint:gosec // any order
			wg.Go(func() {
				k, a := withVersion(c.key, int64(v)+2), c.account
				a.Version = int64(v) + 2
				if v == versions-1 {
					k.Status, a.Rate = account.Revoked, account.RateWindow{Limit: 77, Per: time.Second}
				}
				if err := b.meter.PushKey(b.ctx, k); err != nil {
					t.Error(err)
				}
				if err := b.meter.PushAccount(b.ctx, a); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		b.mustRefuse(t, c, charge(1), "key_invalid")
		if got := b.rdb.HGet(b.ctx, tagOf(c)+"cfg:"+c.Account.String(), "rl").Val(); got != "77" {
			t.Errorf("the account's window is %s, want the one of the highest version, 77", got)
		}
	})
}

func TestProjection_SameVersionIsRenewedOnlyByLaterPeriods(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, limits(noWindow, unlimited, 1000))
		earlier, later := c.account, c.account
		later.Current, later.Next = c.account.Next, account.Period{
			Start: c.account.Next.End, End: c.account.Next.End.AddDate(0, 1, 0), Quota: 1000,
		}
		for _, a := range []account.AccountLimits{later, earlier} { // the earlier one is a load that arrives late
			if err := b.meter.PushAccount(b.ctx, a); err != nil {
				t.Fatal(err)
			}
		}
		if got := b.rdb.HGet(b.ctx, tagOf(c)+"cfg:"+c.Account.String(), "p").Val(); got != later.Current.Key() {
			t.Errorf("the current period is %s, want %s", got, later.Current.Key())
		}
		older := later
		older.Version, older.Current.End = 0, later.Current.End.AddDate(1, 0, 0)
		if err := b.meter.PushAccount(b.ctx, older); err != nil {
			t.Fatal(err)
		}
		if got := b.rdb.HGet(b.ctx, tagOf(c)+"cfg:"+c.Account.String(), "v").Val(); got != "1" {
			t.Errorf("version %s is in force, want 1: later periods make no older version newer", got)
		}
	})
}

// The counter is the record's figure plus the open buckets and the sealed ones that the figure does
// not include.
func TestSeed_IsTheRecordAndWhatIsNotFlushed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, limits(noWindow, 100_000, 100_000))
		for range 3 {
			b.mustAdmit(t, c, charge(1000)) // will be in the record
		}
		var held []string
		for _, bucket := range b.buckets(t, c) {
			held = append(held, meter.BucketName(bucket.Slot, bucket.Account, bucket.Generation))
		}
		b.mustAdmit(t, c, charge(200)) // will be sealed
		b.buckets(t, c)
		r := b.mustAdmit(t, c, charge(40)) // stays open
		b.mustAdmit(t, c, charge(5))
		b.refund(t, c, charge(40), r, "request") // stays open too
		b.mustAdmit(t, c, hit())
		want := int64(205)
		for name, f := range map[string]figure{
			"nothing recorded":  {units: 0},
			"recorded and held": {units: 3000, flushed: held},
			"more recorded":     {units: 3000 + 70_000, flushed: held},
		} {
			b.rdb.Del(b.ctx, dayKey(c, b.now(t)), periodKey(c, c.account.Current.Key()))
			b.seed(t, c, f)
			total := want + int64(f.units)
			if name == "nothing recorded" {
				total += 3000
			}
			if day, period := b.usedDay(t, c), b.usedPeriod(t, c); day != total || period != total {
				t.Errorf("%s: seeded with %d and %d, want %d", name, day, period, total)
			}
		}
		before := b.usedDay(t, c)
		b.seed(t, c, figure{units: 1})
		if after := b.usedDay(t, c); after != before {
			t.Errorf("a counter that was there was seeded again, from %d to %d", before, after)
		}
		if ttl := b.rdb.PTTL(b.ctx, dayKey(c, b.now(t))).Val(); ttl < 59*time.Minute || ttl > time.Hour {
			t.Errorf("the day's counter lives %s", ttl)
		}
	})
}

func TestSeed_CountsOnlyItsOwnKeyDayAndPeriod(t *testing.T) {
	t.Parallel()
	b := setupMini(t)
	midnight := noon.Truncate(24 * time.Hour).Add(24 * time.Hour)
	b.mini.SetTime(midnight.Add(-time.Second))
	c := b.client(t, limits(noWindow, 100_000, 100_000))
	b.mustAdmit(t, c, charge(1000)) // yesterday
	b.mini.SetTime(midnight)
	b.seedDay(t, c, midnight)
	b.mustAdmit(t, c, charge(200))
	// Another key of the same account, and another account of the same shard.
	sibling := *c
	sibling.key.Key = account.NewKeyID()
	sibling.Subject = meter.NewSubject(account.Identity{Key: sibling.key.Key, Account: c.Account}, account.Digest{})
	b.push(t, &sibling)
	b.seedDay(t, &sibling, midnight)
	b.mustAdmit(t, &sibling, charge(30))
	neighbour := b.stranger(t, limits(noWindow, 100_000, 100_000))
	for account.Shard(neighbour.Account) != account.Shard(c.Account) {
		neighbour = b.stranger(t, limits(noWindow, 100_000, 100_000))
	}
	neighbour.account.Current = c.account.Current // the same period
	b.push(t, neighbour)
	b.seed(t, neighbour, figure{})
	b.mustAdmit(t, neighbour, charge(4))
	// A call of the next period of the same account.
	b.rdb.HIncrBy(b.ctx, openBucket(t, b, c), "2027-01-01|ok|plan|"+c.Key.String()+"||c|s|m|x|balanced|1000", 50)

	b.rdb.Del(b.ctx, dayKey(c, midnight), periodKey(c, c.account.Current.Key()))
	b.seed(t, c, figure{})
	if period := b.usedPeriod(t, c); period != 1230 {
		t.Errorf("the period was seeded with %d, want 1000, 200 and the sibling's 30", period)
	}
	if day := b.usedDay(t, c); day != 50_200 {
		t.Errorf("the day was seeded with %d, want 200 and 50000 of whatever period", day)
	}
	if day := b.counter(t, dayKey(&sibling, midnight)); day != 30 {
		t.Errorf("the sibling's day stands at %d, want 30", day)
	}
}

// openBucket returns the name of a client's open bucket of the current slot.
func openBucket(t testing.TB, b *bundle, c *client) string {
	t.Helper()
	slot := b.now(t).Truncate(meter.SlotLength)
	return tagOf(c) + "b:" + time64(slot) + ":" + c.Account.String()
}

func TestSeed_IsRefusedWhenAFlushCameInBetween(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, limits(noWindow, 1000, 1000))
		b.mustAdmit(t, c, charge(400))
		b.rdb.Del(b.ctx, dayKey(c, b.now(t)), periodKey(c, c.account.Current.Key()))
		token := b.flushToken(t, c)
		// PostgreSQL is read here, without the bucket that is flushed now.
		if err := b.meter.DropBuckets(b.ctx, b.buckets(t, c)); err != nil {
			t.Fatal(err)
		}
		day, err1 := b.trySeed(t, c, token, figure{}, account.Counter{Day: b.now(t), Key: c.Key})
		period, err2 := b.trySeed(t, c, token, figure{}, account.Counter{
			Period: c.account.Current.Key(), Source: account.SourcePlan,
		})
		in := expect.In(t, "seeded from figures of before a flush")
		expect.False(in, day)
		expect.False(in, period)
		require.NoError(in, err1)
		expect.NoError(in, err2)
		if b.usedDay(t, c) != -1 || b.usedPeriod(t, c) != -1 {
			t.Error("a counter was made from figures of before a flush")
		}
		b.seed(t, c, figure{units: 400})
		b.mustRefuse(t, c, charge(601), "door_key_day")
		b.mustAdmit(t, c, charge(600))
	})
}

// Redis loses everything after the flusher read a bucket and before PostgreSQL has it. A call in
// between seeds its counters without it.
func TestDropBuckets_DropsCountersSeededWithoutABucketThatWasLost(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c, other := b.client(t, limits(noWindow, 1000, 1000)), b.client(t, limits(noWindow, 1000, 1000))
		b.mustAdmit(t, c, charge(400))
		b.mustAdmit(t, other, charge(300))
		sealed := b.buckets(t, c)
		b.rdb.Del(b.ctx, dayKey(c, b.now(t)), periodKey(c, c.account.Current.Key()), tagOf(c)+"sealed",
			tagOf(c)+"epoch")
		for _, name := range b.rdb.Keys(b.ctx, tagOf(c)+"s:*").Val() {
			b.rdb.Del(b.ctx, name)
		}
		b.seed(t, c, figure{})
		b.mustAdmit(t, c, charge(100))
		if err := b.meter.DropBuckets(b.ctx, sealed); err != nil {
			t.Fatal(err)
		}
		if day, period := b.usedDay(t, c), b.usedPeriod(t, c); day != -1 || period != -1 {
			t.Errorf("the day's counter is %d, the period's %d; want both gone", day, period)
		}
		if day := b.usedDay(t, other); day != 300 {
			t.Errorf("another account's counter is %d, want its 300", day)
		}
		b.seed(t, c, figure{units: 400})
		b.mustRefuse(t, c, charge(501), "door_key_day")
		b.mustAdmit(t, c, charge(500))
	})
}

func TestSeed_ConcurrentOnesMakeOneCounter(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.stranger(t, limits(noWindow, 1000, unlimited))
		b.push(t, c)
		token, now := b.flushToken(t, c), b.now(t)
		var wg sync.WaitGroup
		admitted := make(chan struct{}, 100)
		for range 20 {
			wg.Go(func() {
				if ok, err := b.trySeed(t, c, token, figure{units: 500}, account.Counter{Day: now, Key: c.Key}); !ok ||
					err != nil {
					t.Errorf("seed: %t, %v", ok, err)
				}
				a, err := b.meter.Admit(b.ctx, c.Subject, charge(100))
				if err != nil {
					t.Error(err)
				}
				if a.Admitted {
					admitted <- struct{}{}
				}
			})
		}
		wg.Wait()
		if len(admitted) != 5 {
			t.Errorf("%d calls of 100 admitted with 500 of 1000 used before, want 5", len(admitted))
		}
	})
}

// After a failover a bucket that is recorded already may still be open.
func TestSeed_CountsOnceWhatIsRecordedAndStillOpen(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, limits(noWindow, 100_000, unlimited))
		b.mustAdmit(t, c, charge(1000))
		open := openBucket(t, b, c)
		generation := b.rdb.HGet(b.ctx, open, "g").Val()
		held := meter.BucketName(b.now(t).Truncate(meter.SlotLength), c.Account, generation)
		b.rdb.Del(b.ctx, dayKey(c, b.now(t)))
		b.seed(t, c, figure{units: 1000, flushed: []string{held}})
		if got := b.usedDay(t, c); got != 1000 {
			t.Errorf("seeded with %d, want the 1000 once", got)
		}
	})
}

// Buckets of slots years apart, as a broken clock leaves them, are found without a step for every
// slot in between.
func TestSeed_FindsOpenBucketsHoweverFarApart(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, b *bundle) {
		c := b.client(t, limits(noWindow, unlimited, 100_000))
		b.mustAdmit(t, c, charge(1000))
		const slot = "100"
		b.rdb.HSet(b.ctx, tagOf(c)+"b:"+slot+":"+c.Account.String(), "g", "old",
			c.account.Current.Key()+"|ok|plan|"+c.Key.String()+"||c|rpc|m|x|balanced|70", 1)
		b.rdb.ZAdd(b.ctx, tagOf(c)+"dirty", redis.Z{Score: 100, Member: slot + ":" + c.Account.String()})
		b.rdb.Del(b.ctx, periodKey(c, c.account.Current.Key()))
		b.seed(t, c, figure{})
		if got := b.usedPeriod(t, c); got != 1070 {
			t.Errorf("seeded with %d, want 1070", got)
		}
	})
}

// A Redis without memory refuses everything but deletions: a concurrent seed must not take what it
// read for current.
func TestDropBuckets_WithoutMemoryEndsTheFlushTokenToo(t *testing.T) {
	t.Parallel()
	b, _ := setupRedis(t)
	c := b.client(t, limits(noWindow, unlimited, 100_000))
	b.mustAdmit(t, c, charge(1000))
	b.rdb.Del(b.ctx, periodKey(c, c.account.Current.Key()))
	token, buckets := b.flushToken(t, c), b.buckets(t, c)
	if err := b.rdb.ConfigSet(b.ctx, "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	if err := b.meter.DropBuckets(b.ctx, buckets); err != nil {
		t.Errorf("deletions need no memory: %v", err)
	}
	if err := b.rdb.ConfigSet(b.ctx, "maxmemory", "0").Err(); err != nil {
		t.Fatal(err)
	}
	if left := b.buckets(t, c); len(left) > 0 {
		t.Fatalf("%d buckets left, want them dropped", len(left))
	}
	if ok, err := b.trySeed(t, c, token, figure{}, account.Counter{
		Period: c.account.Current.Key(), Source: account.SourcePlan,
	}); ok || err != nil {
		t.Errorf("seeded %t, %v, from what was read before the buckets went", ok, err)
	}
}
