package upstream

import (
	"sync"
	"sync/atomic"
	"time"
)

// lackingFor is how long an upstream's statement that it lacks a method is believed.
const lackingFor = 10 * time.Minute

// unsupported remembers the methods that an upstream said it lacks. Names come from the catalog, so
// it stays small.
type unsupported struct {
	now func() time.Time
	any atomic.Bool // fast path: most upstreams lack nothing

	mu    sync.RWMutex // guards until
	until map[string]time.Time
}

func (l *unsupported) note(method []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until == nil {
		l.until = make(map[string]time.Time)
	}
	l.until[string(method)] = l.now().Add(lackingFor)
	l.any.Store(true)
}

func (l *unsupported) has(method []byte) bool {
	if !l.any.Load() {
		return false
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	until, ok := l.until[string(method)]
	return ok && l.now().Before(until)
}
