package store_test

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/store"
)

var slot = time.Date(2026, time.November, 20, 9, 59, 50, 0, time.UTC)

func lineOf(key account.KeyID, outcome, source string, requests, units int64) account.UsageLine {
	return account.UsageLine{
		Period: "2026-11-01", Key: key, Chain: "eth_mainnet", Service: "rpc", Method: "eth_getBalance", Class: "standard",
		Outcome: outcome, Source: source, Tier: "balanced", Requests: requests, Units: unitsOf(units),
	}
}

func bucketOf(id account.ID, at time.Time, generation string, lines ...account.UsageLine) account.UsageBucket {
	return account.UsageBucket{Shard: 7, Slot: at, Account: id, Generation: generation, Lines: lines}
}

func TestUsageCommittedAgainCountsOnce(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	id, key := account.NewID(), account.NewKeyID()
	first := bucketOf(id, slot, "a", lineOf(key, "ok", "day", 3, 3), lineOf(key, "hit", "", 2, 0))
	// The same slot under another generation is other usage, and a refund takes away.
	second := bucketOf(id, slot, "b", lineOf(key, "ok", "day", 4, 4), lineOf(key, "refund", "day", -1, -1))
	for _, batch := range [][]account.UsageBucket{{first}, {first, second, second}, {second}, nil} {
		if err := s.CommitUsage(ctx, batch); err != nil {
			t.Fatal(err)
		}
	}
	hours := must[[]store.UsageHour](t)(s.ListUsage(ctx, id, "2026-11-01"))
	got := map[string]store.Figures{}
	for _, h := range hours {
		got[h.Outcome] = store.Figures{Requests: h.Requests, Units: h.Units}
		if want := slot.Truncate(time.Hour); !h.Hour.Equal(want) || h.Key != key {
			t.Errorf("row is of hour %s and key %s, want %s and %s", h.Hour, h.Key, want, key)
		}
	}
	want := map[string]store.Figures{
		"ok": {Requests: 7, Units: unitsOf(7)}, "hit": {Requests: 2}, "refund": {Requests: -1, Units: unitsOf(-1)},
	}
	for outcome, figures := range want {
		if got[outcome] != figures {
			t.Errorf("%s is %+v, want %+v", outcome, got[outcome], figures)
		}
	}
	if len(hours) != len(want) {
		t.Errorf("%d rows, want %d", len(hours), len(want))
	}
}

func TestConcurrentCommitsOfTheSameBucketsCountOnce(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
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
	seed := must[store.SeedFigures](t)(s.Seed(ctx, id, key, "2026-11-01", slot))
	if got := seed.Period["day"]; got.Requests != slots || got.Units != unitsOf(slots) {
		t.Errorf("counted %+v, want %d", got, slots)
	}
	if len(seed.Flushed) != slots {
		t.Errorf("ledger names %d buckets, want %d", len(seed.Flushed), slots)
	}
}

func TestSeedSeparatesPeriodDayAndSource(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	id, key, other := account.NewID(), account.NewKeyID(), account.NewKeyID()
	yesterday := lineOf(key, "ok", "day", 5, 5)
	earlier := lineOf(key, "ok", "plan", 9, 9)
	earlier.Period = "2026-10-01"
	err := s.CommitUsage(ctx, []account.UsageBucket{
		bucketOf(id, slot, "a", lineOf(key, "ok", "day", 1, 1), lineOf(key, "ok", "plan", 2, 4), lineOf(other, "ok", "day", 8, 8)),
		bucketOf(id, slot.Add(-24*time.Hour), "b", yesterday),
		bucketOf(id, slot.Add(-24*31*time.Hour), "c", earlier),
	})
	if err != nil {
		t.Fatal(err)
	}
	seed := must[store.SeedFigures](t)(s.Seed(ctx, id, key, "2026-11-01", slot.Add(13*time.Hour)))
	if got, want := seed.Period["day"].Units, unitsOf(14); got != want {
		t.Errorf("period, source day: %s, want %s", got, want)
	}
	if got, want := seed.Period["plan"].Units, unitsOf(4); got != want {
		t.Errorf("period, source plan: %s, want %s", got, want)
	}
	if got, want := seed.Day["day"].Units, unitsOf(1); got != want {
		t.Errorf("day of the key, source day: %s, want %s", got, want)
	}
	if len(seed.Flushed) != 3 {
		t.Errorf("ledger names %v, want all three buckets: they were flushed just now", seed.Flushed)
	}
	if got := must[int64](t)(s.DeleteFlushesBefore(ctx, slot)); got != 2 {
		t.Errorf("forgot %d ledger entries, want 2", got)
	}
	if _, err := s.Seed(ctx, id, key, "November", slot); err == nil {
		t.Error("a period that is no date was accepted")
	}
}

