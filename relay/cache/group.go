package cache

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Group deduplicates concurrent calls for the same key (singleflight). The first caller to join
// leads: it makes the call and finishes the flight; later callers follow and wait. The call lives
// as long as anyone waits for it, and is cancelled when all have left. The zero Group is ready to
// use.
type Group[K comparable, V any] struct {
	mu      sync.Mutex // guards flights and what they hold
	flights map[K]*Flight[K, V]

	followed atomic.Uint64
}

// Followed counts the callers who waited for another caller's call.
func (g *Group[K, V]) Followed() uint64 { return g.followed.Load() }

// Flight is a call in flight.
type Flight[K comparable, V any] struct {
	group *Group[K, V]
	key   K
	done  chan struct{} // closed when the flight has finished
	value V             // for followers; set before done is closed

	// Guarded by the group.
	followers  int
	leaderLeft bool
	landed     bool
	cancel     context.CancelFunc
}

// Join joins the flight of key. The leader calls Start, makes the call, and must call Finish; a
// follower calls Wait.
func (g *Group[K, V]) Join(key K) (f *Flight[K, V], leads bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if f, ok := g.flights[key]; ok {
		f.followers++
		g.followed.Add(1)
		return f, false
	}
	f = &Flight[K, V]{group: g, key: key, done: make(chan struct{})}
	if g.flights == nil {
		g.flights = make(map[K]*Flight[K, V])
	}
	g.flights[key] = f
	return f, true
}

// Start returns the context of the call. It has ctx's values, but is cancelled only when ctx is
// done and nobody follows. After Finish it is cancelled with ctx alone, because followers no longer
// read. The leader must call end when it has read everything.
func (f *Flight[K, V]) Start(ctx context.Context) (flight context.Context, end func()) {
	//nolint:gosec // its parent holds nothing of it, so it may be left uncalled
	flight, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f.group.mu.Lock()
	f.cancel = cancel
	f.group.mu.Unlock()
	stop := context.AfterFunc(ctx, f.leave)
	return flight, func() { stop() }
}

// Finish ends the flight: nobody can join it any more, and followers receive the value. Finish
// calls share before it returns, if there are followers; the value is shared between them. A second
// Finish does nothing.
func (f *Flight[K, V]) Finish(share func() V) {
	if f.remove() > 0 {
		f.value = share()
	}
	select {
	case <-f.done:
	default:
		close(f.done)
	}
}

// remove takes the flight out of the group and returns the number of followers; 0 after the first
// call.
func (f *Flight[K, V]) remove() int {
	g := f.group
	g.mu.Lock()
	defer g.mu.Unlock()
	if f.landed {
		return 0
	}
	f.landed = true
	g.forget(f)
	if f.leaderLeft && f.cancel != nil {
		f.cancel()
	}
	return f.followers
}

func (g *Group[K, V]) forget(f *Flight[K, V]) {
	if g.flights[f.key] == f {
		delete(g.flights, f.key)
	}
}

// Wait returns the leader's value. ok is false if ctx or limit ended first.
func (f *Flight[K, V]) Wait(ctx context.Context, limit time.Duration) (value V, ok bool) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-f.done:
		return f.value, true
	case <-ctx.Done():
	case <-timer.C:
	}
	f.unfollow()
	return value, false
}

// leave is called when the leader's client is gone.
func (f *Flight[K, V]) leave() {
	f.group.mu.Lock()
	defer f.group.mu.Unlock()
	f.leaderLeft = true
	f.endIfLeft()
}

func (f *Flight[K, V]) unfollow() {
	f.group.mu.Lock()
	defer f.group.mu.Unlock()
	f.followers--
	f.endIfLeft()
}

// endIfLeft cancels the call when nobody waits for it; the next caller starts a new one. The group
// must be locked.
func (f *Flight[K, V]) endIfLeft() {
	if !f.leaderLeft || (f.followers > 0 && !f.landed) {
		return
	}
	f.group.forget(f)
	f.cancel()
}
