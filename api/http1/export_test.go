package http1

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

// Stopping is whether the server takes nothing new any more.
func (s *Server) Stopping() bool { return s.stopping.Load() }
