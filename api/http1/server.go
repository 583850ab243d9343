// Package http1 serves the forms of request that the service lives by, a plain HTTP/1.1 POST with a small body and a plain GET, with less work
// for each than net/http spends: no goroutine, no deadline and hardly an allocation per request. It recognises those forms byte by byte; a
// connection that sends anything else (another method or path, HTTP/2, chunks, a large body, an unusual byte) is handed to net/http with all
// that was read, and stays there. It decides nothing else: what net/http.Server is told (handler, time-outs, base context) holds for both.
//
// What a handler may keep when it has returned: the strings of the request's target (path and query, as they are in http.Request.URL and
// RequestURI) and of its header, which never share memory with a buffer that is used again. Not the request, its header map or its body,
// which are.
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

// Server is an http.Server with a lane of its own for plain requests.
type Server struct {
	http        *http.Server
	lane        []opening
	now         func() time.Time
	idleTimeout time.Duration
	base        context.Context //nolint:containedctx // the parent of every request's, as in http.Server
	stopping    atomic.Bool
	tick        atomic.Pointer[tick]
	foreign     *handOver
	watchers    sync.WaitGroup
	conns       sync.WaitGroup

	mu       sync.Mutex // guards what follows
	open     map[*conn]struct{}
	listener net.Listener
	stopped  chan struct{}
}

// The server's clock ticks instead of being read for each request; a request that is handled for longer than watchAfter has the end of its
// connection looked out for.
const (
	tickLength = 50 * time.Millisecond
	watchAfter = 2 * tickLength
)

// tick is the time of a moment ago, with the value of the Date field.
type tick struct {
	at   time.Time
	date string
}

// New makes a server of one that was not started. prefixes are what the paths of the lane begin with, "/rpc/" or the like; handlers under them
// keep neither the request nor its header nor its body when they return.
func New(s *http.Server, now func() time.Time, prefixes ...string) *Server {
	server := &Server{
		http: s, lane: openings(prefixes), now: now, idleTimeout: s.IdleTimeout, open: make(map[*conn]struct{}), stopped: make(chan struct{}),
	}
	server.tick.Store(newTick(nil, now()))
	return server
}

func newTick(last *tick, now time.Time) *tick {
	if last != nil && last.at.Unix() == now.Unix() {
		return &tick{now, last.date}
	}
	return &tick{now, now.UTC().Format(http.TimeFormat)}
}

// clock is the time, at most a tick ago.
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

// Serve accepts connections until Shutdown or Close, and then gives http.ErrServerClosed.
func (s *Server) Serve(l net.Listener) error {
	s.base = context.Background()
	if s.http.BaseContext != nil {
		s.base = s.http.BaseContext(l)
	}
	s.foreign = newHandOver(l.Addr())
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
		_ = s.Close() // the listener broke
		return err
	}
	<-s.stopped
	return <-failed
}

// listen notes the listener that a stop has to close; false when the server was stopped before.
func (s *Server) listen(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listener = l
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
		pause = min(max(5*time.Millisecond, 2*pause), longestPause) // out of file descriptors, above all
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

// lookOut watches the connections of requests that take a while, so that their contexts end when the client goes away.
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

// Shutdown closes the listener and idle connections, and waits for requests under way until ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	s.beginStop()
	s.closeIdle()
	err := s.http.Shutdown(ctx)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		if s.closeIdle() {
			s.endStop()
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
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

// closeIdle closes connections on which nothing is under way and tells whether none is left.
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
