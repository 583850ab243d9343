// Package plainhttp owns a lean HTTP/1.1 client for JSON-RPC reads over plain TCP. The caller's own goroutine writes the request and
// reads the answer on a connection that it holds alone, which saves what net/http spends on handing both to other goroutines. It speaks
// to one server, sends one kind of request, follows nothing and knows no TLS; everything else is net/http's.
package plainhttp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Options of a Transport. All are required.
type Options struct {
	// Template is what every request looks like: URL, Host and Header. Its header must not change.
	Template       *http.Request
	DialTimeout    time.Duration
	IdleTimeout    time.Duration // idle connections older than this are not used again
	MaxIdle        int           // idle connections kept; more are closed
	MaxHeaderBytes int           // of an answer
	Now            func() time.Time
}

// Transport is a client of one server. A request that went out on a connection which died while it was idle is sent once more on a
// fresh one, so it is for reads alone.
type Transport struct {
	o       Options
	address string
	head    []byte // the request up to the value of Content-Length
	dialer  net.Dialer

	mu      sync.Mutex // guards what follows
	idle    []*conn    // the newest last
	retired bool       // by Retire: nothing is kept any more
}

// New makes a transport to the server of the template's URL.
func New(o Options) *Transport {
	u := o.Template.URL
	address := u.Host
	if u.Port() == "" {
		address = net.JoinHostPort(u.Hostname(), "80")
	}
	head := fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\n", o.Template.Method, u.RequestURI(), o.Template.Host)
	for name, values := range o.Template.Header {
		for _, v := range values {
			head = fmt.Appendf(head, "%s: %s\r\n", name, v)
		}
	}
	return &Transport{o: o, address: address, head: append(head, "Content-Length: "...), dialer: net.Dialer{Timeout: o.DialTimeout}}
}

var errDead = errors.New("the server closed the idle connection")

// giveAway is how soon after a call began a connection shows that it had died before. A server that closes later may have worked on
// the request, and does not get it again.
const giveAway = time.Second

// Do sends a request with this body and reads the head of its answer. The answer's body must be read to its end, or closed; it is an
// Extender. The deadline is for all of it. When ctx is over, the call ends soon; the deadline of ctx is not looked at.
func (t *Transport) Do(ctx context.Context, payload []byte, deadline time.Time) (*http.Response, error) {
	began := t.o.Now()
	soon := began.Add(patience)
	if !deadline.IsZero() && deadline.Before(soon) {
		soon = deadline
	}
	c, err := t.takeAlive(soon)
	if err != nil && soon.Equal(deadline) {
		return nil, reason(ctx, err)
	}
	reused := c != nil
	for {
		if c == nil {
			var err error
			if c, err = t.dial(ctx, deadline); err != nil {
				return nil, reason(ctx, err)
			}
			if err = c.nc.SetDeadline(soon); err != nil {
				return nil, err
			}
		}
		resp, err := c.exchange(ctx, payload, soon, deadline)
		if err == nil {
			return resp, nil
		}
		c.close()
		if !reused || ctx.Err() != nil || !errors.Is(err, errDead) || t.o.Now().Sub(began) > giveAway {
			return nil, reason(ctx, err)
		}
		t.CloseIdleConnections() // what else is idle died with it
		c, reused = nil, false
	}
}

// Extender is a body whose deadline can be moved while it is being read.
type Extender interface{ Extend(deadline time.Time) }

// WithoutPeer gives an error of a connection without the addresses of its ends.
func WithoutPeer(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Err != nil {
		return fmt.Errorf("%s: %w", op.Op, op.Err)
	}
	return err
}

// reason tells a time-out and a caller who left from what broke.
func reason(ctx context.Context, err error) error {
	switch {
	case over(ctx):
		return ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded): // the latter from dialing
		return context.DeadlineExceeded
	}
	return WithoutPeer(err)
}

// Retire closes every connection that nobody holds, and those that calls under way hold as soon as they have finished.
func (t *Transport) Retire() {
	t.mu.Lock()
	t.retired = true
	t.mu.Unlock()
	t.CloseIdleConnections()
}

