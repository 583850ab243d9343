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
	latencyParts = 16 // of the book, each with a lock of its own
	// latencyCells is how many counts a script writes: a tenth of a millisecond, in which Redis
	// admits nobody.
	latencyCells = 64
	// latencyFailures in a row say that there is no Redis at all, and not only one master of a
	// cluster less.
	latencyFailures = 8
)

// LatencyOptions says how latencies are batched. Zero values take the defaults named here.
type LatencyOptions struct {
	Interval time.Duration // between writes; five seconds
	Most     int           // counts held at most, each of a line and a bucket of the histogram; 65,536
	Logger   *slog.Logger  // slog.Default()
}

// Latencies adds up in memory how long answered calls took, and writes what was added to the
// meter's open usage buckets every few seconds, beside the calls. The rule for overflow: half full,
// it is written early; full, the newest call is left out and counted. What was sent and not
// answered is never sent again, so that nothing counts twice; it is counted as lost. They are
// statistics: no charge rests on them.
type Latencies struct {
	meter *Meter
	o     LatencyOptions
	parts [latencyParts]latencyPart

	first int // shard that is written first; of run alone

	written, dropped atomic.Int64
	wake             chan struct{}      // holds one token: a part is half full
	closing          chan struct{}      // closed by Close
	once             sync.Once          // guards closing
	cancel           context.CancelFunc // ends the writing for good
	done             chan struct{}
}

// latencyPart is the share of the book that has the accounts of one remainder.
type latencyPart struct {
	mu     sync.Mutex // guards all below
	counts map[latencyCell]int64
	spare  map[latencyCell]int64 // empty, with the room that it had
	closed bool
	_      [64]byte // keeps the next part's lock off this one's cache line
}

// latencyCell is a line and the bucket of its histogram. The words are of the program's own, so
// holding them holds no request.
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

// NewLatencies starts a book that is written to m. Close it before the meter.
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

// Observe counts how long an answered call took. It never waits for Redis, and allocates nothing
// for a line that is counted often. Nothing is counted by nil.
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

// add counts calls of a cell, unless its part is full or closed. half is whether the part has
// become half full.
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

// Written is how many calls' durations reached the meter since the start.
func (l *Latencies) Written() int64 { return l.written.Load() }

// Dropped is how many calls' durations were left out or lost since the start.
func (l *Latencies) Dropped() int64 { return l.dropped.Load() }

// Close stops counting and writes what is held, until ctx ends. What is left then is lost and
// counted, and told by the error.
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

// turn is a shard's place in the order of writing.
func (l *Latencies) turn(shard int) int { return (shard - l.first + account.Shards) % account.Shards }

// take empties the book, in the order of shards and accounts.
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

// write sends counts, one script after another among the admissions. What a script carried that
// fails is lost, because it may have run. When the next ones fail too, or take their time to, what
// was not sent yet goes back into the book and comes first the next time.
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

// giveBack returns what was not sent to the book, for the next time.
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
