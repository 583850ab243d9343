package heads

import (
	"sync"
	"sync/atomic"
	"time"
)

// Seen is the heads that one upstream said it has, by probes and its answers; zero before the
// first.
type Seen struct {
	heads [kinds]atomic.Uint64
	at    atomic.Int64 // when it last said so, unix nanoseconds
}

// Saw records a head that the upstream said it has.
func (s *Seen) Saw(kind Kind, n uint64, now time.Time) {
	s.heads[kind].Store(n)
	s.at.Store(now.UnixNano())
}

// Probed is Saw for a round of probes, unless the upstream said something since.
func (s *Seen) Probed(n uint64, at time.Time) {
	if n > 0 && at.UnixNano() > s.at.Load() {
		s.Saw(Latest, n, at)
	}
}

// Showed records that the upstream answered for a block, so it has it.
func (s *Seen) Showed(n uint64) { raise(&s.heads[Latest], n) }

// Lacked records that the upstream does not have a block.
func (s *Seen) Lacked(n uint64) {
	if known := s.heads[Latest].Load(); n > 0 && known >= n {
		s.heads[Latest].CompareAndSwap(known, n-1)
	}
}

// Head returns the upstream's head; zero if it is not known.
func (s *Seen) Head(kind Kind) uint64 { return s.heads[kind].Load() }

// Behind returns how many blocks the upstream's head is known to be below a block.
func (s *Seen) Behind(n uint64) uint64 {
	if known := s.heads[Latest].Load(); known > 0 && known < n {
		return n - known
	}
	return 0
}

// Bounds of how often an upstream is asked for the head while calls come.
const (
	refreshFastest = 250 * time.Millisecond
	refreshSlowest = time.Second
)

// Pace is when upstreams are asked for the head because calls come.
type Pace struct {
	asked    atomic.Int64 // unix nanoseconds of the last question
	advanced atomic.Int64 // unix nanoseconds of when the head was last seen to grow
	blocks   atomic.Int64 // nanoseconds between two blocks, as seen here; zero before
	last     atomic.Uint64
}

// Due reports whether an upstream should be asked now, and that the caller will: from half a block
// time after the last block, a few times in each. With news, a block is known to be there.
func (p *Pace) Due(now time.Time, blockTime time.Duration, news bool) bool {
	nanos, asked := now.UnixNano(), p.asked.Load()
	every := min(max(blockTime/4, refreshFastest), refreshSlowest)
	if nanos-asked < int64(every) || !news && nanos-p.advanced.Load() < int64(blockTime/2) {
		return false
	}
	return p.asked.CompareAndSwap(asked, nanos)
}

// Grew learns the time between two blocks from the growth of the head.
func (p *Pace) Grew(head uint64, now time.Time) {
	last, at := p.last.Load(), p.advanced.Load()
	if head <= last || !p.last.CompareAndSwap(last, head) {
		return
	}
	if p.advanced.Store(now.UnixNano()); last > 0 && at > 0 {
		p.blocks.Store((now.UnixNano() - at) / int64(head-last)) //nolint:gosec // plausible heads
	}
}

// BlockTime returns the time between two blocks as it was seen here; zero before the second block.
func (p *Pace) BlockTime() time.Duration { return time.Duration(p.blocks.Load()) }

// lowerAfter is how long all upstreams must be below a head that clients were told until it is
// lowered: as long as probes doubt a head.
const lowerAfter = time.Minute

// Floor finds out that a chain went back: that for a minute no upstream had a head that clients
// were told.
type Floor struct {
	mu    sync.Mutex // guards all below
	mark  uint64     // a head that clients were told
	since time.Time  // when it was told
}

// Below takes over the highest head of all upstreams at a moment, and reports whether what is told
// must be lowered.
func (f *Floor) Below(highest, told uint64, at time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mark == 0 || highest >= f.mark {
		f.mark, f.since = told, at
		return false
	}
	if at.Sub(f.since) < lowerAfter {
		return false
	}
	f.mark = 0
	return true
}