// over is whether ctx has ended. One that only says that its deadline is past has not: the call's own is told to Do and Extend.
func over(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

// CloseIdleConnections closes every connection that nobody holds.
func (t *Transport) CloseIdleConnections() {
	t.mu.Lock()
	idle := t.idle
	t.idle = nil
	t.mu.Unlock()
	for _, c := range idle {
		c.close()
	}
}

// takeAlive takes an idle connection on which the server has neither said anything nor hung up, and gives nil when there is none.
// What it said unasked would be read as the answer to the next request. When the deadline is over, nothing is taken.
func (t *Transport) takeAlive(deadline time.Time) (*conn, error) {
	for {
		c := t.take()
		if c == nil {
			return nil, nil
		}
		err := c.nc.SetDeadline(deadline)
		if err == nil {
			err = c.quiet()
		}
		switch {
		case err == nil:
			return c, nil
		case errors.Is(err, os.ErrDeadlineExceeded): // too late to look, which says nothing about the connection
			t.keep(c)
			return nil, err
		}
		c.close()
	}
}

func (t *Transport) take() *conn {
	c, old := t.newest()
	for _, o := range old {
		o.close()
	}
	return c
}

// newest takes the newest idle connection, or all of them as old when it is.
func (t *Transport) newest() (c *conn, old []*conn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := len(t.idle) - 1
	if last < 0 {
		return nil, nil
	}
	c = t.idle[last]
	if t.o.Now().Sub(c.since) > t.o.IdleTimeout {
		old, t.idle = t.idle, nil
		return nil, old
	}
	t.idle[last] = nil
	t.idle = t.idle[:last]
	return c, nil
}

// maxKeptOut is the largest request buffer in bytes that a connection keeps while it is idle.
const maxKeptOut = 64 << 10

func (t *Transport) put(c *conn) {
	c.since = t.o.Now()
	if cap(c.out) > maxKeptOut {
		c.out = nil
	}
	t.keep(c)
}

// keep makes c the newest idle connection, or closes it when there are enough, or none is wanted.
func (t *Transport) keep(c *conn) {
	t.mu.Lock()
	if len(t.idle) < t.o.MaxIdle && !t.retired {
		t.idle = append(t.idle, c)
		c = nil
	}
	t.mu.Unlock()
	if c != nil {
		c.close()
	}
}

func (t *Transport) dial(ctx context.Context, deadline time.Time) (*conn, error) {
	dialer := t.dialer
	dialer.Deadline = deadline
	nc, err := dialer.DialContext(ctx, "tcp", t.address)
	if err != nil {
		return nil, err
	}
	c := &conn{t: t, nc: nc, fresh: true}
	if sc, ok := nc.(syscall.Conn); ok {
		if c.raw, err = sc.SyscallConn(); err != nil {
			c.close()
			return nil, err
		}
		c.look = c.lookNow
	}
	c.limited.R = nc
	c.br = bufio.NewReaderSize(&c.limited, 8<<10) // also the longest header line
	return c, nil
}

// conn is one connection, held by one call at a time.
type conn struct {
	t       *Transport
	nc      net.Conn
	limited io.LimitedReader // bounds an answer's head; unbounded for its body
	br      *bufio.Reader
	out     []byte
	since   time.Time
	fresh   bool

	raw    syscall.RawConn
	look   func(fd uintptr) bool // lookNow, made once
	looked struct {
		n   int
		err error
		b   [1]byte
	}
}

var errNotQuiet = errors.New("the server spoke or hung up unasked")

// quiet is nil when nothing has arrived on an idle connection, not even its end.
func (c *conn) quiet() error {
	if c.raw == nil {
		return nil
	}
	if err := c.raw.Read(c.look); err != nil {
		return err
	}
	if c.looked.n < 0 && (errors.Is(c.looked.err, syscall.EAGAIN) || errors.Is(c.looked.err, syscall.EWOULDBLOCK)) {
		return nil
	}
	return errNotQuiet
}

// lookNow reads without waiting: the descriptor is in non-blocking mode.
func (c *conn) lookNow(fd uintptr) bool {
	c.looked.n, c.looked.err = syscall.Read(int(fd), c.looked.b[:])
	return true
}

func (c *conn) close() { _ = c.nc.Close() } // nothing is lost with it

var past = time.Unix(1, 0)

// patience is how long a call waits before it listens for its caller to leave: most answers are there by then, and listening costs.
const patience = 100 * time.Millisecond

// exchange writes the request in one go and reads the head of the answer.
func (c *conn) exchange(ctx context.Context, payload []byte, soon, deadline time.Time) (*http.Response, error) {
	b := &body{c: c, ctx: ctx}
	resp, err := b.roundTrip(payload, soon, deadline)
	if err != nil {
		b.unlisten()
		return nil, err
	}
	b.r, b.reuse, resp.Body = resp.Body, !resp.Close, b
	return resp, nil
}

// roundTrip works under the deadline that comes soon, and under the call's own from when it needs more time than that.
func (b *body) roundTrip(payload []byte, soon, deadline time.Time) (*http.Response, error) {
	c := b.c
	c.out = append(c.out[:0], c.t.head...)
	c.out = strconv.AppendInt(c.out, int64(len(payload)), 10)
	c.out = append(c.out, "\r\n\r\n"...)
	c.out = append(c.out, payload...)
	n, err := c.nc.Write(c.out)
	if errors.Is(err, os.ErrDeadlineExceeded) && soon != deadline {
		b.listen(deadline)
		_, err = c.nc.Write(c.out[n:])
	}
	if err != nil {
		return nil, c.dead(err)
	}
	c.limited.N = int64(c.t.o.MaxHeaderBytes)
	_, err = c.br.Peek(1)
	if errors.Is(err, os.ErrDeadlineExceeded) && soon != deadline {
		b.listen(deadline)
		_, err = c.br.Peek(1)
	}
	if err != nil {
		return nil, c.dead(err)
	}
	c.fresh = false
	if soon != deadline && !c.headIsHere() {
		b.listen(deadline)
	}
	resp, err := readHead(c.br)
	if err != nil {
		return nil, err
	}
	if soon != deadline && (resp.ContentLength < 0 || int64(c.br.Buffered()) < resp.ContentLength) {
		b.listen(deadline)
	}
	c.limited.N = 1 << 62
	return resp, nil
}

// headIsHere is whether the answer's head can be read without waiting.
func (c *conn) headIsHere() bool {
	here, err := c.br.Peek(c.br.Buffered())
	return err == nil && bytes.Contains(here, []byte("\r\n\r\n"))
}

// listen has the call end when its caller leaves, and moves its deadline.
func (b *body) listen(deadline time.Time) {
	if b.stop == nil {
		b.stop = context.AfterFunc(b.ctx, func() { _ = b.c.nc.SetDeadline(past) })
	}
	if !over(b.ctx) {
		_ = b.c.nc.SetDeadline(deadline) // a closed connection tells it at the next read
	}
	if over(b.ctx) {
		_ = b.c.nc.SetDeadline(past) // it left in between
	}
}

// unlisten is false when the caller left, so that the connection's deadline may be over.
func (b *body) unlisten() bool { return b.stop == nil || b.stop() }

// Extend moves the deadline of an answer that goes on.
func (b *body) Extend(deadline time.Time) { b.listen(deadline) }

// dead says of an error before the first byte of an answer when it may mean that the connection had died while it was idle. A
// time-out never does.
func (c *conn) dead(err error) error {
	if c.fresh || (!errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE)) {
		return err
	}
	return fmt.Errorf("%w: %w", errDead, err)
}

