package cache

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Group lets callers who ask for the same thing at the same time share one call. The first to join
// leads: it makes the call and lands it; whoever joins meanwhile follows and waits. The call lives
// as long as anyone waits for it, and is cancelled when all have left. The zero Group is ready.
type Group[K comparable, V any] struct {
	mu      sync.Mutex // guards flights and what they hold
	flights map[K]*Flight[K, V]

	followed atomic.Uint64
}

// Followed counts the callers who waited for a call that another made.
func (g *Group[K, V]) Followed() uint64 { return g.followed.Load() }

// Flight is a call under way.
type Flight[K comparable, V any] struct {
	group *Group[K, V]
	key   K
	done  chan struct{} // closed when it has landed
	value V             // for followers; set before done is closed

	// Guarded by the group.
	followers  int
	leaderLeft bool
	landed     bool
	cancel     context.CancelFunc
}

// Join joins the flight of key. Who leads calls Lead, makes the call, and must call Land; who does
// not calls Wait.
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

// Start returns the context of the call: ctx's values, but cancelled only when ctx is over and
// nobody follows. After landing it is cancelled with ctx alone, because nobody else reads on. The
// leader must call end when it has read everything.
func (f *Flight[K, V]) Start(ctx context.Context) (flight context.Context, end func()) {
	//nolint:gosec // its parent holds nothing of it, so it may be left uncalled
	flight, cancel := context.WithCancel(context.WithoutCancel(ctx))
	f.group.mu.Lock()
	f.cancel = cancel
	f.group.mu.Unlock()
	stop := context.AfterFunc(ctx, f.leave)
	return flight, func() { stop() }
}

// Finish ends the flight: nobody joins any more, and followers get the value. share is called when
// there are any, before Land returns; what it gives is shared. Landing again does nothing.
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

// remove returns the number of followers, once.
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

// Wait returns what the leader landed with. It is not ok when ctx or the time ended first.
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

// leave is called when the leader has nobody to answer any more.
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

// endIfLeft cancels the call when nobody waits for it; whoever asks then begins a new one. The
// group is locked.
func (f *Flight[K, V]) endIfLeft() {
	if !f.leaderLeft || (f.followers > 0 && !f.landed) {
		return
	}
	f.group.forget(f)
	f.cancel()
}
