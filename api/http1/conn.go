package http1

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"sync"
	"time"
)

// conn is one connection of a client. Its buffers are reused from request to request.
type conn struct {
	server *Server
	net    net.Conn
	number uint64          // its number among connections, for age
	ctx    context.Context //nolint:containedctx // the parent of the context of every request on the connection
	cancel context.CancelFunc

	buffer    []byte    // read and not yet consumed
	readBy    time.Time // the read deadline that is set; zero for none
	writeBy   time.Time
	fields    fields
	blank     *http.Request // the initial state of every request of the connection
	request   http.Request
	location  url.URL
	body      body
	response  response
	following bool // another request may come on this connection
	spoke     bool // the client has sent a complete request

	mu       sync.Mutex // guards the following fields
	arriving bool       // a request is being read
	handled  time.Time  // when the current request reached its handler; zero when there is none
	idle     time.Time  // when the connection became idle; meaningless while it is not
	closed   bool
	watcher  *watcher
}

const firstBuffer = 4 << 10

func (s *Server) newConn(nc net.Conn) *conn {
	c := &conn{
		server: s, net: nc, number: s.numbers.Add(1), buffer: make([]byte, 0, firstBuffer), idle: s.clock(),
	}
	// as net/http does
	c.ctx, c.cancel = context.WithCancel(context.WithValue(s.base, http.LocalAddrContextKey, nc.LocalAddr()))
	c.fields.header = make(http.Header, 16)
	c.response.header = make(http.Header, 16)
	c.response.conn = c
	c.blank = (&http.Request{
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, RemoteAddr: nc.RemoteAddr().String(),
	}).WithContext(c.ctx)
	return c
}

// serve answers plain requests until the connection ends or sends something else. From then on
// net/http serves it.
func (c *conn) serve() {
	defer c.cancel()
	defer c.contain()
	for {
		h, v := c.readHead()
		if v == foreign {
			c.handOver()
			return
		}
		if v != plain || !c.handle(h) {
			c.close()
			return
		}
		if !c.following {
			c.finish()
			return
		}
	}
}

// contain ends the connection when reading it panicked, as net/http does. Unrecovered, the panic
// would end the process.
func (c *conn) contain() {
	if cause := recover(); cause != nil {
		c.server.logf("panic serving a connection: %v\n%s", cause, debug.Stack())
		c.close()
	}
}

// readHead reads until the head is complete. The verdict unfinished means that the connection
// ended.
func (c *conn) readHead() (head, verdict) {
	began := false
	for {
		c.fields.reset()
		h, v := parse(c.buffer, c.server.fast, &c.fields)
		if v != unfinished {
			return h, v
		}
		switch {
		case len(c.buffer) == 0 && c.spoke:
			c.setReadBy(c.server.idleTimeout, c.server.idleTimeout/2)
		case !began:
			began = true
			c.setReadBy(c.server.http.ReadHeaderTimeout, 0)
		}
		if len(c.buffer) > 0 && !c.arrives() {
			return head{}, unfinished
		}
		if err := c.readMore(maxHead); err != nil {
			return head{}, unfinished
		}
	}
}

// setReadBy sets the read deadline to d from now. It keeps a deadline that is at most slack
// earlier, because setting one costs more than the rest of a small read.
func (c *conn) setReadBy(d, slack time.Duration) {
	at := c.server.clock().Add(d)
	if slack > 0 && c.readBy.After(at.Add(-slack)) && !c.readBy.After(at) {
		return
	}
	c.readBy = at
	_ = c.net.SetReadDeadline(at) // a closed connection fails at the next read
}

// readMore reads once, into a buffer that grows up to limit bytes.
func (c *conn) readMore(limit int) error {
	if len(c.buffer) == cap(c.buffer) {
		c.buffer = append(make([]byte, 0, min(2*cap(c.buffer), limit)), c.buffer...)
	}
	n, err := c.net.Read(c.buffer[len(c.buffer):cap(c.buffer)])
	c.buffer = c.buffer[:len(c.buffer)+n]
	if n > 0 {
		return nil
	}
	return err
}

// arrives notes that a request is being read, so that Shutdown waits for it. It returns false when
// the connection was closed in the meantime.
func (c *conn) arrives() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.arriving = true
	return !c.closed
}

// handle reads the body and answers the request. It reports whether the connection is still usable.
func (c *conn) handle(h head) (usable bool) {
	whole := h.size + h.length
	c.spoke = true
	err := c.readBody(whole)
	c.body = body{rest: c.buffer[h.size:min(whole, len(c.buffer))], err: err}
	if !c.begin() {
		return false
	}
	c.location = h.location
	c.request = *c.blank
	c.request.Method, c.request.URL, c.request.RequestURI, c.request.Host = h.method, &c.location, h.target, h.host
	c.request.Header, c.request.Body, c.request.ContentLength, c.request.Close = c.fields.header, &c.body,
		int64(h.length), h.closes
	c.following = err == nil && !h.closes && !c.server.stopping.Load()
	c.response.reset()
	usable = c.answer()
	if usable && err != nil {
		c.linger()
		usable = false
	}
	read := c.end()
	c.buffer = c.buffer[:copy(c.buffer, c.buffer[min(whole, len(c.buffer)):])]
	c.buffer = append(c.buffer, read...)
	if cap(c.buffer) > keepBuffer && len(c.buffer) <= firstBuffer {
		c.buffer = append(make([]byte, 0, firstBuffer), c.buffer...)
	}
	return usable
}

