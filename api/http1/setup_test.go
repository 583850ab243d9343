package http1_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/http1"
	"github.com/chainaccess/gateway/internal/testkit"
)

// bundle is a server under test. Its handler counts who served a request: requests of net/http have
// http.ServerContextKey in their context.
type bundle struct {
	server  *http1.Server
	address string
	fast    atomic.Int64 // requests served by the fast path
	foreign atomic.Int64 // requests served by net/http
	served  chan error
}

type settings struct {
	handler  http.HandlerFunc
	settings func(*http.Server)
	grace    time.Duration
	now      func() time.Time // time.Now unless set
}

func setup(t *testing.T, s settings) *bundle {
	t.Helper()
	b := &bundle{served: make(chan error, 1)}
	base, cancel := context.WithCancel(context.Background())
	std := &http.Server{
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		IdleTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context {
			return base
		}, ErrorLog: log.New(io.Discard, "", 0),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Context().Value(http.ServerContextKey) == nil {
				b.fast.Add(1)
			} else {
				b.foreign.Add(1)
			}
			s.handler(w, r)
		}),
		Protocols: new(http.Protocols),
	}
	std.Protocols.SetHTTP1(true)
	std.Protocols.SetUnencryptedHTTP2(true)
	if s.settings != nil {
		s.settings(std)
	}
	if s.now == nil {
		s.now = time.Now
	}
	b.server = http1.New(std, s.now, "/rpc/", "/toolbox/")
	b.server.IdleGrace = s.grace
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b.address = l.Addr().String()
	go func() { b.served <- b.server.Serve(l) }()
	t.Cleanup(func() {
		cancel()
		_ = b.server.Close()
		if err := <-b.served; err != nil && !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return b
}

// count checks how many requests the fast path and net/http have served.
func (b *bundle) count(t *testing.T, fast, foreign int64) {
	t.Helper()
	if l, f := b.fast.Load(), b.foreign.Load(); l != fast || f != foreign {
		t.Errorf("%d requests on the fast path and %d through net/http, want %d and %d", l, f, fast, foreign)
	}
}

// await waits for a condition.
func (b *bundle) await(t *testing.T, ok func() bool) {
	t.Helper()
	testkit.Eventually(t, 20*time.Second, ok, "it never came to that")
}

// client is a connection on which a test sends exact bytes.
type client struct {
	net.Conn

	t  *testing.T
	br *bufio.Reader
}

func (b *bundle) dial(t *testing.T) *client {
	t.Helper()
	nc, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", b.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	_ = nc.SetDeadline(time.Now().Add(30 * time.Second))
	return &client{nc, t, bufio.NewReader(nc)}
}

func (c *client) send(text string) *client {
	c.t.Helper()
	if _, err := io.WriteString(c.Conn, text); err != nil {
		c.t.Fatal(err)
	}
	return c
}

// reply is an answer with its body.
type reply struct {
	status int
	header http.Header
	length int64
	closes bool
	body   string
}

// answer reads one answer.
func (c *client) answer() reply {
	c.t.Helper()
	resp, err := http.ReadResponse(c.br, &http.Request{Method: http.MethodPost})
	if err != nil {
		c.t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		c.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, resp.ContentLength, resp.Close, string(body)}
}

// over waits for the end of the connection.
func (c *client) over() {
	c.t.Helper()
	rest, err := io.ReadAll(c.br)
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		c.t.Fatal("the connection stayed open")
	}
	if len(rest) > 0 {
		c.t.Fatalf("more was said: %q", rest)
	}
}

// post is a plain request.
func post(body string, fields ...string) string {
	b := &strings.Builder{}
	b.WriteString("POST /rpc/x HTTP/1.1\r\nHost: a.example\r\n")
	for _, f := range fields {
		b.WriteString(f + "\r\n")
	}
	b.WriteString("Content-Length: " + itoa(len(body)) + "\r\n\r\n" + body)
	return b.String()
}

func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "broken body")
		return
	}
	_, _ = w.Write(body)
}
