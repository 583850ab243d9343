package upstream

import (
	"sync"
	"sync/atomic"
	"time"
)

// lackingFor is how long an upstream is taken at its word that it does not have a method.
const lackingFor = 10 * time.Minute

// unsupported remembers which methods an upstream said it does not have. Names come from the
// catalog, so it stays small.
type unsupported struct {
	now func() time.Time
	any atomic.Bool // most upstreams lack nothing that is asked of them

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
