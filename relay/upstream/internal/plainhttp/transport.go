// Package plainhttp is a lean HTTP/1.1 client for JSON-RPC reads over plain TCP. The caller's own
// goroutine writes the request and reads the answer on a connection that it holds alone, which
// saves net/http's hand-over to other goroutines. It speaks to one server, sends one kind of
// request, follows no redirects and has no TLS; for everything else there is net/http.
package plainhttp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"
)

// Options of a Transport. All are required.
type Options struct {
	// Template has the URL, Host and Header of every request. Its header must not change.
	Template       *http.Request
	DialTimeout    time.Duration
	IdleTimeout    time.Duration // idle connections older than this are not reused
	MaxIdle        int           // maximum number of idle connections
	MaxHeaderBytes int           // limit of an answer's head
	Now            func() time.Time
	// Unasked is called when the server sent something without a request, once per connection.
	Unasked func()
}

// Transport is a client of one server. A request on a connection that had died while it was idle is
// retried once on a fresh one, so use it only for reads.
type Transport struct {
	o       Options
	address string
	head    []byte // the request up to the value of Content-Length
	dialer  net.Dialer

	mu      sync.Mutex // guards what follows
	idle    []*conn    // the newest last
	retired bool       // by Retire: no connection is kept any more
}

// New returns a transport to the server of the template's URL.
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
	return &Transport{
		o: o, address: address, head: append(head, "Content-Length: "...), dialer: net.Dialer{Timeout: o.DialTimeout},
	}
}

var errDead = errors.New("the server closed the idle connection")

// giveAway is how soon after a call's start a failing connection must have died before it. A server
// that closes later may have processed the request, so that is not retried.
const giveAway = time.Second

// Do sends a request with this body and reads the head of its answer. The caller must close the
// answer's body; its connection is reused if the body was read to its end. The body is an Extender,
// an Ender and a Loner. The deadline covers the whole call; the deadline of ctx is ignored. The
// call ends soon after ctx is cancelled.
func (t *Transport) Do(ctx context.Context, payload []byte, deadline time.Time) (*http.Response, error) {
	return t.do(ctx, payload, deadline, false)
}

// DoAlone is like Do on a connection that has answered no other call.
func (t *Transport) DoAlone(ctx context.Context, payload []byte, deadline time.Time) (*http.Response, error) {
	return t.do(ctx, payload, deadline, true)
}

func (t *Transport) do(ctx context.Context, payload []byte, deadline time.Time, alone bool) (*http.Response, error) {
	began := t.o.Now()
	soon := began.Add(patience)
	if !deadline.IsZero() && deadline.Before(soon) {
		soon = deadline
	}
	var c *conn
	var err error
	if !alone {
		c, err = t.takeAlive(soon)
	}
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
				c.close()
				return nil, err
			}
			if errors.Is(c.quiet(), errSpoke) {
				c.close()
				t.o.Unasked()
				return nil, errSpoke
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
		t.CloseIdleConnections() // the other idle connections died with it
		c, reused = nil, false
	}
}

// Extender is a body whose deadline can be moved while it is being read.
type Extender interface{ Extend(deadline time.Time) }

// Ender is a body whose connection can be closed, because it delivered another call's answer.
type Ender interface{ EndConnection() }

// Loner is a body that reports whether its answer can belong to no other call: the connection has
// answered none before, or the protocol tells answers apart.
type Loner interface{ Alone() bool }

// WithoutPeer returns a connection's error without the addresses of its ends.
func WithoutPeer(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Err != nil {
		return fmt.Errorf("%s: %w", op.Op, op.Err)
	}
	return err
}

// reason distinguishes a timeout and a caller who left from other errors.
func reason(ctx context.Context, err error) error {
	switch {
	case over(ctx):
		return ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded): // the latter from dialing
		return context.DeadlineExceeded
	}
	return WithoutPeer(err)
}

// Retire closes every idle connection now, and those in use as soon as their calls have finished.
func (t *Transport) Retire() {
	t.mu.Lock()
	t.retired = true
	t.mu.Unlock()
	t.CloseIdleConnections()
}

// over reports whether ctx is cancelled. A context without a timer whose deadline has passed is
// not: Do and Extend get the deadline as an argument.
func over(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	default:
		return false
	}
}

// CloseIdleConnections closes every idle connection.
func (t *Transport) CloseIdleConnections() {
	t.mu.Lock()
	idle := t.idle
	t.idle = nil
	t.mu.Unlock()
	for _, c := range idle {
		c.close()
	}
}

// takeAlive returns an idle connection on which the server has neither sent anything nor hung up,
// or nil. What it sent without a request would be read as the answer to the next one. After the
// deadline it returns an error.
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
		case errors.Is(err, os.ErrDeadlineExceeded): // too late to check; the connection may be fine
			t.keep(c)
			return nil, err
		case errors.Is(err, errSpoke):
			t.o.Unasked()
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

// newest removes the newest idle connection, or all of them as old if that one has expired.
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

// maxKeptOut is the largest request buffer, in bytes, that an idle connection keeps.
const maxKeptOut = 64 << 10

func (t *Transport) put(c *conn) {
	c.since = t.o.Now()
	if cap(c.out) > maxKeptOut {
		c.out = nil
	}
	t.keep(c)
}

// keep makes c the newest idle connection, or closes it if there are enough or the transport is
// retired.
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
	c.br = bufio.NewReaderSize(&c.limited, 8<<10) // also the limit of a header line
	return c, nil
}
