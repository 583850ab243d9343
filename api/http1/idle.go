package http1

import (
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// resting are the idle connections of net/http.
type resting struct {
	mu    sync.Mutex // guards since
	since map[net.Conn]time.Time
}

// follow records the states that net/http reports for its connections, and passes them to next
// unless it is nil.
func (r *resting) follow(next func(net.Conn, http.ConnState), now func() time.Time) func(net.Conn, http.ConnState) {
	return func(c net.Conn, state http.ConnState) {
		r.mu.Lock()
		if state == http.StateIdle {
			r.since[c] = now()
		} else {
			delete(r.since, c)
		}
		r.mu.Unlock()
		if next != nil {
			next(c, state)
		}
	}
}

// close closes a connection unless it is busy again.
func (r *resting) close(c net.Conn) (closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, closed = r.since[c]; closed {
		delete(r.since, c)
		_ = c.Close()
	}
	return closed
}

// idle is an idle connection.
type idle struct {
	since time.Time
	close func() bool
}

// CloseOldestIdle closes up to limit idle connections, those idle for the longest time first, and
// returns how many it closed.
func (s *Server) CloseOldestIdle(limit int) int {
	all := s.idle()
	slices.SortFunc(all, func(a, b idle) int { return a.since.Compare(b.since) })
	closed := 0
	for i := range all {
		if closed >= limit {
			break
		}
		if all[i].close() {
			closed++
		}
	}
	return closed
}

func (s *Server) idle() []idle {
	var all []idle
	s.mu.Lock()
	for c := range s.open {
		if since, ok := c.idleSince(); ok {
			all = append(all, idle{since, c.closeIdle})
		}
	}
	s.mu.Unlock()
	s.resting.mu.Lock()
	defer s.resting.mu.Unlock()
	for c, since := range s.resting.since {
		all = append(all, idle{since, func() bool { return s.resting.close(c) }})
	}
	return all
}
