package usagedb_test

import (
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/internal/storetest"
	"github.com/chainaccess/gateway/store/usagedb"
)

var slot = time.Date(2026, time.November, 20, 9, 59, 50, 0, time.UTC)

func lineOf(key account.KeyID, outcome, source string, requests, units int64) account.UsageLine {
	return account.UsageLine{
		Period: "2026-11-01", Key: key, Chain: "eth_mainnet", Service: "rpc", Method: "eth_getBalance",
		Class: "standard", Outcome: outcome, Source: source, Tier: "balanced", Requests: requests,
		Units: storetest.UnitsOf(units),
	}
}

func bucketOf(id account.ID, at time.Time, generation string, lines ...account.UsageLine) account.UsageBucket {
	return account.UsageBucket{Shard: 7, Slot: at, Account: id, Generation: generation, Lines: lines}
}

func TestUsage_RecommitCountsOnce(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id, key := account.NewID(), account.NewKeyID()
	first := bucketOf(id, slot, "a", lineOf(key, "ok", "day", 3, 3), lineOf(key, "hit", "", 2, 0))
	// The same slot in another generation is different usage, and a refund subtracts.
	second := bucketOf(id, slot, "b", lineOf(key, "ok", "day", 4, 4), lineOf(key, "refund", "day", -1, -1))
	for _, batch := range [][]account.UsageBucket{{first}, {first, second, second}, {second}, nil} {
		if err := s.CommitUsage(ctx, batch); err != nil {
			t.Fatal(err)
		}
	}
	hours := storetest.Must[[]usagedb.UsageHour](t)(s.ListUsage(ctx, id, "2026-11-01"))
	got := map[string]figures{}
	for _, h := range hours {
		got[h.Outcome] = figures{Requests: h.Requests, Units: h.Units}
		if want := slot.Truncate(time.Hour); !h.Hour.Equal(want) || h.Key != key {
			t.Errorf("row is of hour %s and key %s, want %s and %s", h.Hour, h.Key, want, key)
		}
	}
	want := map[string]figures{
		"ok": {Requests: 7, Units: storetest.UnitsOf(7)}, "hit": {Requests: 2},
		"refund": {Requests: -1, Units: storetest.UnitsOf(-1)},
	}
	for outcome, figures := range want {
		t.Run(outcome, func(t *testing.T) {
			if got[outcome] != figures {
				t.Errorf("%s is %+v, want %+v", outcome, got[outcome], figures)
			}
		})
	}
	if len(hours) != len(want) {
		t.Errorf("%d rows, want %d", len(hours), len(want))
	}
}

// figures is the requests and units of usage lines.
type figures struct {
	Requests int64
	Units    plan.Units
}

