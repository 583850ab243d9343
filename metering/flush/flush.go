// Package flush moves usage from Redis to PostgreSQL. It commits sealed buckets and only then
// deletes them from Redis, so that a crash at any point loses nothing and all usage is counted
// exactly once. It publishes a watermark per shard, the instant before which all usage is in
// PostgreSQL. It needs neither Temporal nor the API.
package flush

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/chainaccess/gateway/identity/account"
)

// Meter is the source of buckets. Times are of its own clock.
type Meter interface {
	// Now returns the meter's time.
	Now(ctx context.Context) (time.Time, error)
	// DirtyShards lists the shards in [from, to) that have buckets, open or sealed.
	DirtyShards(ctx context.Context, from, to int) ([]int, error)
	// SealedBuckets seals what is due (everything when all) and returns up to limit sealed buckets,
	// oldest first; a bucket is returned until it is dropped. oldestOpen is the start of the oldest
	// open slot, zero when there is none.
	SealedBuckets(ctx context.Context, shard int, all bool,
		limit int) (sealed []account.UsageBucket, oldestOpen time.Time, err error)
	// DropBuckets deletes sealed buckets. It is idempotent.
	DropBuckets(ctx context.Context, buckets []account.UsageBucket) error
}

// Record is the destination of buckets.
type Record interface {
	// CommitUsage adds buckets, all or none. It is idempotent per bucket. It returns
	// store.ErrRejected when their content is invalid.
	CommitUsage(ctx context.Context, buckets []account.UsageBucket) error
	// SaveWatermarks records the instants before which all usage of the shards is committed.
	SaveWatermarks(ctx context.Context, watermarks map[int]time.Time) error
	// UsageWatermark returns the oldest watermark of all shards; store.ErrNotFound while one has
	// none.
	UsageWatermark(ctx context.Context) (time.Time, error)
}

// Options of a Flusher. Zero values take the defaults named here.
type Options struct {
	Shards     int           // of the meter; 1,024
	RangeSize  int           // shards per lease
	Interval   time.Duration // between passes; one second
	MaxBackoff time.Duration // between passes while they fail; ten seconds
	SlotLength time.Duration // of the meter's buckets; ten seconds
	PerShard   int           // buckets read from a shard at once; 64. With RangeSize it bounds the memory used
	Timeout    time.Duration // for one range in a pass; thirty seconds
	Drain      time.Duration // for the last pass when Run ends; five seconds
	Logger     *slog.Logger  // slog.Default()

	OnFlush     func(buckets int)  // after every commit, also of buckets that were committed before
	OnError     func(error)        // after every failed pass
	OnWatermark func(at time.Time) // every few passes, with the watermark of all shards
}

// watermarkPasses is the number of passes per write of watermarks, which need not be current to the
// second.
const watermarkPasses = 5

// Flusher flushes the ranges of shards that it holds leases for. Any number may run concurrently,
// on any machine.
type Flusher struct {
	meter  Meter
	record Record
	open   OpenLeases
	o      Options

	leases  Leases       // nil while there is no connection
	led     map[int]bool // ranges whose lease is held
	passes  int
	refused map[bucketName]struct{} // buckets that PostgreSQL refuses; they stay in the meter and are logged once
	marked  watermarks              // as this flusher last recorded them, for its ranges

	mu     sync.Mutex // guards failed, and refused while batches are committed
	failed error      // of the last pass
}

// New returns a flusher. It does nothing before Run or FlushAll; only one of them may run at a
// time.
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

// Run flushes until ctx ends. Then it flushes once more what is due, within Options.Drain, and
// releases its leases. Failures are logged and retried with backoff, so it returns an error only if
// the last pass failed.
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
		case ctx.Err() != nil: // interrupted, not failed
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

// Failed returns the error of the last pass. It is safe for concurrent use.
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

// FlushAll flushes everything, open buckets included, of all shards, no matter who holds their
// leases. It is for stopping a meter without persistence.
func (f *Flusher) FlushAll(ctx context.Context) error {
	clear(f.marked)
	for from := 0; from < f.o.Shards; from += f.o.RangeSize {
		if err := f.flushShards(ctx, from, min(from+f.o.RangeSize, f.o.Shards), true, true); err != nil {
			return err
		}
	}
	return f.tell(ctx)
}

// drainRetry is the interval between attempts of the last pass.
const drainRetry = 50 * time.Millisecond

// drain flushes what is due one last time. It retries until a pass succeeds or Options.Drain is
// over, because PostgreSQL sessions may have ended with the caller's context, which a pass finds
// out only by failing.
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

// pass renews the leases and flushes their ranges.
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

// within runs a step with a timeout. Each step has its own, so that a backlog of many ranges does
// not count as a failure.
func (f *Flusher) within(ctx context.Context, step func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, f.o.Timeout)
	defer cancel()
	return step(ctx)
}

// flushLed flushes every range whose lease is held. One that fails does not stop the others.
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
