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
	"os"
	"strconv"
	"syscall"
	"time"
)

// conn is one connection, used by one call at a time.
type conn struct {
	t       *Transport
	nc      net.Conn
	limited io.LimitedReader // limits an answer's head; no limit for its body
	br      *bufio.Reader
	out     []byte
	since   time.Time
	fresh   bool

	raw    syscall.RawConn
	look   func(fd uintptr) bool // lookNow, allocated once
	looked struct {
		n   int
		err error
		b   [len(timeoutLine)]byte
	}
}

// timeoutLine is what some servers send before they close an idle connection (RFC 9110, section
// 15.5.9), except for the minor version.
const timeoutLine = "HTTP/1.x 408"

var (
	errHungUp = errors.New("the server hung up the idle connection")
	errSpoke  = errors.New("the server spoke before it was asked")
)

// quiet returns nil if nothing has arrived on an idle connection, not even its end. It returns
// errSpoke if the server sent something, and errHungUp or the read's error if it closed.
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
	said := c.looked.b[:max(c.looked.n, 0)]
	if len(said) == 0 || (len(said) == len(timeoutLine) && bytes.HasPrefix(said, []byte("HTTP/1.")) &&
		bytes.HasSuffix(said, []byte(" 408"))) {
		return errHungUp
	}
	return errSpoke
}

// lookNow reads without blocking: the descriptor is in non-blocking mode.
func (c *conn) lookNow(fd uintptr) bool {
	c.looked.n, c.looked.err = syscall.Read(int(fd), c.looked.b[:])
	return true
}

func (c *conn) close() { _ = c.nc.Close() } // all data was read or is of no use

var past = time.Unix(1, 0)

// patience is how long a call waits before it watches for its caller's cancellation. Most answers
// have arrived by then, and watching is costly.
const patience = 100 * time.Millisecond

// exchange writes the request in one call and reads the head of the answer.
func (c *conn) exchange(ctx context.Context, payload []byte, soon, deadline time.Time) (*http.Response, error) {
	b := &body{c: c, ctx: ctx, alone: c.fresh}
	resp, err := b.roundTrip(payload, soon, deadline)
	if err != nil {
		b.unlisten()
		return nil, err
	}
	b.r, b.reuse, resp.Body = resp.Body, !resp.Close, b
	return resp, nil
}

// roundTrip works under the deadline soon, and under the call's own once it needs more time.
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

// headIsHere reports whether the answer's head can be read without waiting.
func (c *conn) headIsHere() bool {
	here, err := c.br.Peek(c.br.Buffered())
	return err == nil && bytes.Contains(here, []byte("\r\n\r\n"))
}

// listen makes the call end when its caller leaves, and moves its deadline.
func (b *body) listen(deadline time.Time) {
	if b.stop == nil {
		b.stop = context.AfterFunc(b.ctx, func() { _ = b.c.nc.SetDeadline(past) })
	}
	if !over(b.ctx) {
		_ = b.c.nc.SetDeadline(deadline) // a closed connection fails at the next read
	}
	if over(b.ctx) {
		_ = b.c.nc.SetDeadline(past) // it left in between
	}
}

// unlisten returns false if the caller left, in which case the connection's deadline may have
// passed.
func (b *body) unlisten() bool { return b.stop == nil || b.stop() }

// Extend moves the deadline of a streamed answer.
func (b *body) Extend(deadline time.Time) { b.listen(deadline) }

// dead wraps an error before the first byte of an answer with errDead if the connection may have
// died while it was idle. A timeout is never such an error.
func (c *conn) dead(err error) error {
	if c.fresh || (!errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE)) {
		return err
	}
	return fmt.Errorf("%w: %w", errDead, err)
}