func TestUsage_ConcurrentCommitsOfTheSameBucketsCountOnce(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id, key := account.NewID(), account.NewKeyID()
	const slots, writers = 50, 4
	buckets := make([]account.UsageBucket, slots)
	for i := range buckets {
		buckets[i] = bucketOf(id, slot.Add(time.Duration(i)*10*time.Second), "g", lineOf(key, "ok", "day", 1, 1))
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			turned := append(append([]account.UsageBucket{}, buckets[w*10:]...), buckets[:w*10]...)
			if err := s.CommitUsage(ctx, turned); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	sums, flushed, err := s.SumCounters(ctx, id, []account.Counter{{Period: "2026-11-01", Source: "day"}})
	if err != nil || sums[0] != storetest.UnitsOf(slots) {
		t.Errorf("counted %v, %v, want %d", sums, err, slots)
	}
	if len(flushed) != slots {
		t.Errorf("ledger names %d buckets, want %d", len(flushed), slots)
	}
}

func TestCounters_AreSumsOfTheLinesThatTheyName(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id, key, other := account.NewID(), account.NewKeyID(), account.NewKeyID()
	pack := account.NewPackID().Source()
	earlier := lineOf(key, "ok", pack, 9, 9)
	earlier.Period = "2026-10-01"
	gas := lineOf(key, "ok", "plan", 16, 16)
	gas.Service = "gas"
	err := s.CommitUsage(ctx, []account.UsageBucket{
		bucketOf(id, slot, "a", lineOf(key, "ok", "plan", 1, 1), lineOf(key, "ok", pack, 2, 4),
			lineOf(other, "ok", "plan", 8, 8), gas),
		bucketOf(id, slot.Add(-24*time.Hour), "b", lineOf(key, "ok", "plan", 32, 32)),
		bucketOf(id, slot.Add(-24*31*time.Hour), "c", earlier),
		bucketOf(account.NewID(), slot, "d",
			lineOf(key, "ok", "plan", 64, 64)), // another account's, of a key that moved
	})
	if err != nil {
		t.Fatal(err)
	}
	const period = "2026-11-01"
	counters := map[string]struct {
		counter account.Counter
		want    int64
	}{
		"plan":                   {account.Counter{Period: period, Source: account.SourcePlan}, 1 + 8 + 16 + 32},
		"service":                {account.Counter{Period: period, Service: "gas"}, 16},
		"key":                    {account.Counter{Period: period, Key: key}, 1 + 4 + 16 + 32},
		"service of a key":       {account.Counter{Period: period, Key: key, Service: "rpc"}, 1 + 4 + 32},
		"other key":              {account.Counter{Period: period, Key: other}, 8},
		"pack of whatever month": {account.Counter{Source: pack}, 4 + 9},
		"day":                    {account.Counter{Day: slot.Add(13 * time.Hour), Key: key}, 1 + 4 + 16},
		"nothing yet":            {account.Counter{Period: "2026-12-01", Key: key}, 0},
	}
	var asked []account.Counter
	var names []string
	for name, c := range counters {
		asked, names = append(asked, c.counter), append(names, name)
	}
	sums, flushed, err := s.SumCounters(ctx, id, asked)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if want := storetest.UnitsOf(counters[name].want); sums[i] != want {
			t.Errorf("%s: %s, want %s", name, sums[i], want)
		}
	}
	if len(flushed) != 3 {
		t.Errorf("ledger names %v, want the account's three buckets: they were flushed just now", flushed)
	}
	one, _, err := s.SumCounters(ctx, id, []account.Counter{
		counters["key"].counter, counters["service of a key"].counter,
	})
	in := expect.In(t, "counters of keys alone")
	require.NoError(in, err)
	expect.Equal(in, one[0], storetest.UnitsOf(counters["key"].want))
	expect.Equal(in, one[1], storetest.UnitsOf(counters["service of a key"].want))
	if got := storetest.Must[int64](t)(s.DeleteFlushesBefore(ctx, slot)); got != 2 {
		t.Errorf("forgot %d ledger entries, want 2", got)
	}
	for _, c := range []account.Counter{
		{Period: "November", Key: key}, {Period: "November", Source: account.SourcePlan},
	} {
		if _, _, err := s.SumCounters(ctx, id, []account.Counter{c}); err == nil {
			t.Error("a period that is no date was accepted")
		}
	}
}

// A busy account has hundreds of thousands of hourly rows in a period, and calls wait for the sum
// that it drew from its plan.
func TestUsage_PlanUnitsAreNotAddedUpFromTheHours(t *testing.T) {
	t.Parallel()
	ctx, s, conn := setupDatabase(t)
	id, key := account.NewID(), account.NewKeyID()
	commit(ctx, t, s, bucketOf(id, slot, "a", lineOf(key, "ok", "plan", 1, 7)))
	for _, book := range []string{"usage_hours", "usage_days", "account_hours", "account_days"} {
		if _, err := conn.Exec(ctx, "DELETE FROM "+book); err != nil {
			t.Fatal(err)
		}
	}
	sums, _, err := s.SumCounters(ctx, id, []account.Counter{
		{Period: november, Source: account.SourcePlan}, {Period: november, Key: key},
	})
	in := expect.In(t, "with hours lost the counters")
	require.NoError(in, err)
	expect.Equal(in, sums[0], storetest.UnitsOf(7))
	expect.Equal(in, sums[1], 0)
}

