package rpc_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
)

func TestConnections_SlowClientsAreNotWaitedForLong(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) {
		o.Server = func(s *http.Server) {
			s.ReadHeaderTimeout, s.ReadTimeout, s.IdleTimeout = time.Second, time.Second, time.Second
		}
	})
	key := g.DoorKey()
	head := "POST /rpc/eth_mainnet HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + key + "\r\n"
	for name, row := range map[string]struct{ sent, answer string }{
		"nothing":     {"", ""},
		"half a head": {head, ""},
		"half a body": {head + "Content-Length: 100\r\n\r\n" + `{"jsonrpc"`, "HTTP/1.1 400 "},
		// served by net/http
		"half of a large body": {head + "Content-Length: 100000\r\n\r\n" + `{"jsonrpc"`, "HTTP/1.1 400 "},
		"half a chunk":         {head + "Transfer-Encoding: chunked\r\n\r\n40\r\n" + `{"jsonrpc"`, "HTTP/1.1 400 "},
		"half of a gzip body": {
			head + "Content-Encoding: gzip\r\nContent-Length: 100\r\n\r\n\x1f\x8b\x08", "HTTP/1.1 400 ",
		},
		"a body, then no other": {head + "Content-Length: 2\r\n\r\n{}", "HTTP/1.1 400 "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(g.URL, "http://"))
			g.Must(err)
			defer func() { _ = conn.Close() }()
			g.Must(conn.SetDeadline(time.Now().Add(apitest.Timeout)))
			_, err = io.WriteString(conn, row.sent)
			g.Must(err)
			answer, err := io.ReadAll(conn) // until the gateway closes it
			if errors.Is(err, context.DeadlineExceeded) {
				t.Fatal("the connection stays open")
			}
			if row.answer == "" && len(answer) > 0 || !strings.HasPrefix(string(answer), row.answer) {
				t.Errorf("the gateway says %q", answer)
			}
			if row.answer != "" && !strings.Contains(string(answer), `"code":-32600`) {
				t.Errorf("an answer without the envelope: %q", answer)
			}
		})
	}
}

// overHTTP2 returns a client that uses HTTP/2 without TLS, as proxies do.
func overHTTP2(g *apitest.Gateway) *http.Client {
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	g.T.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: g.Judged(transport)}
}

func TestHTTP2_WithoutTLSCarriesManyCallsOnOneConnection(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	listener := &countingListener{}
	g := apitest.Setup(t, func(o *apitest.Options) { o.Listener = listener.on(t) })
	g.All(testkit.ResultOf(func(r testkit.Request) any { return r.Params }))
	for _, u := range g.Ups {
		u.On("debug_traceBlock", testkit.Stream(traces(4<<20)))
		u.On("trace_block", testkit.Hang(nil))
		u.On("debug_traceTransaction", testkit.BreakAfter(2<<20))
	}
	g.Client = overHTTP2(g)
	key := g.Unlimited()
	g.Eth(key, "eth_chainId").Result()

	ctx, leave := context.WithCancel(t.Context())
	post := func(ctx context.Context, body string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, g.URL+"/rpc/eth_mainnet", strings.NewReader(body))
		g.Must(err)
		req.Header.Set("Authorization", "Bearer "+key)
		return g.Client.Do(req)
	}
	left := make(chan error, 1)
	go func() {
		resp, err := post(ctx, apitest.Call("trace_block", "[]"))
		if err == nil {
			_ = resp.Body.Close()
		}
		left <- err
	}()
	testkit.Eventually(t, apitest.Timeout, func() bool { return g.Sent("trace_block") == 1 }, "a call hangs")
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			switch params := fmt.Sprintf(`["0x%d"]`, i); i % 10 {
			case 8:
				g.RPC(key, "eth_mainnet", apitest.BatchOf(5, "eth_call")).Batch(5)
			case 9:
				if a := g.Eth(key, "debug_traceBlock"); len(a.Body) < 4<<20 {
					t.Errorf("a long answer has %d bytes", len(a.Body))
				}
			default:
				if got := g.RPC(key, "eth_mainnet", apitest.Call("eth_call", params)).Result(); got != params {
					t.Errorf("asked for %s, got %s", params, got)
				}
			}
		})
	}
	leave() // one stream ends, the others continue
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the call that was left gives %v", err)
	}
	wg.Wait()
	resp, err := post(t.Context(), apitest.Call("debug_traceTransaction", "[]"))
	g.Must(err)
	if _, err := io.Copy(io.Discard, resp.Body); err == nil {
		t.Error("a broken answer passed as whole")
	}
	_ = resp.Body.Close()
	if resp.ProtoMajor != 2 {
		t.Errorf("it came over %s", resp.Proto)
	}
	g.Eth(key, "eth_call").Result() // still on the same connection
	if n := listener.accepted.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// countingListener counts connections.
type countingListener struct {
	net.Listener
	accepted atomic.Int64
}

func (l *countingListener) on(t *testing.T) net.Listener {
	t.Helper()
	var err error
	if l.Listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	return l
}

// Accept implements net.Listener and counts.
func (l *countingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.accepted.Add(1)
	}
	return c, err
}

// pipes is an in-memory listener: both ends of ten thousand connections would exceed the limit of
// open files.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr returns a Unix socket address, which has no peer address.
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

func TestConnections_TenThousandAreServedInBoundedMemory(t *testing.T) { //nolint:paralleltest // it measures the heap
	testkit.Slow(t)
	const (
		connections = 10_000
		most        = 40 << 10 // bytes of an idle connection, with both ends of its pipe
	)
	listener := newPipes()
	g := apitest.Setup(t, func(o *apitest.Options) { o.Listener = listener })
	key := g.Unlimited()
	request := "POST /rpc/eth_mainnet HTTP/1.1\r\nHost: gateway.example\r\nAuthorization: Bearer " + key +
		"\r\nContent-Length: 58\r\n\r\n" + `{"jsonrpc":"2.0","id":7,"method":"eth_call","params":[ ] }`
	reader := bufio.NewReader(nil)
	ask := func(c net.Conn) {
		t.Helper()
		g.Must(c.SetDeadline(time.Now().Add(apitest.Timeout)))
		sent := make(chan error, 1)
		go func() {
			_, err := io.WriteString(c, request)
			sent <- err
		}()
		reader.Reset(c)
		resp, err := http.ReadResponse(reader, nil)
		g.Must(err)
		body, err := io.ReadAll(resp.Body)
		g.Must(err)
		_ = resp.Body.Close()
		if g.Must(<-sent); string(body) != `{"jsonrpc":"2.0","id":7,"result":"0x1"}` {
			t.Fatalf("HTTP %d %s", resp.StatusCode, body)
		}
	}
	open := make([]net.Conn, connections)
	goroutines, before := runtime.NumGoroutine(), heap()
	for i := range open {
		open[i] = listener.dial()
		if i%50 == 0 {
			ask(open[i]) // and leaves it open
		}
	}
	each := (heap() - before) / connections
	if t.Logf("an idle connection takes %d bytes", each); each > most {
		t.Errorf("that is more than %d", most)
	}
	// the oldest connections, and some that were never used
	for i := 0; i < connections; i += 50 {
		ask(open[i])
		ask(open[i+1])
	}
	for _, c := range open {
		_ = c.Close()
	}
	testkit.Eventually(t, apitest.Timeout, func() bool {
		return runtime.NumGoroutine() < goroutines+100
	}, "their goroutines end")
}
