// Package http1 serves the most frequent requests, a plain HTTP/1.1 POST with a small body and a
// plain GET, with less work per request than net/http: no goroutine, no deadline and few
// allocations. It recognises these requests byte by byte. A connection that sends anything else
// (another method or path, HTTP/2, chunks, a large body, an unusual byte) is handed to net/http
// with everything that was read, and stays there. The settings of net/http.Server (handler,
// timeouts, base context) apply to both.
//
// When a handler has returned, it may keep the strings of the request's target (path and query, as
// in http.Request.URL and RequestURI) and of its header. They never share memory with a buffer that
// is reused. It must not keep the request, its header map or its body, which are reused.
package http1

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Server is an http.Server with a fast path for plain requests.
type Server struct {
	// IdleGrace is how long Shutdown leaves idle connections open, counted from its beginning or
	// from the last answer, whichever is later. A request that is already on its way is answered
	// instead of reset. Zero closes idle connections at once. Set it before Serve.
	IdleGrace time.Duration

	http        *http.Server
	fast        []opening
	now         func() time.Time
	idleTimeout time.Duration
	base        context.Context //nolint:containedctx // the base context of every request, as in http.Server
	stopping    atomic.Bool
	answered    atomic.Pointer[tick] // when the last request that arrived while stopping was answered; nil for none
	tick        atomic.Pointer[tick]
	foreign     *handOver
	watchers    sync.WaitGroup
	conns       sync.WaitGroup

	resting *resting      // idle connections of net/http
	numbers atomic.Uint64 // the last number that age was given

	mu       sync.Mutex // guards the following fields
	open     map[*conn]struct{}
	listener net.Listener
	stopped  chan struct{}
}

// The server's clock advances in ticks instead of being read for each request. A request that is
// handled for longer than watchAfter has its connection watched.
const (
	tickLength = 50 * time.Millisecond
	watchAfter = 2 * tickLength
)

// tick is a time, with the value of the Date header.
type tick struct {
	at   time.Time
	date string
}

// New wraps a server that was not started. prefixes begin the paths that the fast path serves, such
// as "/rpc/". Handlers under them must not keep the request, its header or its body after they
// return.
func New(s *http.Server, now func() time.Time, prefixes ...string) *Server {
	server := &Server{
		http: s, fast: openings(prefixes), now: now, idleTimeout: s.IdleTimeout, open: make(map[*conn]struct{}),
		stopped: make(chan struct{}), resting: &resting{ages: make(map[net.Conn]age)},
	}
	s.ConnState = server.resting.follow(s.ConnState, func() age {
		return age{server.clock(), server.numbers.Add(1)}
	})
	server.tick.Store(newTick(nil, now()))
	s.Handler = server.lastAnswers(s.Handler)
	return server
}

