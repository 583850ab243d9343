package meter

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/identity/account"
)

const (
	latencyParts = 16 // of the buffer, each with a lock of its own
	// latencyCells is how many counts one script writes. It takes a tenth of a millisecond, during
	// which Redis admits nobody.
	latencyCells = 64
	// latencyFailures in a row mean that there is no Redis at all, not that one master of a cluster
	// is gone.
	latencyFailures = 8
)

// LatencyOptions configures how latencies are batched. Zero values take the defaults named here.
type LatencyOptions struct {
	Interval time.Duration // between writes; five seconds
	Most     int           // maximum number of counts held, one per line and histogram bucket; 65,536
	Logger   *slog.Logger  // slog.Default()
}

// Latencies buffers how long answered calls took and writes the sums to the meter's open usage
// buckets every few seconds. Half full, it writes early; full, it drops the newest call and counts
// it as dropped. A write without a reply is never retried, so that nothing counts twice; its calls
// count as dropped. The latencies are statistics: no charge depends on them.
type Latencies struct {
	meter *Meter
	o     LatencyOptions
	parts [latencyParts]latencyPart

	first int // shard that is written first; used by run only

	written, dropped atomic.Int64
	wake             chan struct{}      // holds one token: a part has become half full
	closing          chan struct{}      // closed by Close
	once             sync.Once          // guards closing
	cancel           context.CancelFunc // cancels the writes
	done             chan struct{}
}

// latencyPart holds the counts of the accounts whose id has one remainder.
type latencyPart struct {
	mu     sync.Mutex // guards all below
	counts map[latencyCell]int64
	spare  map[latencyCell]int64 // empty, keeps its capacity
	closed bool
	_      [64]byte // keeps the next part's lock off this one's cache line
}

// latencyCell is a line and a bucket of its histogram. Its strings are the program's own constants,
// so that it does not keep a request in memory.
type latencyCell struct {
	account               account.ID
	key                   account.KeyID
	chain, service, class string
	hit                   bool
	bucket                uint8
}

// latencyCount is a cell on its way into Redis.
type latencyCount struct {
	latencyCell
	shard int
	calls int64
}

