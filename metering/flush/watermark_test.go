package flush_test

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/flush"
	"github.com/chainaccess/gateway/store"
)

// watched is a record with a hook for tests.
type watched struct {
	*store.Store
	commit func(ctx context.Context, buckets []account.UsageBucket) error // before the real one; an error replaces it
}

func (w watched) CommitUsage(ctx context.Context, buckets []account.UsageBucket) error {
	if err := w.commit(ctx, buckets); err != nil {
		return err
	}
	return w.Store.CommitUsage(ctx, buckets)
}

func (b *bundle) watchedFlusher(o flush.Options,
	commit func(context.Context, []account.UsageBucket) error,
) *flush.Flusher {
	o.Logger, o.Interval, o.MaxBackoff = slog.New(slog.DiscardHandler), 5*time.Millisecond, 20*time.Millisecond
	return flush.New(b.meter, watched{b.store, commit}, flush.FromStore(b.store), o)
}

// while returns a commit hook that fails while down is set.
func while(down *atomic.Bool) func(context.Context, []account.UsageBucket) error {
	return func(context.Context, []account.UsageBucket) error {
		if down.Load() {
			return errDown
		}
		return nil
	}
}

// marks returns a condition: the watermark of a shard is want.
func (b *bundle) marks(ctx context.Context, shard int, want time.Time) func() bool {
	return func() bool {
		at, err := b.store.Watermark(ctx, shard)
		return err == nil && at.Equal(want)
	}
}

func TestWatermark_GoesBackBeforeReturnedUsageIsCommitted(t *testing.T) {
	t.Parallel()
	ctx, b := setup(t)
	const shard, clean = 3, 900
	var down atomic.Bool
	id := account.NewID()
	b.meter.add(shard, id, start, line(1))
	b.start(ctx, t, b.watchedFlusher(flush.Options{}, while(&down)))
	wait(t, "the watermark stands at the open slot", b.marks(ctx, shard, start))

	// The clock steps back by 15 seconds, and an older slot comes back.
	down.Store(true)
	stepped := start.Add(-15 * time.Second)
	b.meter.add(shard, id, stepped.Add(-slotLength), line(2))
	b.meter.set(func(m *memoryMeter) { m.now = stepped })
	wait(t, "the watermark stands at the slot that came back, though it is not committed",
		b.marks(ctx, shard, stepped.Add(-slotLength).Truncate(slotLength)))
	if got := b.requests(ctx, t, id); got != 0 {
		t.Fatalf("%d requests are recorded while PostgreSQL takes none", got)
	}
	down.Store(false)
	wait(t, "the slot that came back is recorded", func() bool { return b.requests(ctx, t, id) == 2 })
	// The open slot is still ahead of the clock, and new usage is before it.
	for _, n := range []int{shard, clean} {
		wait(t, "the watermark stands one slot before the clock", b.marks(ctx, n, stepped.Add(-slotLength)))
	}
	b.meter.set(func(m *memoryMeter) { m.now = start.Add(slotLength) })
	wait(t, "the watermark advances with the clock", b.marks(ctx, shard, start))
	if got := b.requests(ctx, t, id); got != 3 {
		t.Errorf("%d requests are recorded, want all", got)
	}
}

func TestWatermark_ThatIsTooLateIsDrawnBackAtTheStart(t *testing.T) {
	t.Parallel()
	ctx, b := setup(t)
	if err := b.store.SaveWatermarks(ctx, map[int]time.Time{3: start.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	b.meter.add(3, account.NewID(), start.Add(-slotLength), line(1))
	var down atomic.Bool
	down.Store(true)
	b.start(ctx, t, b.watchedFlusher(flush.Options{}, while(&down)))
	wait(t, "the watermark stands at the slot that is not recorded", b.marks(ctx, 3, start.Add(-slotLength)))
	down.Store(false)
}

func TestWatermark_OfAllUsageIsReported(t *testing.T) {
	t.Parallel()
	ctx, b := setup(t)
	b.meter.add(3, account.NewID(), start, line(1)) // open: it must not hold back the others
	told := make(chan time.Time, 1000)
	b.start(ctx, t, b.flusher(flush.Options{OnWatermark: func(at time.Time) {
		select {
		case told <- at:
		default:
		}
	}}))
	if got, want := <-told, start.Add(-slotLength); !got.Equal(want) {
		t.Errorf("told %s, want %s", got, want)
	}
	b.meter.set(func(m *memoryMeter) { m.now = start.Add(time.Minute) })
	wait(t, "the next one is told", func() bool {
		at := <-told
		return at.Equal(start.Add(time.Minute - slotLength))
	})
}

func TestFlush_TransactionsAreBoundedByTheirLines(t *testing.T) {
	t.Parallel()
	ctx, b := setup(t)
	const most, perBucket, buckets = 8192, 1000, 30
	id := account.NewID()
	for range buckets {
		lines := make([]account.UsageLine, perBucket)
		for i := range lines {
			lines[i] = line(1)
		}
		b.meter.add(3, id, start, lines...)
	}
	large := make([]account.UsageLine, most+1)
	for i := range large {
		large[i] = line(1)
	}
	b.meter.add(3, id, start, large...)
	var mu sync.Mutex
	var sizes []int
	f := b.watchedFlusher(flush.Options{}, func(_ context.Context, buckets []account.UsageBucket) error {
		mu.Lock()
		defer mu.Unlock()
		lines := 0
		for i := range buckets {
			lines += len(buckets[i].Lines)
		}
		if len(buckets) > 1 {
			sizes = append(sizes, lines)
		}
		return nil
	})
	if err := f.FlushAll(ctx); err != nil {
		t.Fatal(err)
	}
	if len(sizes) == 0 || slices.Max(sizes) > most {
		t.Errorf("transactions of %v lines, want at most %d", sizes, most)
	}
	if got := b.requests(ctx, t, id); got != buckets*perBucket+most+1 || b.meter.left() != 0 {
		t.Errorf("%d requests recorded and %d buckets left, want all and none", got, b.meter.left())
	}
}

// With a backlog all ranges together may take longer than the timeout of one.
func TestFlush_EveryRangeHasADeadlineOfItsOwn(t *testing.T) {
	t.Parallel()
	ctx, b := setup(t)
	const ranges, size = 4, 256
	id := account.NewID()
	for n := range ranges {
		b.meter.add(n*size, id, start.Add(-slotLength), line(1))
	}
	deadlines := make(chan time.Time, ranges)
	b.start(ctx, t, b.watchedFlusher(flush.Options{RangeSize: size},
		func(ctx context.Context, _ []account.UsageBucket) error {
			deadline, ok := ctx.Deadline()
			if !ok {
				t.Error("a range has no deadline")
			}
			deadlines <- deadline
			return nil
		}))
	seen := map[time.Time]bool{}
	for range ranges {
		seen[<-deadlines] = true
	}
	if len(seen) != ranges {
		t.Errorf("%d ranges have %d deadlines", ranges, len(seen))
	}
}
