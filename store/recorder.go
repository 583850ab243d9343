package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
)

// RecorderOptions says how call records are batched. Zero values take the defaults named here.
type RecorderOptions struct {
	Buffer   int           // records held at most, those being written included; 200,000
	MaxBatch int           // records per COPY; 5,000
	MaxDelay time.Duration // the longest a record waits for a batch to fill; 250 ms
	Timeout  time.Duration // of one COPY; ten seconds
	Logger   *slog.Logger  // slog.Default()
	Refused  RefusedBounds // how many refused calls get a record of their own
	OnDrop   func(n int)   // called for every loss, from any goroutine; must not block
	OnWrite  func(n int)   // called after every COPY with the number of records written
}

// Backoff between failed writes. It is short of the time that the default buffer lasts at full
// load.
const (
	recorderFirstBackoff = 100 * time.Millisecond
	recorderMaxBackoff   = 5 * time.Second
)

// Recorder writes call records in batches, beside the calls. Of refused calls it writes the first
// few of a minute and the newest one, and sums. The rule for overflow: while PostgreSQL is slow or
// away the buffer fills; when it is full the newest record is dropped and counted, and the call
// goes on. Call records are for support and statistics; what a call costs is metered elsewhere and
// never lost here.
type Recorder struct {
	write    func(ctx context.Context, calls []Call) error
	writeSum func(ctx context.Context, sums []RefusedSum) error
	o        RecorderOptions

	mu       sync.Mutex // guards pending, spare, inFlight, closed, refused
	pending  []Call
	spare    []Call
	inFlight int
	closed   bool
	refused  *refusals

	summed  atomic.Int64
	dropped atomic.Int64
	written atomic.Int64
	wake    chan struct{}      // holds one token: a batch is full, or the recorder closes
	closing chan struct{}      // closed by Close
	cancel  context.CancelFunc // ends the writing for good
	done    chan struct{}
}

// NewRecorder starts a recorder that writes to s. Close it.
func NewRecorder(s *Store, o RecorderOptions) *Recorder {
	id := uuid.Must(uuid.NewV7())
	return newRecorder(s.CopyCalls, func(ctx context.Context, sums []RefusedSum) error {
		return s.SetRefused(ctx, id, sums)
	}, o)
}

func newRecorder(write func(context.Context, []Call) error, writeSum func(context.Context, []RefusedSum) error,
	o RecorderOptions,
) *Recorder {
	if o.Buffer <= 0 {
		o.Buffer = 200_000
	}
	if o.MaxBatch <= 0 {
		o.MaxBatch = 5_000
	}
	if o.MaxDelay <= 0 {
		o.MaxDelay = 250 * time.Millisecond
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &Recorder{
		write: write, writeSum: writeSum, o: o, refused: newRefusals(o.Refused), wake: make(chan struct{}, 1),
		closing: make(chan struct{}), cancel: cancel, done: make(chan struct{}),
	}
	go r.run(ctx)
	return r
}

// Record takes a record and never waits. It is dropped and counted when the buffer is full or the
// recorder closed.
func (r *Recorder) Record(c Call) {
	r.mu.Lock()
	taken := !r.closed && r.hold(c)
	full := len(r.pending) == r.o.MaxBatch
	r.mu.Unlock()
	switch {
	case !taken:
		r.drop(1)
	case full:
		r.signal()
	}
}

// Refused is Record for a call that was refused before it was admitted: the first few of a minute,
// by key and reason, get a record, and so does the newest every ten seconds; the others are added
// up. network is the client's, as netlimit.NetworkOf gives it, and is not recorded.
func (r *Recorder) Refused(network netip.Prefix, c Call) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		r.drop(1)
		return
	}
	full, own := false, r.refused.admit(network, &c)
	if own {
		if r.hold(c) {
			full = len(r.pending) == r.o.MaxBatch
		} else {
			r.refused.count(&c)
		}
	}
	r.mu.Unlock()
	if full {
		r.signal()
	}
}

// hold takes a record into the buffer, if there is room. The caller holds mu.
func (r *Recorder) hold(c Call) bool {
	if len(r.pending)+r.inFlight >= r.o.Buffer {
		return false
	}
	r.pending = append(r.pending, c)
	return true
}

// Summed is how many refused calls were written as part of a sum since the start.
func (r *Recorder) Summed() int64 { return r.summed.Load() }

// Dropped is how many records were lost since the start.
func (r *Recorder) Dropped() int64 { return r.dropped.Load() }

