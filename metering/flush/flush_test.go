package flush_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/flush"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/store"
)

const (
	slotLength  = 10 * time.Second
	testTimeout = 30 * time.Second
	period      = "2026-11-01"
)

var start = time.Date(2026, time.November, 20, 10, 0, 0, 0, time.UTC)

// The implementations that the flusher is used with.
var (
	_ flush.Meter  = (*meter.Meter)(nil)
	_ flush.Record = (*store.Store)(nil)
)

type bundle struct {
	url   string
	store *store.Store
	meter *memoryMeter
}

func setup(t *testing.T) (context.Context, *bundle) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*testTimeout)
	t.Cleanup(cancel)
	url := testkit.Postgres(t)
	s, err := store.Open(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return ctx, &bundle{url: url, store: s, meter: newMemoryMeter(start)}
}

func (b *bundle) flusher(o flush.Options) *flush.Flusher {
	o.Logger = slog.New(slog.DiscardHandler)
	if o.Interval == 0 {
		o.Interval = 5 * time.Millisecond
	}
	o.MaxBackoff = 20 * time.Millisecond
	return flush.New(b.meter, b.store, flush.FromStore(b.store), o)
}

// start runs a flusher and returns a function that stops it and waits for its end.
func (b *bundle) start(ctx context.Context, t *testing.T, f *flush.Flusher) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- f.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("flusher ended with %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func (b *bundle) requests(ctx context.Context, t *testing.T, id account.ID) int64 {
	t.Helper()
	hours, err := b.store.ListUsage(ctx, id, period)
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	for _, h := range hours {
		n += h.Requests
	}
	return n
}

// wait polls until the condition holds.
func wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	testkit.Eventually(t, testTimeout, holds, "%s", what)
}

func line(requests int64) account.UsageLine {
	return account.UsageLine{
		Period: period, Key: account.NewKeyID(), Chain: "eth_mainnet", Service: "rpc", Method: "eth_call",
		Class: "standard", Outcome: "ok", Source: "day", Tier: "balanced", Requests: requests, Units: 1000,
	}
}

func TestFlush_KilledBetweenCommitAndDropCountsNothingTwice(t *testing.T) {
	t.Parallel()
	ctx, b := setup(t)
	id := account.NewID()
	b.meter.add(3, id, start.Add(-slotLength), line(5))
	b.meter.set(func(m *memoryMeter) { m.dropErr = errDown })
	killed := b.flusher(flush.Options{})
	if err := killed.FlushAll(ctx); err == nil {
		t.Fatal("the drop did not fail")
	}
	if got := b.requests(ctx, t, id); got != 5 {
		t.Fatalf("%d requests recorded before the kill, want 5", got)
	}
	// The next process finds the bucket sealed, and new usage in the same slot under another
	// generation.
	b.meter.set(func(m *memoryMeter) { m.dropErr = nil })
	b.meter.add(3, id, start.Add(-slotLength), line(2))
	b.start(ctx, t, b.flusher(flush.Options{}))
	wait(t, "the meter is empty", func() bool { return b.meter.left() == 0 })
	if got := b.requests(ctx, t, id); got != 7 {
		t.Errorf("%d requests recorded, want 5 and 2", got)
	}
}

func TestFlush_TakesOnlySlotsThatAreOver(t *testing.T) {
	t.Parallel()
	ctx, b := setup(t)
	over, open := account.NewID(), account.NewID()
	b.meter.add(3, over, start.Add(-slotLength), line(1))
	b.meter.add(3, open, start, line(1))
	stop := b.start(ctx, t, b.flusher(flush.Options{}))
	wait(t, "the slot that is over is recorded", func() bool { return b.requests(ctx, t, over) == 1 })
	wait(t, "the watermark stands at the open slot", func() bool {
		at, err := b.store.Watermark(ctx, 3)
		return err == nil && at.Equal(start)
	})
	wait(t, "the watermark of a clean shard stands one slot before the meter's clock", func() bool {
		at, err := b.store.Watermark(ctx, 1023)
		return err == nil && at.Equal(start.Add(-slotLength))
	})
	if got := b.requests(ctx, t, open); got != 0 {
		t.Errorf("%d requests of an open slot recorded", got)
	}
	b.meter.set(func(m *memoryMeter) { m.now = start.Add(slotLength) })
	stop()
	if got := b.requests(ctx, t, open); got != 1 {
		t.Errorf("the last pass recorded %d requests of the slot that ended before it, want 1", got)
	}
}

func TestFlushAll_TakesOpenBucketsOfManyPages(t *testing.T) {
	t.Parallel()
	ctx, b := setup(t)
	id := account.NewID()
	const buckets = 25
	for i := range buckets {
		b.meter.add(i%2, id, start.Add(time.Duration(i)*time.Millisecond), line(1))
	}
	var commits atomic.Int64
	f := b.flusher(flush.Options{PerShard: 4, OnFlush: func(int) { commits.Add(1) }})
	if err := f.FlushAll(ctx); err != nil {
		t.Fatal(err)
	}
	got := b.requests(ctx, t, id)
	expect.Equal(t, got, buckets)
	expect.Equal(t, b.meter.left(), 0)
	expect.AtLeast(t, commits.Load(), 3)
}

