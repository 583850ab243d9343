package http1

import (
	"cmp"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// age orders idle connections. The server's clock ticks, so many share a time; number then orders
// them: it grows from connection to connection.
type age struct {
	since  time.Time
	number uint64
}

func (a age) compare(b age) int {
	return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.number, b.number))
}

// resting are the idle connections of net/http.
type resting struct {
	mu   sync.Mutex // guards ages
	ages map[net.Conn]age
}

// follow records the states that net/http reports for its connections, and passes them to next
// unless it is nil.
func (r *resting) follow(next func(net.Conn, http.ConnState), now func() age) func(net.Conn, http.ConnState) {
	return func(c net.Conn, state http.ConnState) {
		r.mu.Lock()
		if state == http.StateIdle {
			r.ages[c] = now()
		} else {
			delete(r.ages, c)
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
	if _, closed = r.ages[c]; closed {
		delete(r.ages, c)
		_ = c.Close()
	}
	return closed
}

// idle is an idle connection.
type idle struct {
	age   age
	close func() bool
}

// CloseOldestIdle closes up to limit idle connections and returns how many it closed. Those idle
// for the longest time come first; of those idle since the same tick of the clock, the first that
// connected.
func (s *Server) CloseOldestIdle(limit int) int {
	all := s.idle()
	slices.SortFunc(all, func(a, b idle) int { return a.age.compare(b.age) })
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
			all = append(all, idle{age{since, c.number}, c.closeIdle})
		}
	}
	s.mu.Unlock()
	s.resting.mu.Lock()
	defer s.resting.mu.Unlock()
	for c, age := range s.resting.ages {
		all = append(all, idle{age, func() bool { return s.resting.close(c) }})
	}
	return all
}
