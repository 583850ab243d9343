package http1

import "time"

// Arriving returns the number of connections on which a request is being read.
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

// Stopping reports whether the server accepts nothing new.
func (s *Server) Stopping() bool { return s.stopping.Load() }

// Clock returns the time of the server's own clock.
func (s *Server) Clock() time.Time { return s.clock() }

// Idle returns the number of idle connections.
func (s *Server) Idle() int { return len(s.idle()) }