func TestCommitIsAllOrNothing(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	id, key := account.NewID(), account.NewKeyID()
	good := bucketOf(id, slot, "good", lineOf(key, "ok", "day", 1, 1))
	bad := bucketOf(id, slot, "bad", lineOf(key, "", "day", 1, 1))
	if err := s.CommitUsage(ctx, []account.UsageBucket{good, bad}); err == nil {
		t.Fatal("usage without an outcome was accepted")
	}
	seed := must[store.SeedFigures](t)(s.Seed(ctx, id, key, "2026-11-01", slot))
	if len(seed.Flushed) != 0 || len(seed.Period) != 0 {
		t.Errorf("a failed commit left %+v behind", seed)
	}
	if err := s.CommitUsage(ctx, []account.UsageBucket{good}); err != nil {
		t.Errorf("the good bucket alone: %v", err)
	}
}

// A hundred thousand buckets must fit in a minute, so ten thousand fit in six seconds, with room for a slow machine.
func TestTenThousandBucketsCommitInSeconds(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	const total, perBatch = 10_000, 2_000
	buckets := make([]account.UsageBucket, total)
	for i := range buckets {
		key := account.NewKeyID()
		lines := []account.UsageLine{lineOf(key, "ok", "day", 1, 1), lineOf(key, "hit", "", 1, 0), lineOf(key, "rate_window", "", 1, 0)}
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
	if took > testTimeout {
		t.Errorf("%d buckets took %s", total, took)
	}
}

func TestWatermarksAreKeptPerShard(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	if _, err := s.Watermark(ctx, 3); err == nil {
		t.Error("a shard that was never flushed has a watermark")
	}
	for _, marks := range []map[int]time.Time{{3: slot, 4: slot}, {3: slot.Add(time.Minute)}, {4: slot.Add(-time.Minute)}, {}} {
		if err := s.SaveWatermarks(ctx, marks); err != nil {
			t.Fatal(err)
		}
	}
	for shard, want := range map[int]time.Time{3: slot.Add(time.Minute), 4: slot.Add(-time.Minute)} {
		if got := must[time.Time](t)(s.Watermark(ctx, shard)); !got.Equal(want) {
			t.Errorf("watermark of shard %d is %s, want %s", shard, got, want)
		}
	}
}

func TestWatermarkOfAllUsageIsTheOldestOfAll(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	marks := map[int]time.Time{}
	for shard := range account.Shards - 1 {
		marks[shard] = slot.Add(time.Duration(shard) * time.Second)
	}
	if err := s.SaveWatermarks(ctx, marks); err != nil {
		t.Fatal(err)
	}
	if at, _, err := s.UsageWatermark(ctx); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("with a shard that was never flushed all usage is recorded up to %s, %v", at, err)
	}
	if err := s.SaveWatermarks(ctx, map[int]time.Time{account.Shards - 1: slot.Add(-time.Hour)}); err != nil {
		t.Fatal(err)
	}
	at, asOf, err := s.UsageWatermark(ctx)
	if err != nil || !at.Equal(slot.Add(-time.Hour)) || asOf.IsZero() {
		t.Errorf("all usage is recorded up to %s, as of %s, %v; want the last shard's", at, asOf, err)
	}
	id := account.NewID()
	if err := s.SaveWatermarks(ctx, map[int]time.Time{account.Shard(id): slot.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if got := must[time.Time](t)(s.AccountWatermark(ctx, id)); !got.Equal(slot.Add(time.Hour)) {
		t.Errorf("usage of an account is recorded up to %s, want its shard's", got)
	}
}
