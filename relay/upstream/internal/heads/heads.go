// Package heads holds the heads of a chain that the gateway stands for, and keeps processes from
// contradicting each other about them.
//
// A process that sees a higher head first writes it to Redis, and tells it to clients only once it
// has been there for shareTime. A process that answers for a head has read Redis less than maxCopy
// ago, which is shorter. So it knows every head that a client may have been told, by whatever
// process, without a round trip for each call and without acknowledgements. Ages are measured by
// the clock of Redis. A process knows them up to the time that its read took; a call that comes
// while a head may or may not be shareTime old waits that long.
//
// While Redis cannot be read, a process stands for what it knows itself.
package heads

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/relay/chain"
)

// Kind is which of a chain's heads.
type Kind uint8

// The kinds. EVM chains have Latest, Safe and Finalized. On Solana, Latest is the default
// commitment, finalized.
const (
	None Kind = iota
	Latest
	Confirmed
	Processed
	Safe
	Finalized
	kinds
)

const (
	shareTime = 250 * time.Millisecond // from when a head is in Redis until clients may be told of it
	maxCopy   = 200 * time.Millisecond // age of what was read from Redis
	maxHead   = 1 << 53                // that a Lua number holds
)

// Told is the heads of one chain. They never go back, except by Fall.
type Told struct {
	state  atomic.Pointer[state]
	mu     sync.Mutex // guards replacing state
	shared atomic.Pointer[sharing]
}

// state is what is known of the heads since they last fell.
type state struct {
	epoch  uint64
	wanted [kinds]atomic.Uint64 // the highest that is there
	told   [kinds]atomic.Uint64 // the highest that clients may have been told
	view   atomic.Pointer[view]
}

// Shared is what all processes know.
type Shared struct {
	Epoch uint64
	heads [kinds][]entry // the lowest first
}

type entry struct {
	head uint64
	age  time.Duration // in Redis, when it was read
}

// view is a Shared with the times between which Redis was read.
type view struct {
	Shared

	started, ended time.Time
}

// at returns the head of a kind that clients may be told at a moment; zero for none. For a call
// that came at arrived, wait is how much longer it takes until that includes every head that
// another process may have told before.
func (v *view) at(kind Kind, arrived, now time.Time) (head uint64, wait time.Duration) {
	for _, e := range v.heads[kind] {
		left := shareTime - e.age - now.Sub(v.ended)
		switch {
		case left <= 0:
			head = e.head
		case e.age+arrived.Sub(v.started) >= shareTime:
			wait = max(wait, left)
		}
	}
	return head, wait
}

func (t *Told) load() *state {
	if s := t.state.Load(); s != nil {
		return s
	}
	t.state.CompareAndSwap(nil, new(state))
	return t.state.Load()
}

func raise(at *atomic.Uint64, n uint64) (raised bool) {
	for {
		known := at.Load()
		if n <= known {
			return false
		}
		if at.CompareAndSwap(known, n) {
			return true
		}
	}
}

// Want records a head that is there. It is told at once by a process of its own, otherwise once all
// processes know it.
func (t *Told) Want(kind Kind, n uint64) {
	if n >= maxHead {
		return
	}
	s := t.load()
	if !raise(&s.wanted[kind], n) {
		return
	}
	sharing := t.shared.Load()
	if sharing == nil {
		raise(&s.told[kind], n)
		return
	}
	select {
	case sharing.nudge <- struct{}{}:
	default:
	}
}

// Wanted returns the highest head that is known to be there, whether or not clients may be told.
func (t *Told) Wanted(kind Kind) uint64 { return t.load().wanted[kind].Load() }

// Fall starts anew with a lower head, after the chain, or all upstreams, went back. epoch numbers
// the falls; an earlier one is ignored.
func (t *Told) Fall(epoch, latest uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if epoch <= t.load().epoch {
		return
	}
	next := &state{epoch: epoch}
	next.wanted[Latest].Store(latest)
	next.told[Latest].Store(latest)
	t.state.Store(next)
}

// At returns the heads to stand for in a call that came at this moment. fresh is false if another
// process may have told of a higher one.
func (t *Told) At(now time.Time) (h chain.Heads, fresh bool) {
	s, sharing := t.load(), t.shared.Load()
	if sharing == nil {
		return s.heads(), true
	}
	if nanos := now.UnixNano(); nanos-sharing.asked.Load() > int64(pollEvery) {
		sharing.asked.Store(nanos)
	}
	recent, wait := sharing.follow(s, now, now)
	return s.heads(), recent && wait == 0
}

func (s *state) heads() chain.Heads {
	return chain.Heads{
		Latest: s.told[Latest].Load(), Safe: s.told[Safe].Load(), Finalized: s.told[Finalized].Load(),
		Confirmed: s.told[Confirmed].Load(), Processed: s.told[Processed].Load(),
	}
}

// follow raises what is told to what may be told now. For a call that came at arrived, recent
// reports whether Redis was read recently enough, and wait is as in view.at.
func (s *state) follow(arrived, now time.Time) (recent bool, wait time.Duration) {
	v := s.view.Load()
	if v == nil {
		return false, 0
	}
	for kind := Latest; kind < kinds; kind++ {
		if len(v.heads[kind]) > 0 {
			head, more := v.at(kind, arrived, now)
			raise(&s.told[kind], head)
			wait = max(wait, more)
		}
	}
	return arrived.Sub(v.started) <= maxCopy, wait
}

// Head returns one head as it may be told now.
func (t *Told) Head(kind Kind, now time.Time) uint64 {
	s := t.load()
	if sharing := t.shared.Load(); sharing != nil {
		sharing.follow(s, now, now)
	}
	return s.told[kind].Load()
}