// body is an answer on its way. It gives the connection back at its end.
type body struct {
	c     *conn
	ctx   context.Context //nolint:containedctx // of the call that is being answered
	stop  func() bool     // nil before listen
	r     io.ReadCloser
	reuse bool
	ended bool
}

func (b *body) Read(p []byte) (int, error) {
	if b.ended {
		return 0, io.EOF
	}
	n, err := b.r.Read(p)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		b.end(true)
	default:
		err = reason(b.ctx, err)
		b.end(false)
	}
	return n, err
}

// Close ends the call; a connection on which the answer goes on is closed.
func (b *body) Close() error {
	if !b.ended {
		b.end(false)
	}
	return nil
}

func (b *body) end(whole bool) {
	b.ended = true
	if b.unlisten() && whole && b.reuse && b.c.br.Buffered() == 0 {
		b.c.t.put(b.c)
		return
	}
	b.c.close()
}

// chunked reads a chunked body and the trailer after it.
type chunked struct {
	io.Reader
	br *bufio.Reader
}

func newChunked(br *bufio.Reader) io.ReadCloser {
	return io.NopCloser(&chunked{httputil.NewChunkedReader(br), br})
}

const maxTrailer = 4 << 10

func (c *chunked) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	for read := 0; read < maxTrailer; {
		line, err := c.br.ReadSlice('\n')
		if err != nil {
			return n, unexpected(err)
		}
		if read += len(line); len(trim(line)) == 0 {
			return n, io.EOF
		}
	}
	return n, errHead
}
