package heads

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/relay/chain"
)

const (
	// pollEvery is how often a process reads while calls come; activeFor is for how long after one.
	pollEvery   = 100 * time.Millisecond
	activeFor   = 2 * time.Second
	readTimeout = 500 * time.Millisecond
	maxWait     = 2 * time.Second       // of a call for what the other processes know
	holdPause   = 20 * time.Millisecond // between two looks at whether a head may be told
	retryPause  = 20 * time.Millisecond // of a call whose read failed
	aloneFor    = 2 * readTimeout       // after a failed read, unless one succeeds before
	aloneAfter  = maxCopy + aloneFor/2  // from the last read that succeeded
	// A single failure does not make a process stand for what it knows alone, because the others
	// may go on: as many reads in a row must fail, and take as long together.
	outageReads = 2
	outageTime  = 300 * time.Millisecond
)

// Exchange offers heads to the other processes and returns what all know.
type Exchange func(ctx context.Context, offer *Offer) (Shared, error)

// Offer is what a process brings to an exchange.
type Offer struct {
	epoch  uint64
	wanted [kinds]uint64 // the highest that is there
	told   [kinds]uint64 // the highest that its clients were told
}

// sharing is how a process exchanges heads with others.
type sharing struct {
	exchange Exchange
	now      func() time.Time
	turn     chan struct{} // one read at a time
	nudge    chan struct{}
	asked    atomic.Int64 // unix nanoseconds of the last call
	failed   atomic.Int64 // unix nanoseconds of the last read, if it failed
	failures atomic.Int32 // reads that failed in a row
	tried    atomic.Int64 // nanoseconds that these took, with the pauses after them
}

// follow is state.follow. While Redis cannot be read, it stands for what this process knows itself,
// and no call waits.
func (sh *sharing) follow(s *state, arrived, now time.Time) (recent bool, wait time.Duration) {
	recent, wait = s.follow(arrived, now)
	failed := sh.failed.Load()
	if failed == 0 || now.UnixNano()-failed > int64(aloneFor) || sh.failures.Load() < outageReads ||
		sh.tried.Load() < int64(outageTime) {
		return recent, wait
	}
	if v := s.view.Load(); v == nil || now.Sub(v.ended) > aloneAfter {
		for kind := Latest; kind < kinds; kind++ {
			raise(&s.told[kind], s.wanted[kind].Load())
		}
	}
	return true, 0
}

// Fresh is At after waiting for what the other processes know, if that is needed. While Redis
// cannot be read, it returns what this process knows.
func (t *Told) Fresh(ctx context.Context, arrived time.Time) chain.Heads {
	h, fresh := t.At(arrived)
	if fresh {
		return h
	}
	sharing := t.shared.Load()
	now := sharing.now()
	until := now.Add(maxWait)
	for now.Before(until) && ctx.Err() == nil {
		recent, wait := sharing.follow(t.load(), arrived, now)
		switch {
		case !recent:
			t.readFor(ctx, arrived, sharing)
		case wait > 0:
			pause(ctx, wait)
		default:
			return t.load().heads()
		}
		now = sharing.now()
	}
	return t.load().heads()
}

// readFor reads, unless another call has done so, or failed to, meanwhile.
func (t *Told) readFor(ctx context.Context, arrived time.Time, sharing *sharing) {
	select {
	case sharing.turn <- struct{}{}:
		defer func() { <-sharing.turn }()
	case <-ctx.Done():
		return
	}
	if recent, _ := sharing.follow(t.load(), arrived, sharing.now()); !recent {
		t.read(ctx, sharing)
		if sharing.failed.Load() != 0 {
			pause(ctx, retryPause)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// Hold waits until clients may be told of a head that an answer shows, at most until a moment. It
// reports whether they may.
func (t *Told) Hold(ctx context.Context, kind Kind, n uint64, now func() time.Time, until time.Time) bool {
	for {
		moment := now()
		t.Fresh(ctx, moment)
		if t.load().told[kind].Load() >= n {
			return true
		}
		if !moment.Before(until) || ctx.Err() != nil {
			return false
		}
		pause(ctx, holdPause)
	}
}

// read exchanges heads once. The caller holds the turn.
func (t *Told) read(ctx context.Context, sharing *sharing) {
	s := t.load()
	offer := Offer{epoch: s.epoch}
	for kind := Latest; kind < kinds; kind++ {
		offer.wanted[kind], offer.told[kind] = s.wanted[kind].Load(), s.told[kind].Load()
	}
	// The read goes on when its caller leaves, for the others that wait.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readTimeout)
	defer cancel()
	started := sharing.now()
	shared, err := sharing.exchange(ctx, &offer)
	ended := sharing.now()
	if err != nil {
		if last := sharing.failed.Load(); last == 0 || started.UnixNano()-last > int64(aloneFor) {
			sharing.failures.Store(0)
			sharing.tried.Store(0)
		}
		sharing.failures.Add(1)
		sharing.tried.Add(int64(ended.Sub(started) + retryPause))
		sharing.failed.Store(ended.UnixNano())
		return
	}
	sharing.failed.Store(0)
	t.adopt(s, &view{Shared: shared, started: started, ended: ended})
}

// adopt puts a view in force. One of a later epoch starts anew.
func (t *Told) adopt(s *state, v *view) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if current := t.load(); current != s {
		return // the heads fell while they were read
	}
	if v.Epoch > s.epoch {
		s = &state{epoch: v.Epoch}
	}
	for kind, list := range v.heads {
		if n := len(list); n > 0 {
			raise(&s.wanted[kind], list[n-1].head)
		}
	}
	s.view.Store(v)
	t.state.Store(s)
}

// Share makes the heads those of several processes. Before, they are told at once.
func (t *Told) Share(exchange Exchange, now func() time.Time) {
	sharing := &sharing{
		exchange: exchange, now: now, turn: make(chan struct{}, 1), nudge: make(chan struct{}, 1),
	}
	sharing.nudge <- struct{}{}
	t.shared.Store(sharing)
}

// Shared reports whether the heads are those of several processes.
func (t *Told) Shared() bool { return t.shared.Load() != nil }

// ErrNotShared reports that Follow was called without Share.
var ErrNotShared = errors.New("the heads are not shared: call Share before Follow")

// Follow exchanges heads with the other processes until ctx ends: while calls come, and when a head
// is new.
func (t *Told) Follow(ctx context.Context) error {
	sharing := t.shared.Load()
	if sharing == nil {
		return ErrNotShared
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-sharing.nudge:
		case <-tick.C:
			if sharing.now().UnixNano()-sharing.asked.Load() > int64(activeFor) && !t.hasNews() {
				continue
			}
		}
		select {
		case sharing.turn <- struct{}{}:
			t.read(ctx, sharing) // after a failure, the next tick repeats it
			<-sharing.turn
		case <-ctx.Done():
			return nil
		}
	}
}

// hasNews reports whether a head is wanted that the other processes do not know.
func (t *Told) hasNews() bool {
	s := t.load()
	v := s.view.Load()
	for kind := Latest; kind < kinds; kind++ {
		wanted := s.wanted[kind].Load()
		if wanted == 0 {
			continue
		}
		if v == nil || len(v.heads[kind]) == 0 || v.heads[kind][len(v.heads[kind])-1].head < wanted {
			return true
		}
	}
	return false
}