// NewLatencies starts a buffer that is written to m. Close it before the meter.
func NewLatencies(m *Meter, o LatencyOptions) *Latencies {
	if o.Interval <= 0 {
		o.Interval = 5 * time.Second
	}
	if o.Most <= 0 {
		o.Most = 1 << 16
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	ctx, cancel := context.WithCancel(context.Background())
	l := &Latencies{
		meter: m, o: o, wake: make(chan struct{}, 1), closing: make(chan struct{}), cancel: cancel,
		done: make(chan struct{}),
	}
	for i := range l.parts {
		l.parts[i].counts, l.parts[i].spare = map[latencyCell]int64{}, map[latencyCell]int64{}
	}
	go l.run(ctx)
	return l
}

// Observe counts how long an answered call took. It never waits for Redis, and does not allocate
// for a line that is already held. A nil Latencies counts nothing.
func (l *Latencies) Observe(s *Subject, c *Call, took time.Duration) {
	if l == nil {
		return
	}
	cell := latencyCell{
		account: s.Account, key: s.Key, chain: c.Chain, service: c.Service, class: c.Class, hit: c.Mode == Hit,
		bucket: uint8(account.LatencyBucketOf(took)), //nolint:gosec // a hundred buckets
	}
	ok, half := l.add(cell, 1)
	if !ok {
		l.dropped.Add(1)
	}
	if half {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
}

// add counts calls of a cell, unless its part is full or closed. half reports whether the part has
// just become half full.
func (l *Latencies) add(cell latencyCell, calls int64) (ok, half bool) {
	p := &l.parts[cell.account.UUID[len(cell.account.UUID)-1]%latencyParts]
	limit := max(1, l.o.Most/latencyParts)
	p.mu.Lock()
	defer p.mu.Unlock()
	before := len(p.counts)
	if p.closed {
		return false, false
	}
	if before >= limit {
		if _, known := p.counts[cell]; !known {
			return false, false
		}
	}
	p.counts[cell] += calls
	return true, len(p.counts) > before && len(p.counts) == (limit+1)/2
}

// Written returns how many calls' durations reached the meter since the start.
func (l *Latencies) Written() int64 { return l.written.Load() }

// Dropped returns how many calls' durations were left out or lost since the start.
func (l *Latencies) Dropped() int64 { return l.dropped.Load() }

// Close stops counting and writes what is held, until ctx ends. Its error reports how many calls
// were lost meanwhile.
func (l *Latencies) Close(ctx context.Context) error {
	before := l.dropped.Load()
	l.once.Do(func() { close(l.closing) })
	select {
	case <-l.done:
	case <-ctx.Done():
		l.cancel()
		<-l.done
	}
	l.cancel()
	if lost := l.dropped.Load() - before; lost > 0 {
		return fmt.Errorf("close the book of latencies: those of %d calls could not be written", lost)
	}
	return nil
}

func (l *Latencies) run(ctx context.Context) {
	defer close(l.done)
	tick := time.NewTicker(l.o.Interval)
	defer tick.Stop()
	var counts []latencyCount
	for {
		select {
		case <-tick.C:
		case <-l.wake:
		case <-l.closing:
			for i := range l.parts {
				l.parts[i].mu.Lock()
				l.parts[i].closed = true
				l.parts[i].mu.Unlock()
			}
			l.write(ctx, l.take(counts))
			return
		}
		counts = l.take(counts)
		l.write(ctx, counts)
		clear(counts)
	}
}

// turn returns a shard's position in the order of writing.
func (l *Latencies) turn(shard int) int { return (shard - l.first + account.Shards) % account.Shards }

// take empties the buffer, sorted by shard, account and key.
func (l *Latencies) take(into []latencyCount) []latencyCount {
	into = into[:0]
	for i := range l.parts {
		p := &l.parts[i]
		p.mu.Lock()
		taken := p.counts
		p.counts = p.spare
		p.mu.Unlock()
		for cell, calls := range taken {
			into = append(into, latencyCount{cell, account.Shard(cell.account), calls})
		}
		clear(taken)
		p.mu.Lock()
		p.spare = taken
		p.mu.Unlock()
	}
	slices.SortFunc(into, func(a, b latencyCount) int {
		return cmp.Or(cmp.Compare(l.turn(a.shard), l.turn(b.shard)),
			bytes.Compare(a.account.UUID[:], b.account.UUID[:]), bytes.Compare(a.key.UUID[:], b.key.UUID[:]))
	})
	return into
}

// write sends counts, one script at a time so that admissions run in between. The counts of a
// script that fails are lost, because it may have run. After latencyFailures in a row, or a failure
// once the interval is over, what was not sent goes back into the buffer and is first the next
// time.
func (l *Latencies) write(ctx context.Context, counts []latencyCount) {
	round, cancel := context.WithTimeout(ctx, l.o.Interval)
	defer cancel()
	failures := 0
	for len(counts) > 0 {
		n := 1
		for n < min(len(counts), latencyCells) && counts[n].shard == counts[0].shard {
			n++
		}
		calls := total(counts[:n])
		err := l.meter.addLatencies(ctx, counts[:n])
		counts = counts[n:]
		if err == nil {
			failures = 0
			l.written.Add(calls)
			continue
		}
		failures++
		l.dropped.Add(calls)
		if failures == 1 {
			l.o.Logger.Warn("latencies not written; charges are not affected", "lost_calls", calls, "error", err)
		}
		if failures == latencyFailures || round.Err() != nil {
			l.giveBack(counts)
			return
		}
	}
}

// giveBack returns what was not sent to the buffer, for the next write.
func (l *Latencies) giveBack(counts []latencyCount) {
	if len(counts) > 0 {
		l.first = counts[0].shard
	}
	for i := range counts {
		if ok, _ := l.add(counts[i].latencyCell, counts[i].calls); !ok {
			l.dropped.Add(counts[i].calls)
		}
	}
}

func total(counts []latencyCount) (calls int64) {
	for i := range counts {
		calls += counts[i].calls
	}
	return calls
}
