package http1

import "time"

// Arriving is how many connections a request is being read on.
func (s *Server) Arriving() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		c.mu.Lock()
		if c.arriving {
			n++
		}
		c.mu.Unlock()
	}
	return n
}

// Stopping reports whether the server takes nothing new any more.
func (s *Server) Stopping() bool { return s.stopping.Load() }

// Clock is the server's own, which ticks.
func (s *Server) Clock() time.Time { return s.clock() }