func TestSeed_ListsTheFlushesThatTheMeterMayHave(t *testing.T) {
	t.Parallel()
	ctx, s, conn := setupDatabase(t)
	id := account.NewID()
	generations := map[time.Duration]string{
		-48 * time.Hour: "long before", -2*time.Hour - 10*time.Second: "before",
		-2 * time.Hour: "again after a failover", 0: "at", time.Minute: "after",
	}
	for ago, generation := range generations {
		t.Run(ago.String(), func(t *testing.T) {
			commit(ctx, t, s, bucketOf(id, slot.Add(ago), generation, lineOf(account.NewKeyID(), "ok", "plan", 1, 1)))
		})
	}
	commit(ctx, t, s, bucketOf(id, slot, "flushed long ago"))
	if _, err := conn.Exec(ctx,
		"UPDATE usage_flushes SET flushed_at = now() - interval '49 hours' WHERE generation = 'flushed long "+
			"ago'"); err != nil {
		t.Fatal(err)
	}
	told := func() []string {
		t.Helper()
		_, flushed, err := s.SumCounters(ctx, id, nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range flushed {
			names = append(names, f.Generation)
		}
		return names
	}
	other := account.Shard(id) ^ 1
	if err := s.SaveWatermarks(ctx, map[int]time.Time{other: slot.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if got := told(); len(got) != len(generations) {
		t.Errorf("before the shard's first watermark %q are told, want all %d of late", got, len(generations))
	}
	if err := s.SaveWatermarks(ctx, map[int]time.Time{account.Shard(id): slot}); err != nil {
		t.Fatal(err)
	}
	if got := told(); !slices.Equal(got, []string{"again after a failover", "at", "after"}) {
		t.Errorf("told are %q, want those since two hours before the watermark", got)
	}
}

func TestUsage_CommitIsAllOrNothing(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id, key := account.NewID(), account.NewKeyID()
	good := bucketOf(id, slot, "good", lineOf(key, "ok", "day", 1, 1))
	bad := bucketOf(id, slot, "bad", lineOf(key, "", "day", 1, 1))
	if err := s.CommitUsage(ctx, []account.UsageBucket{good, bad}); err == nil {
		t.Fatal("usage without an outcome was accepted")
	}
	sums, flushed, err := s.SumCounters(ctx, id, []account.Counter{{Period: "2026-11-01", Key: key}})
	in := expect.In(t, "a failed commit")
	require.NoError(in, err)
	expect.Empty(in, flushed)
	expect.Equal(in, sums[0], 0)
	if err := s.CommitUsage(ctx, []account.UsageBucket{good}); err != nil {
		t.Errorf("the good bucket alone: %v", err)
	}
}

// A hundred thousand buckets must take less than a minute, so ten thousand take less than six
// seconds, with room for a slow machine.
func TestUsage_TenThousandBucketsCommitInSeconds(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	const total, perBatch = 10_000, 2_000
	buckets := make([]account.UsageBucket, total)
	for i := range buckets {
		key := account.NewKeyID()
		lines := []account.UsageLine{
			lineOf(key, "ok", "day", 1, 1), lineOf(key, "hit", "", 1, 0), lineOf(key, "rate_window", "", 1, 0),
		}
		buckets[i] = bucketOf(account.NewID(), slot, strconv.Itoa(i), lines...)
	}
	begin := time.Now()
	for i := 0; i < total; i += perBatch {
		if err := s.CommitUsage(ctx, buckets[i:i+perBatch]); err != nil {
			t.Fatal(err)
		}
	}
	took := time.Since(begin)
	t.Logf("%d buckets in %s", total, took)
	if took > storetest.Timeout {
		t.Errorf("%d buckets took %s", total, took)
	}
}

func TestWatermark_IsKeptPerShard(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	if _, err := s.Watermark(ctx, 3); err == nil {
		t.Error("a shard that was never flushed has a watermark")
	}
	for _, marks := range []map[int]time.Time{
		{3: slot, 4: slot}, {3: slot.Add(time.Minute)}, {4: slot.Add(-time.Minute)}, {},
	} {
		if err := s.SaveWatermarks(ctx, marks); err != nil {
			t.Fatal(err)
		}
	}
	for shard, want := range map[int]time.Time{3: slot.Add(time.Minute), 4: slot.Add(-time.Minute)} {
		if got := storetest.Must[time.Time](t)(s.Watermark(ctx, shard)); !got.Equal(want) {
			t.Errorf("watermark of shard %d is %s, want %s", shard, got, want)
		}
	}
}

func TestWatermark_OfAllUsageIsTheOldestOfAll(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	marks := map[int]time.Time{}
	for shard := range account.Shards - 1 {
		marks[shard] = slot.Add(time.Duration(shard) * time.Second)
	}
	if err := s.SaveWatermarks(ctx, marks); err != nil {
		t.Fatal(err)
	}
	if at, err := s.UsageWatermark(ctx); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("with a shard that was never flushed all usage is recorded up to %s, %v", at, err)
	}
	if err := s.SaveWatermarks(ctx, map[int]time.Time{account.Shards - 1: slot.Add(-time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if at := storetest.Must[time.Time](t)(s.UsageWatermark(ctx)); !at.Equal(slot.Add(-time.Hour)) {
		t.Errorf("all usage is recorded up to %s, want the last shard's", at)
	}
	id := account.NewID()
	if err := s.SaveWatermarks(ctx, map[int]time.Time{account.Shard(id): slot.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if got := storetest.Must[time.Time](t)(s.AccountWatermark(ctx, id)); !got.Equal(slot.Add(time.Hour)) {
		t.Errorf("usage of an account is recorded up to %s, want its shard's", got)
	}
}
