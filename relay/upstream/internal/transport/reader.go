package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/chainaccess/gateway/relay/upstream/internal/plainhttp"
)

const (
	dialTimeout     = 5 * time.Second
	idleTimeout     = 90 * time.Second
	pingAfter       = 15 * time.Second // of silence on an HTTP/2 connection with calls in flight
	maxIdleConns    = 512
	maxAnswerHeader = 64 << 10
)

// Reader sends reads to one upstream. The deadline covers the whole answer; a body that is a
// plainhttp.Extender can move it.
type Reader interface {
	Do(ctx context.Context, body []byte, deadline time.Time) (*http.Response, error)
	// DoAlone is like Do on a connection that has answered no other call.
	DoAlone(ctx context.Context, body []byte, deadline time.Time) (*http.Response, error)
	// CloseIdleConnections closes connections without a call.
	CloseIdleConnections()
	// Retire closes connections once they are idle, now and later.
	Retire()
}

// streamWindow is the HTTP/2 receive window per stream, in bytes: what an upstream may send of an
// answer before it is read.
const streamWindow = 1 << 20

// NewReader returns plainhttp for nodes over plain TCP, HTTP/2 for nodes that the operator marked
// with http2, and net/http's negotiation behind TLS. plainhttp calls unasked for bytes that came
// before a request; net/http closes such a connection silently.
func NewReader(template *http.Request, http2 bool, now func() time.Time, unasked func()) Reader {
	if template.URL.Scheme == "http" && !http2 {
		return plainhttp.New(plainhttp.Options{
			Template: template, DialTimeout: dialTimeout, IdleTimeout: idleTimeout, MaxIdle: maxIdleConns,
			MaxHeaderBytes: maxAnswerHeader, Now: now, Unasked: unasked,
		})
	}
	n := &Negotiated{template: template, now: now, Transport: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTimeout}).DialContext,
		TLSHandshakeTimeout: dialTimeout,
		ForceAttemptHTTP2:   true,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream: streamWindow, SendPingTimeout: pingAfter, PingTimeout: dialTimeout,
		},
		MaxIdleConnsPerHost:    maxIdleConns,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxAnswerHeader,
		DisableCompression:     true, // net/http would decompress its own gzip without a limit
	}}
	if http2 {
		n.Protocols = new(http.Protocols)
		n.Protocols.SetUnencryptedHTTP2(true)
	} else {
		// Upstreams behind TLS are remote, where fewer bytes are worth the decompression.
		n.template = template.WithContext(template.Context())
		n.template.Header = template.Header.Clone()
		n.template.Header.Set("Accept-Encoding", "gzip")
	}
	n.alone = sync.OnceValue(func() *http.Transport {
		t := n.Clone()
		t.DisableKeepAlives = true
		return t
	})
	return n
}

// Negotiated is net/http's client, with HTTP/1.1 or HTTP/2 as the server offers.
type Negotiated struct {
	*http.Transport

	alone    func() *http.Transport // keeps no connection
	template *http.Request
	now      func() time.Time
}

// Retire closes idle connections. After that net/http keeps no connection until the next call.
func (n *Negotiated) Retire() { n.CloseIdleConnections() }

// longest is the timeout of a call without a deadline.
const longest = time.Hour

var errRefusedAgain = errors.New("the server did not take the request on a second connection either")

// Do sends a read. It retries once a read that the server certainly did not process: a connection
// that closed before anything was written, an HTTP/2 GOAWAY or refused stream. It follows no
// redirects.
func (n *Negotiated) Do(ctx context.Context, payload []byte, deadline time.Time) (*http.Response, error) {
	return n.do(ctx, n.Transport, payload, deadline)
}

// DoAlone is like Do on a connection that closes after the call.
func (n *Negotiated) DoAlone(ctx context.Context, payload []byte, deadline time.Time) (*http.Response, error) {
	return n.do(ctx, n.alone(), payload, deadline)
}

func (n *Negotiated) do(ctx context.Context, by *http.Transport, payload []byte,
	deadline time.Time,
) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	if deadline.IsZero() {
		deadline = n.now().Add(longest)
	}
	timer := time.AfterFunc(deadline.Sub(n.now()), func() { cancel(context.DeadlineExceeded) })
	var over carrier
	trace := &httptrace.ClientTrace{GotConn: over.got}
	req := n.template.WithContext(httptrace.WithClientTrace(ctx, trace))
	req.Body = io.NopCloser(bytes.NewReader(payload))
	req.ContentLength = int64(len(payload))
	req.GetBody = func() (io.ReadCloser, error) {
		if _, n := over.last(); n > 1 {
			return nil, errRefusedAgain // net/http would retry until the deadline
		}
		return io.NopCloser(bytes.NewReader(payload)), nil
	}
	resp, err := by.RoundTrip(req)
	if err != nil {
		timer.Stop()
		cancel(nil)
		//nolint:errorlint // the cause itself
		if cause := context.Cause(ctx); ctx.Err() != nil && cause != context.Canceled {
			err = cause
		}
		return nil, plainhttp.WithoutPeer(err)
	}
	timer.Stop()
	conn, _ := over.last()
	resp.Body = &timedBody{
		ReadCloser: resp.Body, ctx: ctx, deadline: deadline, timer: timer, cancel: cancel, now: n.now, conn: conn,
		alone: resp.ProtoMajor > 1 || !over.reused(),
	}
	return resp, nil
}

// carrier records the connections of a call.
type carrier struct {
	mu   sync.Mutex // guards what follows: a trace may be called from other goroutines
	conn net.Conn
	kept bool // conn had answered another call before
	n    int  // number of connections so far
}

func (c *carrier) got(info httptrace.GotConnInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn, c.kept = info.Conn, info.Reused
	c.n++
}

func (c *carrier) last() (conn net.Conn, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn, c.n
}

func (c *carrier) reused() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept
}

// timedBody ends a read at its deadline. Between reads no timer runs.
type timedBody struct {
	io.ReadCloser

	ctx      context.Context //nolint:containedctx // of the call in flight
	deadline time.Time
	timer    *time.Timer // cancels ctx
	cancel   context.CancelCauseFunc
	now      func() time.Time
	conn     net.Conn // the answer's connection
	alone    bool
}

var (
	_ plainhttp.Extender = (*timedBody)(nil)
	_ plainhttp.Ender    = (*timedBody)(nil)
	_ plainhttp.Loner    = (*timedBody)(nil)
)

// Read reports a deadline as such, and removes addresses from other errors.
func (b *timedBody) Read(p []byte) (int, error) {
	b.timer.Reset(b.deadline.Sub(b.now()))
	n, err := b.ReadCloser.Read(p)
	b.timer.Stop()
	if err != nil && context.Cause(b.ctx) == context.DeadlineExceeded { //nolint:errorlint // the cause itself
		err = context.DeadlineExceeded
	}
	return n, plainhttp.WithoutPeer(err)
}

// EndConnection closes the connection at once. net/http may have given it to another call by now,
// and over HTTP/2 others share it: those calls fail, and are retried on another upstream.
func (b *timedBody) EndConnection() {
	if b.conn != nil {
		_ = b.conn.Close() // the call that it was used for has failed
	}
}

// Alone reports whether the answer can belong to no other call.
func (b *timedBody) Alone() bool { return b.alone }

// Extend moves the deadline.
func (b *timedBody) Extend(deadline time.Time) { b.deadline = deadline }

// Close ends the call.
func (b *timedBody) Close() error {
	err := b.ReadCloser.Close()
	b.timer.Stop()
	b.cancel(nil)
	return err
}