const keepBuffer = 16 << 10

// readBody reads until the buffer holds whole bytes. When the client stops early, the request is
// handled anyway, and reading its body returns the error.
func (c *conn) readBody(whole int) error {
	if len(c.buffer) >= whole || !c.arrives() {
		return nil // a closed connection is not handled
	}
	c.setReadBy(c.server.http.ReadTimeout, 0)
	for len(c.buffer) < whole {
		if cap(c.buffer) < whole {
			c.buffer = append(make([]byte, 0, whole), c.buffer...)
		}
		if err := c.readMore(whole); errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		} else if err != nil {
			return err
		}
	}
	return nil
}

// answer runs the handler. It returns false when the connection must be aborted.
func (c *conn) answer() (whole bool) {
	defer func() {
		cause := recover()
		if cause == nil {
			return
		}
		whole = false
		if cause != http.ErrAbortHandler { //nolint:errorlint // net/http compares it in the same way
			c.server.logf("panic serving a request: %v\n%s", cause, debug.Stack())
		}
	}()
	c.server.http.Handler.ServeHTTP(&c.response, &c.request)
	return c.response.finish() == nil
}

// begin notes that a request is being handled. It returns false when the connection was closed in
// the meantime.
func (c *conn) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.handled = c.server.clock()
	return true
}

// end notes that no request is being handled, and returns what the watcher read of the next one.
func (c *conn) end() []byte {
	c.mu.Lock()
	c.handled, c.arriving, c.idle = time.Time{}, false, c.server.clock()
	w := c.watcher
	c.watcher = nil
	c.mu.Unlock()
	if w == nil {
		return nil
	}
	_ = c.net.SetReadDeadline(aLongTimeAgo) // wakes the watcher
	<-w.done
	c.readBy = time.Time{}
	_ = c.net.SetReadDeadline(time.Time{})
	return w.read[:w.n]
}

var aLongTimeAgo = time.Unix(1, 0)

// linger leaves the client time to read its answer before the connection ends: closing a connection
// that still receives data resets it, and the answer could be lost.
func (c *conn) linger() {
	_ = c.net.SetReadDeadline(c.server.clock().Add(lingerTime))
	_, _ = io.CopyN(io.Discard, c.net, lingerBytes) // the connection ends in any case
}

const (
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 256 << 10
)

// closeIdle closes the connection unless a request is being read or handled on it. It reports
// whether the connection is closed.
func (c *conn) closeIdle() (closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handled.IsZero() && !c.arriving {
		c.closed = true
		_ = c.net.Close()
	}
	return c.closed
}

// idleSince returns since when the connection has been idle. It returns false when a request is
// being read or handled, or the connection is closed.
func (c *conn) idleSince() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.idle, c.handled.IsZero() && !c.arriving && !c.closed
}

// finish ends a connection after its last answer. During a shutdown it lets the client close first,
// because the client may already have sent another request.
func (c *conn) finish() {
	if c.server.stopping.Load() {
		c.linger()
	}
	c.close()
}

func (c *conn) close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	_ = c.net.Close()
	c.server.forget(c, http.StateClosed)
}

// handOver passes the connection, with everything that was read from it, to net/http.
func (c *conn) handOver() {
	c.mu.Lock()
	closed := c.closed
	c.mu.Unlock()
	if closed {
		c.server.forget(c, http.StateClosed)
		return
	}
	h := c.server.foreign
	h.open.Add(1) // both first, so that a server that stops sees the connection all the time
	h.unread.Add(1)
	c.server.forget(c, http.StateHijacked)
	_ = c.net.SetDeadline(time.Time{}) // net/http sets its own
	h.give(c.net, c.buffer)
}

// body is the body of a request, read before the handler runs. err is set when the body is
// incomplete.
type body struct {
	rest []byte
	err  error
}

// Read returns what was read, then io.EOF or the reason why the rest is missing.
func (b *body) Read(p []byte) (int, error) {
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	switch {
	case len(b.rest) > 0:
		return n, nil
	case b.err != nil:
		return n, b.err
	}
	return n, io.EOF
}

// Close does nothing; the connection stays open.
func (b *body) Close() error { return nil }

// watcher waits for the end of a connection while its request is being handled. net/http does that
// for every request; here only slow ones get a watcher.
type watcher struct {
	read [1]byte
	n    int
	done chan struct{}
}

// watch starts a watcher when the current request has been handled for watchAfter or longer.
func (c *conn) watch(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handled.IsZero() || c.watcher != nil || now.Sub(c.handled) < watchAfter {
		return
	}
	w := &watcher{done: make(chan struct{})}
	c.watcher = w
	c.server.watchers.Go(func() {
		defer close(w.done)
		var err error
		w.n, err = c.net.Read(w.read[:])
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			c.cancel() // the client left
		}
	})
}
