package plainhttp

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit/expect"
)

// serving starts a server that passes each connection to serve, and closes it afterwards.
func serving(t *testing.T, serve func(net.Conn)) (address string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer func() { _ = c.Close() }()
				serve(c)
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wg.Wait()
	})
	return "http://" + l.Addr().String()
}

// received reads one whole request; false if no more comes.
func received(br *bufio.Reader) (text string, ok bool) {
	req, err := http.ReadRequest(br)
	if err != nil {
		return "", false
	}
	b, err := io.ReadAll(req.Body)
	return string(b), err == nil
}

// setClock is a clock that moves only by advance.
type setClock struct {
	mu sync.Mutex
	at time.Time
}

func (c *setClock) now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.at }

func (c *setClock) advance(d time.Duration) { c.mu.Lock(); defer c.mu.Unlock(); c.at = c.at.Add(d) }

// idling returns a transport, with n idle connections, to an echo server that never answers "hang".
func idling(t *testing.T, n int) *Transport {
	t.Helper()
	gate := make(chan struct{})
	waiting := make(chan struct{}, n)
	tr := transportTo(t, serving(t, func(c net.Conn) {
		br := bufio.NewReader(c)
		for {
			text, got := received(br)
			switch {
			case !got:
				return
			case text == "together":
				waiting <- struct{}{}
				<-gate
			case text == "hang":
				_, _ = br.ReadByte() // until the client closes the connection
				return
			}
			_, _ = io.WriteString(c, ok)
		}
	}))
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if _, _, err := post(within(t), tr, "together"); err != nil {
				t.Error(err)
			}
		})
	}
	for range n {
		<-waiting
	}
	close(gate)
	wg.Wait()
	if got := tr.idlers(); len(got) != n {
		t.Fatalf("%d connections are idle, want %d", len(got), n)
	}
	return tr
}

func (t *Transport) idlers() []*conn {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]*conn(nil), t.idle...)
}

func TestIdleConnections_ReadThatTimesOutLeavesThemAlone(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]time.Duration{
		"before the patience ends": patience / 2, "after it": 2 * patience,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := idling(t, 3)
			_, err := tr.Do(t.Context(), []byte("hang"), time.Now().Add(limit)) //nolint:bodyclose // it fails
			//nolint:errorlint // itself, and nothing that a dial would say
			if err != context.DeadlineExceeded {
				t.Errorf("the error is %v", err)
			}
			if n := len(tr.idlers()); n != 2 {
				t.Errorf("%d connections are idle, want 2", n)
			}
			if _, body, err := post(within(t), tr, "x"); err != nil || body != "ok" {
				t.Errorf("%q, %v", body, err)
			}
		})
	}
}

func TestCall_WithoutTimeTakesNoConnection(t *testing.T) {
	t.Parallel()
	tr := idling(t, 3)
	for name, deadline := range map[string]time.Time{
		"past": time.Now().Add(-time.Second), "long past": time.Unix(1, 0),
	} {
		_, err := tr.Do(t.Context(), []byte("x"), deadline) //nolint:bodyclose // it fails
		if err != context.DeadlineExceeded {                //nolint:errorlint // itself
			t.Errorf("%s: the error is %v", name, err)
		}
		if n := len(tr.idlers()); n != 3 {
			t.Fatalf("%s: %d connections are idle, want 3", name, n)
		}
	}
	if _, body, err := post(within(t), tr, "x"); err != nil || body != "ok" {
		t.Errorf("%q, %v", body, err)
	}
}

// A server that closes at once had hung up before the request arrived; one that closes later may
// have processed it.
func TestRetry_OnlyWhenTheConnectionProvesDeadAtOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		waits    time.Duration
		reset    bool
		requests int
	}{
		"closed at once":     {0, false, 3},
		"reset at once":      {0, true, 3},
		"closed after work":  {giveAway + time.Millisecond, false, 2},
		"reset after work":   {giveAway + time.Millisecond, true, 2},
		"closed at the edge": {giveAway, false, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := &setClock{at: time.Now()}
			var mu sync.Mutex
			var seen []string
			tr := transportTo(t, serving(t, func(nc net.Conn) {
				br := bufio.NewReader(nc)
				for n := 0; ; n++ {
					text, got := received(br)
					if !got {
						return
					}
					mu.Lock()
					seen = append(seen, text)
					mu.Unlock()
					if n == 1 {
						clock.advance(c.waits)
						if tcp, is := nc.(*net.TCPConn); is && c.reset {
							_ = tcp.SetLinger(0)
						}
						return
					}
					_, _ = io.WriteString(nc, ok)
				}
			}))
			tr.o.Now = clock.now
			if _, _, err := post(within(t), tr, "first"); err != nil {
				t.Fatal(err)
			}
			_, _, err := post(within(t), tr, "second")
			if again := c.requests == 3; (err == nil) != again {
				t.Errorf("the error is %v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			if len(seen) != c.requests {
				t.Errorf("the server got %v", seen)
			}
		})
	}
}

func TestIdleConnections_OldOnesAreClosedByWhoFindsThem(t *testing.T) {
	t.Parallel()
	tr := idling(t, 3)
	old := tr.idlers()
	clock := &setClock{at: time.Now().Add(2 * time.Minute)}
	tr.o.Now = clock.now
	if tr.take() != nil {
		t.Error("an old connection was given out")
	}
	for _, c := range old {
		if err := c.nc.SetDeadline(time.Time{}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("an old connection is still open: %v", err)
		}
	}
}

func TestIdleConnections_KeepNoLargeBuffer(t *testing.T) {
	t.Parallel()
	tr := idling(t, 1)
	for _, c := range []struct {
		size int
		kept bool
	}{{1 << 10, true}, {maxKeptOut + 1, false}, {1 << 10, true}} {
		t.Run(strconv.Itoa(c.size), func(t *testing.T) {
			if _, _, err := post(within(t), tr, strings.Repeat("x", c.size)); err != nil {
				t.Fatal(err)
			}
			idle := tr.idlers()
			if len(idle) != 1 {
				t.Fatalf("%d connections are idle", len(idle))
			}
			if out := idle[0].out; cap(out) > maxKeptOut || (out != nil) != c.kept {
				t.Errorf("after a request of %d bytes %d are kept", c.size, cap(out))
			}
		})
	}
}

func TestHeaders_OnlyThoseThatAnybodyAsksForAreKept(t *testing.T) {
	t.Parallel()
	address, _ := scripted(t,
		"HTTP/1.1 429 \r\ncontent-encoding:gzip\r\nServer: x\r\nretry-after: 7\r\nContent-Length: 0\r\n\r\n")
	resp, err := transportTo(t, address).Do(t.Context(), []byte("x"), time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	expect.Len(t, resp.Header, 2)
	expect.Equal(t, resp.Header.Get("Retry-After"), "7")
	expect.Equal(t, resp.Header.Get("Content-Encoding"), "gzip")
}