func TestWatermark_StaysWhileUsageCannotBeCommitted(t *testing.T) {
	t.Parallel()
	ctx, b := setup(t)
	good, bad := account.NewID(), account.NewID()
	refused := line(1)
	refused.Period = "not a date"
	b.meter.add(3, bad, start.Add(-2*slotLength), refused)
	for range 5 {
		b.meter.add(3, good, start.Add(-slotLength), line(1))
		b.meter.add(4, good, start.Add(-slotLength), line(1))
	}
	b.start(ctx, t, b.flusher(flush.Options{PerShard: 2}))
	wait(t, "usage beside a refused bucket is recorded", func() bool { return b.requests(ctx, t, good) == 10 })
	wait(t, "the other shard's watermark is beyond that", func() bool {
		at, err := b.store.Watermark(ctx, 4)
		return err == nil && !at.Before(start.Add(-slotLength))
	})
	if at, err := b.store.Watermark(ctx, 3); err != nil || !at.Equal(start.Add(-2*slotLength)) {
		t.Errorf("the watermark of a shard with unrecorded usage is %s, %v; want the refused bucket's slot", at, err)
	}
	if b.meter.left() != 1 {
		t.Errorf("%d buckets left in the meter, want the refused one", b.meter.left())
	}
}

func TestFlusher_GoesOnAfterOutages(t *testing.T) {
	t.Parallel()
	ctx, b := setup(t)
	id := account.NewID()
	failures := make(chan error, 100)
	b.meter.set(func(m *memoryMeter) { m.downErr = errDown })
	f := b.flusher(flush.Options{OnError: func(err error) {
		select {
		case failures <- err:
		default:
		}
	}})
	b.start(ctx, t, f)
	if err := <-failures; !errors.Is(err, errDown) {
		t.Errorf("failed with %v, want the meter's error", err)
	}
	if f.Failed() == nil {
		wait(t, "the flusher says that it fails", func() bool { return f.Failed() != nil })
	}
	b.meter.add(3, id, start.Add(-slotLength), line(1))
	b.meter.set(func(m *memoryMeter) { m.downErr = nil })
	wait(t, "usage is recorded after the meter came back", func() bool { return b.requests(ctx, t, id) == 1 })

	b.endSessions(ctx, t)
	b.meter.add(3, id, start.Add(-slotLength), line(1))
	wait(t, "usage is recorded after PostgreSQL came back", func() bool {
		hours, err := b.store.ListUsage(ctx, id, period)
		return err == nil && len(hours) == 2
	})
	wait(t, "the flusher says that all is well", func() bool { return f.Failed() == nil })
}

// endSessions ends every PostgreSQL session, that with the leases included.
func (b *bundle) endSessions(ctx context.Context, t *testing.T) {
	t.Helper()
	admin, err := pgx.Connect(ctx, b.url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close(ctx) }()
	_, err = admin.Exec(ctx, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	if err != nil {
		t.Fatal(err)
	}
}

func TestFlusher_LastFlushReplacesASessionThatEndedUnawares(t *testing.T) {
	t.Parallel()
	ctx, b := setup(t)
	id := account.NewID()
	f := b.flusher(flush.Options{Interval: time.Hour})
	b.meter.add(3, id, start.Add(-slotLength), line(1))
	stop := b.start(ctx, t, f)
	wait(t, "the first pass is over", func() bool { return b.requests(ctx, t, id) == 1 && b.meter.left() == 0 })
	b.endSessions(ctx, t)
	b.meter.add(3, id, start.Add(-slotLength), line(1))
	stop() // fails the test when the last flush fails
	if left := b.meter.left(); left != 0 {
		t.Errorf("%d buckets left in the meter after the stop", left)
	}
	wait(t, "both lines are recorded", func() bool {
		hours, err := b.store.ListUsage(ctx, id, period) // ended connections of the pool fail once
		return err == nil && len(hours) == 2
	})
}

func TestFlusher_SeveralShareTheRangesAndTakeOver(t *testing.T) {
	t.Parallel()
	ctx, b := setup(t)
	const shards, size = 8, 2
	o := flush.Options{Shards: shards, RangeSize: size}
	led := func() map[int32]int {
		admin, err := pgx.Connect(ctx, b.url)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = admin.Close(ctx) }()
		rows, err := admin.Query(ctx, `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock'
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
		if err != nil {
			t.Fatal(err)
		}
		holders, err := pgx.CollectRows(rows, pgx.RowTo[int32])
		if err != nil {
			t.Fatal(err)
		}
		count := map[int32]int{}
		for _, pid := range holders {
			count[pid]++
		}
		return count
	}
	stopOne := b.start(ctx, t, b.flusher(o))
	wait(t, "one leads all four ranges", func() bool {
		for _, n := range led() {
			return n == shards/size
		}
		return false
	})
	b.start(ctx, t, b.flusher(o))
	wait(t, "two lead two ranges each", func() bool {
		count := led()
		for _, n := range count {
			if n != shards/size/2 {
				return false
			}
		}
		return len(count) == 2
	})
	stopOne()
	wait(t, "the other takes over", func() bool {
		count := led()
		for _, n := range count {
			if n != shards/size {
				return false
			}
		}
		return len(count) == 1
	})
	id := account.NewID()
	for shard := range shards {
		b.meter.add(shard, id, start.Add(-slotLength), line(1))
	}
	wait(t, "every shard is flushed", func() bool { return b.requests(ctx, t, id) == shards })
}
