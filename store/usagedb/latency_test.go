package usagedb_test

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/internal/storetest"
	"github.com/chainaccess/gateway/store/usagedb"
)

func tookOf(key account.KeyID, chain, outcome string, took time.Duration, calls int64) account.LatencyLine {
	return account.LatencyLine{
		Key: key, Chain: chain, Service: "rpc", Class: "standard", Outcome: outcome,
		Bucket: account.LatencyBucketOf(took), Calls: calls,
	}
}

// slowBucket returns a bucket with durations only.
func slowBucket(id account.ID, at time.Time, generation string, lines ...account.LatencyLine) account.UsageBucket {
	return account.UsageBucket{Shard: 7, Slot: at, Account: id, Generation: generation, Latencies: lines}
}

// whole returns the latency of an account for the day around the slot.
func whole(ctx context.Context, t *testing.T, s *store.Store, id account.ID) usagedb.LatencyFigures {
	t.Helper()
	all := storetest.Must[[]usagedb.LatencyFigures](t)(s.Latency(ctx, usagedb.LatencyQuery{
		Account: id, Since: slot.Add(-12 * time.Hour), Until: slot.Add(12 * time.Hour),
	}))
	switch len(all) {
	case 0:
		return usagedb.LatencyFigures{}
	case 1:
		return all[0]
	}
	t.Fatalf("one window is %d groups", len(all))
	return usagedb.LatencyFigures{}
}

func counts(l account.Latency) map[int]int64 {
	found := map[int]int64{}
	for i, n := range l {
		if n != 0 {
			found[i] = n
		}
	}
	return found
}

func TestLatency_RecommitCountsOnceAndMergesHoursAndProcesses(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id, key := account.NewID(), account.NewKeyID()
	const fast, slow = time.Millisecond, 80 * time.Millisecond
	usage := lineOf(key, "ok", "day", 6, 6)
	first := slowBucket(id, slot, "a", tookOf(key, "eth_mainnet", "ok", fast, 3),
		tookOf(key, "eth_mainnet", "hit", fast, 2))
	first.Lines = []account.UsageLine{usage}
	// The same slot in another generation, as after a step of the clock, and the next hour.
	second := slowBucket(id, slot, "b", tookOf(key, "eth_mainnet", "ok", fast, 4),
		tookOf(key, "eth_mainnet", "ok", slow, 1), tookOf(key, "eth_mainnet", "ok", fast, 1)) // in two parts
	third := slowBucket(id, slot.Add(10*time.Second), "c", tookOf(key, "eth_mainnet", "ok", slow, 7))
	for _, batch := range [][]account.UsageBucket{{first}, {first, second, second}, {second, third}, {third}} {
		if err := s.CommitUsage(ctx, batch); err != nil {
			t.Fatal(err)
		}
	}
	got := whole(ctx, t, s, id)
	if want := map[int]int64{
		account.LatencyBucketOf(fast): 8, account.LatencyBucketOf(slow): 8,
	}; !maps.Equal(counts(got.Relayed), want) {
		t.Errorf("relayed calls are %v by bucket, want %v", counts(got.Relayed), want)
	}
	if want := map[int]int64{account.LatencyBucketOf(fast): 2}; !maps.Equal(counts(got.Hits), want) {
		t.Errorf("hits are %v by bucket, want %v", counts(got.Hits), want)
	}
	if all := got.Answered(); all.Calls() != 18 {
		t.Errorf("%d calls in all, want 18", all.Calls())
	}
	if totals := storetest.Must[usagedb.PeriodTotals](t)(s.PeriodTotals(ctx, usagedb.UsagePeriod{
		Account: id, Period: "2026-11-01",
	})); totals.Requests != 6 {
		t.Errorf("usage beside the latencies is %+v, want 6 calls", totals)
	}
}

func TestLatency_IsRefusedWithItsBucketAsAWhole(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id, key := account.NewID(), account.NewKeyID()
	for what, spoilt := range map[string]account.LatencyLine{
		"an outcome that is no answer": tookOf(key, "eth_mainnet", "refund", time.Second, 1),
		"a count below nothing":        tookOf(key, "eth_mainnet", "ok", time.Second, -1),
	} {
		bucket := slowBucket(id, slot, "a", tookOf(key, "eth_mainnet", "ok", time.Millisecond, 1), spoilt)
		bucket.Lines = []account.UsageLine{lineOf(key, "ok", "day", 1, 1)}
		if err := s.CommitUsage(ctx, []account.UsageBucket{bucket}); err == nil {
			t.Errorf("%s was accepted", what)
		}
	}
	if got := whole(ctx, t, s, id).Relayed; got.Calls() != 0 {
		t.Errorf("a refused bucket left %v behind", counts(got))
	}
	if _, flushed, err := s.SumCounters(ctx, id, nil); err != nil || len(flushed) != 0 {
		t.Errorf("the ledger names %v, %v", flushed, err)
	}
}