// Written is how many records reached PostgreSQL since the start.
func (r *Recorder) Written() int64 { return r.written.Load() }

// Buffered is how many records are held, those being written included, and how many are held at
// most.
func (r *Recorder) Buffered() (held, limit int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending) + r.inFlight, r.o.Buffer
}

// Close stops taking records and writes those it holds, until ctx ends. What is left then is
// dropped and counted, and told by the error.
func (r *Recorder) Close(ctx context.Context) error {
	r.mu.Lock()
	first := !r.closed
	r.closed = true
	before := r.dropped.Load() // before the last writing begins, or what it loses at once goes untold
	r.mu.Unlock()
	if first {
		close(r.closing)
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		r.cancel()
		<-r.done
	}
	r.cancel()
	if lost := r.dropped.Load() - before; lost > 0 {
		return fmt.Errorf("close recorder: %d call records could not be written in time", lost)
	}
	return nil
}

func (r *Recorder) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *Recorder) drop(n int) {
	r.dropped.Add(int64(n))
	if r.o.OnDrop != nil {
		r.o.OnDrop(n)
	}
}

func (r *Recorder) run(ctx context.Context) {
	defer close(r.done)
	tick, sums := time.NewTicker(r.o.MaxDelay), time.NewTicker(r.refused.b.Every)
	defer tick.Stop()
	defer sums.Stop()
	for {
		select {
		case <-tick.C:
		case <-r.wake:
		case <-sums.C:
			r.writeRefused(ctx)
		case <-r.closing:
			// A record may still have been taken while the last batch was written; none is taken
			// any more.
			r.writeLast(ctx)
			return
		}
		r.writeAll(ctx)
	}
}

// writeAll writes what is pending, batch by batch, until nothing is.
func (r *Recorder) writeAll(ctx context.Context) {
	for batch := r.take(); len(batch) > 0; batch = r.take() {
		for rest := batch; len(rest) > 0; {
			n := min(len(rest), r.o.MaxBatch)
			r.writeBatch(ctx, rest[:n])
			rest = rest[n:]
		}
		r.giveBack(batch)
	}
}

// take swaps the pending records for an empty slice.
func (r *Recorder) take() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	batch := r.pending
	r.pending, r.spare = r.spare[:0], nil
	r.inFlight = len(batch)
	return batch
}

func (r *Recorder) giveBack(batch []Call) {
	clear(batch)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spare = batch[:0]
	r.inFlight = 0
}

// writeBatch writes records until they are written, or found impossible to write, or ctx ends.
func (r *Recorder) writeBatch(ctx context.Context, calls []Call) {
	for backoff := recorderFirstBackoff; ; backoff = min(2*backoff, recorderMaxBackoff) {
		err := r.copy(ctx, calls)
		switch {
		case err == nil:
			r.written.Add(int64(len(calls)))
			if r.o.OnWrite != nil {
				r.o.OnWrite(len(calls))
			}
			return
		case ctx.Err() != nil:
			r.drop(len(calls))
			return
		case rejected(err):
			r.split(ctx, calls)
			return
		}
		r.o.Logger.Warn("call records not written; trying again", "records", len(calls), "backoff", backoff,
			"error", err)
		timer := time.NewTimer(backoff)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// split writes the halves of a batch that PostgreSQL refuses for its content, so that only the
// records at fault are lost.
func (r *Recorder) split(ctx context.Context, calls []Call) {
	if len(calls) > 1 {
		half := len(calls) / 2
		r.writeBatch(ctx, calls[:half])
		r.writeBatch(ctx, calls[half:])
		return
	}
	// While a partition is being attached a row may be refused once although nothing is wrong with
	// it.
	err := r.copy(ctx, calls)
	if err == nil {
		r.written.Add(1)
		return
	}
	if violation, ok := errors.AsType[*pgconn.PgError](err); ok && violation.Code == uniqueViolation {
		// An earlier attempt was committed although its answer was lost.
		r.written.Add(1)
		return
	}
	r.o.Logger.Error("call record refused by PostgreSQL", "request_id", calls[0].RequestID, "error", err)
	r.drop(1)
}

func (r *Recorder) copy(ctx context.Context, calls []Call) error {
	ctx, cancel := context.WithTimeout(ctx, r.o.Timeout)
	defer cancel()
	return r.write(ctx, calls)
}

const uniqueViolation = "23505"
