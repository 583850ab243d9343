// Package flush owns the way of usage from the meter to the record: it takes sealed buckets from
// Redis, commits them to PostgreSQL, and only then drops them, so that a crash at any point loses
// nothing and counts nothing twice. It publishes, per shard, the instant before which all usage is
// recorded. It needs neither Temporal nor the API, and it decides nothing about what calls cost.
package flush

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/chainaccess/gateway/identity/account"
)

// Meter is where buckets come from. Times are those of its own clock.
type Meter interface {
	// Now is the meter's clock.
	Now(ctx context.Context) (time.Time, error)
	// DirtyShards lists the shards in [from, to) that have buckets, open or sealed.
	DirtyShards(ctx context.Context, from, to int) ([]int, error)
	// SealedBuckets seals what is due (everything when all) and gives up to limit sealed buckets,
	// oldest first, those given before and not dropped again. oldestOpen is the start of the oldest
	// slot not sealed, zero when there is none.
	SealedBuckets(ctx context.Context, shard int, all bool,
		limit int) (sealed []account.UsageBucket, oldestOpen time.Time, err error)
	// DropBuckets deletes sealed buckets. Dropping what is gone is no error.
	DropBuckets(ctx context.Context, buckets []account.UsageBucket) error
}

// Record is where buckets go.
type Record interface {
	// CommitUsage adds buckets, all or none, each once however often it comes. store.ErrRejected:
	// their content is at fault.
	CommitUsage(ctx context.Context, buckets []account.UsageBucket) error
	// SaveWatermarks records the instants before which all usage of the shards is committed.
	SaveWatermarks(ctx context.Context, watermarks map[int]time.Time) error
	// UsageWatermark is the oldest of those of all shards; store.ErrNotFound while one has none.
	UsageWatermark(ctx context.Context) (time.Time, error)
}

// Options of a Flusher. Zero values take the defaults named here.
type Options struct {
	Shards     int           // of the meter; 1,024
	RangeSize  int           // shards led together; 64
	Interval   time.Duration // between passes; one second
	MaxBackoff time.Duration // between passes while they fail; ten seconds
	SlotLength time.Duration // of the meter's buckets; ten seconds
	PerShard   int           // buckets read from a shard at once; 64. With RangeSize it bounds what is in memory
	Timeout    time.Duration // of one range's part of a pass; thirty seconds
	Drain      time.Duration // for the last pass when Run ends; five seconds
	Logger     *slog.Logger  // slog.Default()

	OnFlush     func(buckets int)  // after every commit of new or repeated buckets
	OnError     func(error)        // after every failed pass
	OnWatermark func(at time.Time) // every few passes: the instant before which all usage of every account is recorded
}

// watermarkPasses is how many passes go between two writes of watermarks: nobody waits for them by
// the second.
const watermarkPasses = 5

// Flusher moves usage for the ranges of shards it leads. Any number may run beside each other, on
// any machine.
type Flusher struct {
	meter  Meter
	record Record
	open   OpenLeases
	o      Options

	leases  Leases       // nil while there is no connection
	led     map[int]bool // ranges led through leases
	passes  int
	refused map[bucketName]struct{} // buckets that PostgreSQL refuses; left in the meter, and told once
	marked  watermarks              // as this flusher recorded them last, of the ranges it leads

	mu     sync.Mutex // guards failed, and refused while batches are committed
	failed error      // of the last pass
}

// New makes a flusher. It does nothing before Run or FlushAll; only one of them may run at a time.
func New(meter Meter, record Record, open OpenLeases, o Options) *Flusher {
	fallback := func(value *int, byDefault int) {
		if *value <= 0 {
			*value = byDefault
		}
	}
	fallback(&o.Shards, 1024)
	fallback(&o.RangeSize, 64)
	fallback(&o.PerShard, 64)
	wait := func(value *time.Duration, byDefault time.Duration) {
		if *value <= 0 {
			*value = byDefault
		}
	}
	wait(&o.Interval, time.Second)
	wait(&o.MaxBackoff, 10*time.Second)
	wait(&o.SlotLength, 10*time.Second)
	wait(&o.Timeout, 30*time.Second)
	wait(&o.Drain, 5*time.Second)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Flusher{
		meter: meter, record: record, open: open, o: o, led: map[int]bool{}, refused: map[bucketName]struct{}{},
		marked: watermarks{},
	}
}

// Run flushes until ctx ends, then once more within Options.Drain what is due, and gives its ranges
// back. Failures are logged and tried again, so it returns nil unless the last pass failed.
func (f *Flusher) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	backoff := f.o.Interval
	for {
		select {
		case <-ctx.Done():
			return f.drain(ctx)
		case <-timer.C:
		}
		err := f.pass(ctx)
		switch {
		case err == nil:
			backoff = f.o.Interval
		case ctx.Err() != nil: // interrupted by the stop, not failed
		default:
			backoff = min(2*backoff, f.o.MaxBackoff)
			f.o.Logger.Error("usage not flushed; it stays in the meter, will retry", "backoff", backoff,
				"error", err)
			if f.o.OnError != nil {
				f.o.OnError(err)
			}
		}
		f.setFailed(err)
		timer.Reset(backoff)
	}
}

// Failed is why the last pass failed, nil when it did not. Safe for concurrent use.
func (f *Flusher) Failed() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

func (f *Flusher) setFailed(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = err
}

// FlushAll moves everything, open buckets too, of all shards, whoever leads them: for the stop of a
// meter that keeps nothing.
func (f *Flusher) FlushAll(ctx context.Context) error {
	clear(f.marked)
	for from := 0; from < f.o.Shards; from += f.o.RangeSize {
		if err := f.flushShards(ctx, from, min(from+f.o.RangeSize, f.o.Shards), true, true); err != nil {
			return err
		}
	}
	return f.tell(ctx)
}

// drainRetry is how long a failed last pass waits for its next attempt.
const drainRetry = 50 * time.Millisecond

// drain flushes what is due one last time, until a pass succeeds or Options.Drain is over: the
// caller's context has ended, and with it, or by PostgreSQL's doing, sessions that a pass finds out
// about only by failing.
func (f *Flusher) drain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.o.Drain)
	defer cancel()
	again := time.NewTicker(drainRetry)
	defer again.Stop()
	for {
		err := f.pass(ctx)
		if err == nil {
			return f.giveUp(ctx)
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, f.giveUp(ctx))
		case <-again.C:
		}
	}
}

// pass makes sure of the leadership and flushes what it covers.
func (f *Flusher) pass(ctx context.Context) error {
	if err := f.within(ctx, f.lead); err != nil {
		return err
	}
	f.passes++
	err := f.flushLed(ctx)
	if f.passes%watermarkPasses == 1 {
		err = errors.Join(err, f.within(ctx, f.tell))
	}
	return err
}

// within sets the deadline of a step. Each has its own, so that a backlog of many ranges is not
// taken for a failure.
func (f *Flusher) within(ctx context.Context, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, f.o.Timeout)
	defer cancel()
	return step(ctx)
}

// flushLed flushes every range that is led. One that fails does not keep the others.
func (f *Flusher) flushLed(ctx context.Context) error {
	var failed []error
	for number := range f.led {
		from := number * f.o.RangeSize
		to := min(from+f.o.RangeSize, f.o.Shards)
		err := f.within(ctx, func(ctx context.Context) error {
			return f.flushShards(ctx, from, to, false, f.passes%watermarkPasses == 1)
		})
		if err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}
