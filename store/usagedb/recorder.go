package usagedb

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

	"github.com/chainaccess/gateway/store/internal/pg"
)

// RecorderOptions configures batching of call records. A zero value means the default that is named
// with each field.
type RecorderOptions struct {
	Buffer   int           // maximum of records held, those being written included; 200,000
	MaxBatch int           // records per COPY; 5,000
	MaxDelay time.Duration // maximum time that a record waits for its batch; 250 ms
	Timeout  time.Duration // timeout of one COPY; 10 s
	Logger   *slog.Logger  // slog.Default()
	Refused  RefusedBounds // bounds of single records of refused calls
	OnDrop   func(n int)   // called for every loss, from any goroutine; must not block
	OnWrite  func(n int)   // called after every COPY with the number of records written
}

// Backoff between failed writes. The maximum is shorter than the time that the default buffer lasts
// at full load.
const (
	recorderFirstBackoff = 100 * time.Millisecond
	recorderMaxBackoff   = 5 * time.Second
)

// Recorder writes call records to PostgreSQL in batches, off the path of calls. Of refused calls it
// writes the first few of a minute and the newest one, and sums of the others. When PostgreSQL is
// slow or down the buffer fills; when the buffer is full, the newest record is dropped and counted,
// and the call proceeds. Call records serve support and statistics. Metering does not depend on
// them.
type Recorder struct {
	write    func(ctx context.Context, calls []Call) error
	writeSum func(ctx context.Context, sums []RefusedSum) error
	o        RecorderOptions

	mu       sync.Mutex // guards pending, spare, inFlight, closed and refused
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
	cancel  context.CancelFunc // stops the writing for good
	done    chan struct{}
}

// CallWriter writes call records and sums of refused calls; a Store is one.
type CallWriter interface {
	CopyCalls(ctx context.Context, calls []Call) error
	SetRefused(ctx context.Context, recorder uuid.UUID, sums []RefusedSum) error
}

// NewRecorder starts a recorder that writes to s. The caller must close it.
func NewRecorder(s CallWriter, o RecorderOptions) *Recorder {
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

// Record queues a record and never blocks. The record is dropped and counted when the buffer is
// full or the recorder is closed.
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

// Refused is Record for a call that was refused before admission. The first few of a minute, by key
// and reason, get a record, and so does the newest of every interval; the others are summed.
// network is the client's network (netlimit.NetworkOf) and is not stored.
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

// hold appends a record to the buffer and reports whether there was room. The caller holds mu.
func (r *Recorder) hold(c Call) bool {
	if len(r.pending)+r.inFlight >= r.o.Buffer {
		return false
	}
	r.pending = append(r.pending, c)
	return true
}

// Summed returns how many refused calls were written as part of a sum since the start.
func (r *Recorder) Summed() int64 { return r.summed.Load() }

// Dropped returns how many records were lost since the start.
func (r *Recorder) Dropped() int64 { return r.dropped.Load() }

// Written returns how many records reached PostgreSQL since the start.
func (r *Recorder) Written() int64 { return r.written.Load() }

// Buffered returns how many records are held, those being written included, and the maximum.
func (r *Recorder) Buffered() (held, limit int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.pending) + r.inFlight, r.o.Buffer
}

// Close stops accepting records and writes the held ones until ctx is done. It drops and counts the
// rest, and reports them in its error.
func (r *Recorder) Close(ctx context.Context) error {
	r.mu.Lock()
	first := !r.closed
	r.closed = true
	before := r.dropped.Load() // read before the last write begins, so that its losses are reported
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
			// A record may have been accepted while the last batch was written; none is accepted
			// now.
			r.writeLast(ctx)
			return
		}
		r.writeAll(ctx)
	}
}

// writeAll writes batches until nothing is pending.
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

// take returns the pending records and replaces them with an empty slice.
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

// writeBatch retries with backoff until the records are written, PostgreSQL rejects their content,
// or ctx is done.
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
		case pg.IsRejected(err):
			r.split(ctx, calls)
			return
		}
		r.o.Logger.Warn("call records not written; will retry", "records", len(calls), "backoff", backoff,
			"error", err)
		timer := time.NewTimer(backoff)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// split writes both halves of a batch that PostgreSQL rejected for its content, so that only the
// invalid records are lost.
func (r *Recorder) split(ctx context.Context, calls []Call) {
	if len(calls) > 1 {
		half := len(calls) / 2
		r.writeBatch(ctx, calls[:half])
		r.writeBatch(ctx, calls[half:])
		return
	}
	// A valid row may be rejected once while a partition is being attached.
	err := r.copy(ctx, calls)
	if err == nil {
		r.written.Add(1)
		return
	}
	if violation, ok := errors.AsType[*pgconn.PgError](err); ok && violation.Code == uniqueViolation {
		// An earlier attempt was committed and its response lost.
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
