package upstream

import (
	"sync"
	"sync/atomic"
	"time"
)

// lackingFor is how long an upstream is taken at its word that it does not have a method.
const lackingFor = 10 * time.Minute

// lacking remembers which methods an upstream said it does not have. Names come from the catalog,
// so it stays small.
type lacking struct {
	now func() time.Time
	any atomic.Bool // most upstreams lack nothing that is asked of them

	mu    sync.RWMutex // guards until
	until map[string]time.Time
}

func (l *lacking) note(method []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.until == nil {
		l.until = make(map[string]time.Time)
	}
	l.until[string(method)] = l.now().Add(lackingFor)
	l.any.Store(true)
}

func (l *lacking) has(method []byte) bool {
	if !l.any.Load() {
		return false
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	until, ok := l.until[string(method)]
	return ok && l.now().Before(until)
}