func TestLatency_ConcurrentCommitsCountOnce(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id, key := account.NewID(), account.NewKeyID()
	const slots, writers = 40, 4
	buckets := make([]account.UsageBucket, slots)
	for i := range buckets {
		buckets[i] = slowBucket(id, slot.Add(time.Duration(i)*10*time.Second), "g",
			tookOf(key, "eth_mainnet", "ok", time.Millisecond, 1), tookOf(key, "base_mainnet", "ok", time.Second, 1))
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
	if got := whole(ctx, t, s, id).Relayed; got.Calls() != 2*slots {
		t.Errorf("%d calls are recorded, want %d", got.Calls(), 2*slots)
	}
}

func TestLatency_IsReadByWindowKeyChainAndStep(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id, stranger := account.NewID(), account.NewID()
	one, two := account.NewKeyID(), account.NewKeyID()
	noon := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	err := s.CommitUsage(ctx, []account.UsageBucket{
		slowBucket(id, noon.Add(-30*24*time.Hour), "a", tookOf(one, "eth_mainnet", "ok", time.Second, 1)),
		slowBucket(id, noon.Add(-2*time.Hour-time.Second), "a", tookOf(one, "eth_mainnet", "ok", time.Second, 10)),
		slowBucket(id, noon.Add(-time.Hour), "a", tookOf(one, "eth_mainnet", "ok", time.Second, 100),
			tookOf(two, "base_mainnet", "hit", time.Second, 1000)),
		slowBucket(id, noon, "a", tookOf(two, "eth_mainnet", "ok", time.Second, 10_000)),
		slowBucket(stranger, noon, "a", tookOf(one, "eth_mainnet", "ok", time.Second, 100_000)),
	})
	if err != nil {
		t.Fatal(err)
	}
	type group struct {
		key     account.KeyID
		chain   string
		start   time.Time
		relayed int64
		hits    int64
	}
	since := noon.Add(-24 * time.Hour)
	for name, tc := range map[string]struct {
		q    usagedb.LatencyQuery
		want []group
	}{
		"the whole of 30 days": {
			usagedb.LatencyQuery{Since: noon.Add(-30 * 24 * time.Hour), Until: noon.Add(time.Minute)},
			[]group{{start: noon.Add(-30 * 24 * time.Hour), relayed: 10_111, hits: 1000}},
		},
		"the whole of a day": {
			usagedb.LatencyQuery{Since: since.Add(time.Minute), Until: noon.Add(time.Second)},
			[]group{{start: since, relayed: 10_110, hits: 1000}},
		},
		"until the hour": {
			usagedb.LatencyQuery{Since: since, Until: noon}, []group{{start: since, relayed: 110, hits: 1000}},
		},
		"one key": {
			usagedb.LatencyQuery{Since: since, Until: noon.Add(time.Minute), Keys: []account.KeyID{one}},
			[]group{{start: since, relayed: 110}},
		},
		"one chain": {
			usagedb.LatencyQuery{Since: since, Until: noon.Add(time.Minute), Chain: "base_mainnet"},
			[]group{{start: since, hits: 1000}},
		},
		"by chain": {
			usagedb.LatencyQuery{Since: since, Until: noon.Add(time.Minute), ByChain: true},
			[]group{{chain: "base_mainnet", start: since, hits: 1000}, {
				chain: "eth_mainnet", start: since, relayed: 10_110,
			}},
		},
		"by key": {
			usagedb.LatencyQuery{Since: since, Until: noon.Add(time.Minute), ByKey: true, Chain: "eth_mainnet"},
			[]group{{key: one, start: since, relayed: 110}, {key: two, start: since, relayed: 10_000}},
		},
		"by chain in steps": {
			usagedb.LatencyQuery{
				Since: noon.Add(-4 * time.Hour), Until: noon.Add(time.Minute), ByChain: true, Step: 2 * time.Hour,
			},
			[]group{
				{chain: "eth_mainnet", start: noon.Add(-4 * time.Hour), relayed: 10},
				{chain: "base_mainnet", start: noon.Add(-2 * time.Hour), hits: 1000},
				{chain: "eth_mainnet", start: noon.Add(-2 * time.Hour), relayed: 100},
				{chain: "eth_mainnet", start: noon, relayed: 10_000},
			},
		},
		"nothing": {usagedb.LatencyQuery{Since: noon.Add(time.Hour), Until: noon.Add(2 * time.Hour)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tc.q.Account = id
			var got []group
			for _, f := range storetest.Must[[]usagedb.LatencyFigures](t)(s.Latency(ctx, tc.q)) {
				got = append(got, group{f.Key, f.Chain, f.Start, f.Relayed.Calls(), f.Hits.Calls()})
			}
			if len(got) != len(tc.want) {
				t.Errorf("%+v, want %+v", got, tc.want)
				return
			}
			for i := range got {
				if got[i] != tc.want[i] {
					t.Errorf("group %d is %+v, want %+v", i, got[i], tc.want[i])
				}
			}
		})
	}
	if _, err := s.Latency(ctx, usagedb.LatencyQuery{
		Account: id, Since: since, Until: noon, Step: 90 * time.Minute,
	}); err == nil {
		t.Error("steps of an hour and a half were accepted; what is recorded are hours")
	}
}

func TestLatency_OldFiguresAreDeletedInBatches(t *testing.T) {
	t.Parallel()
	ctx, s := storetest.Open(t)
	id, key := account.NewID(), account.NewKeyID()
	const old = 25_000
	var lines []account.LatencyLine
	for range old {
		lines = append(lines, tookOf(account.NewKeyID(), "eth_mainnet", "ok", time.Second, 1))
	}
	err := s.CommitUsage(ctx, []account.UsageBucket{
		slowBucket(id, slot.Add(-2*time.Hour), "a", lines...),
		slowBucket(id, slot, "b", tookOf(key, "eth_mainnet", "ok", time.Second, 3)),
	})
	if err != nil {
		t.Fatal(err)
	}
	// One row of each key and one of the account. The day stays, because it has newer hours.
	if n := storetest.Must[int64](t)(s.DeleteLatencyBefore(ctx, slot)); n != old+1 {
		t.Errorf("%d rows went, want %d", n, old+1)
	}
	if got := whole(ctx, t, s, id).Relayed; got.Calls() != 3 {
		t.Errorf("%d calls are left, want the 3 of the hour that is kept", got.Calls())
	}
	if n := storetest.Must[int64](t)(s.DeleteLatencyBefore(ctx, slot.Add(24*time.Hour))); n != old+4 {
		t.Errorf("a day later %d rows went, want those of the day and of the last hour", n)
	}
}

// BenchmarkLatencyOfAMonth reads 30 days of an account that is busy on every chain, among other
// accounts, as get_usage does.
func BenchmarkLatencyOfAMonth(b *testing.B) {
	ctx := b.Context()
	url := testkit.Postgres(b)
	s, err := store.Open(ctx, url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(s.Close)
	id := account.NewID()
	end := slot.Truncate(time.Hour).Add(time.Hour)
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close(context.WithoutCancel(ctx)) })
	// 720 hours of 3 keys on 6 chains with 20 buckets each, and 20 quiet accounts.
	for _, insert := range []string{
		`SELECT $1, hour, md5(key::text)::uuid, 'chain ' || chain, 'rpc', 'standard', 'ok',
ARRAY(SELECT generate_series(21, 40)), array_fill(100, ARRAY[20])
FROM generate_series($2::timestamptz - interval '30 days', $2::timestamptz - interval '1 hour', '1 hour') AS hour,
generate_series(1, 3) AS key, generate_series(1, 6) AS chain`,
		`SELECT md5(owner::text || $1::uuid::text)::uuid, hour, md5(owner::text)::uuid, 'chain', 'rpc', 'standard', 'ok',
ARRAY(SELECT generate_series(21, 25)), array_fill(1, ARRAY[5])
FROM generate_series($2::timestamptz - interval '30 days', $2::timestamptz - interval '1 hour', '1 hour') AS hour,
generate_series(1, 20) AS owner`,
	} {
		if _, err := conn.Exec(ctx, `INSERT INTO latency_hours `+insert+` ORDER BY hour`, id.UUID, end); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := conn.Exec(ctx, `VACUUM ANALYZE latency_hours`); err != nil {
		b.Fatal(err)
	}
	for name, q := range map[string]usagedb.LatencyQuery{
		"whole": {}, "by chain and day": {ByChain: true, Step: 24 * time.Hour}, "by key": {ByKey: true},
	} {
		q.Account, q.Since, q.Until = id, end.Add(-30*24*time.Hour), end
		b.Run(name, func(b *testing.B) {
			for range b.N {
				figures, err := s.Latency(ctx, q)
				if err != nil || len(figures) == 0 {
					b.Fatalf("%d groups, %v", len(figures), err)
				}
			}
		})
	}
}