// lastAnswers makes every answer of a server that stops the last of its connection: HTTP/1 closes
// it, HTTP/2 sends a GOAWAY. The check is made when the head of an answer is written. The fast path
// writes its own heads.
func (s *Server) lastAnswers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, fast := w.(*response); !fast {
			w = &lastAnswer{ResponseWriter: w, server: s}
		}
		defer func() {
			if s.stopping.Load() {
				s.answered.Store(s.tick.Load())
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// lastAnswer is an answer of net/http that announces the end of its connection when the server
// stops before the head is written.
type lastAnswer struct {
	http.ResponseWriter

	server *Server
	begun  bool
}

func (a *lastAnswer) begin() {
	if !a.begun && a.server.stopping.Load() {
		a.Header().Set("Connection", "close")
	}
	a.begun = true
}

// WriteHeader implements http.ResponseWriter.
func (a *lastAnswer) WriteHeader(status int) {
	if status >= http.StatusOK { // a 1xx status is not the answer yet
		a.begin()
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *lastAnswer) Write(p []byte) (int, error) {
	a.begin()
	return a.ResponseWriter.Write(p)
}

// Flush implements http.Flusher.
func (a *lastAnswer) Flush() {
	a.begin()
	_ = http.NewResponseController(a.ResponseWriter).Flush() // fails only when the connection is gone
}

// Unwrap is for http.ResponseController.
func (a *lastAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

func newTick(last *tick, now time.Time) *tick {
	if last != nil && last.at.Unix() == now.Unix() {
		return &tick{now, last.date}
	}
	return &tick{now, now.UTC().Format(http.TimeFormat)}
}

// clock returns the time, at most one tick old.
func (s *Server) clock() time.Time { return s.tick.Load().at }

func (s *Server) date() string { return s.tick.Load().date }

func (s *Server) logf(format string, values ...any) {
	if s.http.ErrorLog != nil {
		s.http.ErrorLog.Printf(format, values...)
	}
}

func (s *Server) report(c net.Conn, state http.ConnState) {
	if s.http.ConnState != nil {
		s.http.ConnState(c, state)
	}
}

// Serve accepts connections until Shutdown or Close, and then returns http.ErrServerClosed.
func (s *Server) Serve(l net.Listener) error {
	s.base = context.Background()
	if s.http.BaseContext != nil {
		s.base = s.http.BaseContext(l)
	}
	if !s.listen(l) {
		_ = l.Close()
		return http.ErrServerClosed
	}
	var background sync.WaitGroup
	defer background.Wait()
	failed := make(chan error, 1)
	background.Go(func() { failed <- s.http.Serve(s.foreign) })
	background.Go(s.lookOut)
	err := s.accept(l)
	if !s.stopping.Load() {
		_ = s.Close() // the listener failed
		return err
	}
	<-s.stopped
	return <-failed
}

// listen stores the listener that a stop closes. It returns false when the server was already
// stopped.
func (s *Server) listen(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listener, s.foreign = l, newHandOver(l.Addr())
	return !s.stopping.Load()
}

const longestPause = time.Second

func (s *Server) accept(l net.Listener) error {
	var pause time.Duration
	for {
		nc, err := l.Accept()
		if err == nil {
			pause = 0
			s.take(nc)
			continue
		}
		if s.stopping.Load() {
			return http.ErrServerClosed
		}
		if passing, ok := errors.AsType[interface {
			error
			Temporary() bool
		}](err); !ok || !passing.Temporary() {
			return fmt.Errorf("accept: %w", err)
		}
		pause = min(max(5*time.Millisecond, 2*pause), longestPause) // above all when there are no file descriptors left
		s.logf("accept: %v; trying again in %v", err, pause)
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-s.stopped:
			timer.Stop()
		}
	}
}

func (s *Server) take(nc net.Conn) {
	c := s.newConn(nc)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Load() {
		_ = nc.Close()
		return
	}
	s.open[c] = struct{}{}
	s.report(nc, http.StateNew)
	s.conns.Go(c.serve)
}

func (s *Server) forget(c *conn, state http.ConnState) {
	s.mu.Lock()
	delete(s.open, c)
	s.mu.Unlock()
	s.report(c.net, state)
}

// lookOut advances the clock, and watches the connections of slow requests so that their contexts
// end when the client leaves.
func (s *Server) lookOut() {
	ticker := time.NewTicker(tickLength)
	defer ticker.Stop()
	for {
		select {
		case <-s.stopped:
			return
		case <-ticker.C:
		}
		now := newTick(s.tick.Load(), s.now())
		s.tick.Store(now)
		s.mu.Lock()
		for c := range s.open {
			c.watch(now.at)
		}
		s.mu.Unlock()
	}
}

// Shutdown accepts no more connections and makes every answer the last of its connection. Once no
// answer was sent for IdleGrace, it closes idle connections and waits for the remaining requests
// until ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	s.beginStop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	if !s.settle(ctx, tick.C) {
		return ctx.Err()
	}
	// net/http drops a request whose head it has not read when it is told to stop, so it is told
	// after the fast path: until its last connection has ended, one may turn out to be net/http's.
	// A tick lies between its reading a head and its looking whether it stops.
	read := func() bool { return s.foreign == nil || s.foreign.unread.Load() == 0 }
	if err := until(ctx, tick.C, func() bool { return s.closeIdle() && read() }); err != nil {
		return err
	}
	<-tick.C
	if err := s.http.Shutdown(ctx); err != nil {
		return err
	}
	s.endStop()
	return nil
}

// until waits until done reports true, which it asks at each tick, or ctx ends.
func until(ctx context.Context, tick <-chan time.Time, done func() bool) error {
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick:
		}
	}
	return nil
}

// maxGraces limits how long idle connections stay open while answers continue, in multiples of
// IdleGrace.
const maxGraces = 10

// settle waits until no answer was sent for IdleGrace or no connection is left. It returns false
// when ctx ended first.
func (s *Server) settle(ctx context.Context, tick <-chan time.Time) bool {
	if s.IdleGrace == 0 {
		return true
	}
	began := s.now()
	for {
		last, now := began, s.now()
		if answered := s.answered.Load(); answered != nil && answered.at.After(last) {
			last = answered.at
		}
		if now.Sub(last) >= s.IdleGrace || now.Sub(began) >= maxGraces*s.IdleGrace || s.connections() == 0 {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-tick:
		}
	}
}

// connections returns the number of open connections, including those of net/http.
func (s *Server) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.foreign == nil {
		return len(s.open)
	}
	return len(s.open) + int(s.foreign.open.Load())
}

// Close closes the listener and every connection.
func (s *Server) Close() error {
	s.beginStop()
	err := s.http.Close()
	s.mu.Lock()
	for c := range s.open {
		_ = c.net.Close()
	}
	s.mu.Unlock()
	s.endStop()
	return err
}

func (s *Server) beginStop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopping.Store(true)
	if s.listener != nil {
		_ = s.listener.Close()
	}
}

func (s *Server) endStop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.stopped:
	default:
		close(s.stopped)
	}
}

// closeIdle closes idle connections of the fast path and reports whether none is left.
func (s *Server) closeIdle() (none bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	none = true
	for c := range s.open {
		if !c.closeIdle() {
			none = false
		}
	}
	return none
}
