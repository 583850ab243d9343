package plainhttp

import (
	"bufio"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// extra is an answer without a request.
const extra = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nextra"

// arrived waits until the connection has data to read.
func arrived(t *testing.T, c *conn) {
	t.Helper()
	_ = c.nc.SetDeadline(time.Now().Add(10 * time.Second))
	err := c.raw.Read(func(fd uintptr) bool {
		_, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK)
		return !errors.Is(err, syscall.EAGAIN)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestUnasked_BytesEndTheConnectionBeforeTheNextRequest(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		atOnce, later string
		blamed        int64
	}{
		"with the answer":      {extra, "", 1},
		"while it is idle":     {"", extra, 1},
		"one byte":             {"", "\n", 1},
		"a farewell":           {"", "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n", 0},
		"a farewell, HTTP/1.0": {"", "HTTP/1.0 408 \r\n\r\n", 0},
		"another status":       {"", "HTTP/1.1 400 Bad Request\r\n\r\n", 1},
		"nothing":              {"", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var connections, unasked atomic.Int64
			said := make(chan struct{}, 1)
			more := make(chan struct{})
			tr := transportTo(t, serving(t, func(c net.Conn) {
				n := connections.Add(1)
				br := bufio.NewReader(c)
				for {
					if _, got := received(br); !got {
						return
					}
					if n > 1 {
						_, _ = io.WriteString(c, ok)
						continue
					}
					_, _ = io.WriteString(c, ok+row.atOnce)
					<-more
					_, _ = io.WriteString(c, row.later)
					said <- struct{}{}
				}
			}))
			tr.o.Unasked = func() { unasked.Add(1) }
			if _, body, err := post(within(t), tr, "first"); err != nil || body != "ok" {
				t.Fatalf("%q, %v", body, err)
			}
			close(more)
			<-said
			if row.later != "" {
				arrived(t, tr.idlers()[0])
			}
			if _, body, err := post(within(t), tr, "second"); err != nil || body != "ok" {
				t.Errorf("%q, %v", body, err)
			}
			want := int64(2)
			if name == "nothing" {
				want = 1
			}
			if connections.Load() != want || unasked.Load() != row.blamed {
				t.Errorf("%d connections, blamed %d times", connections.Load(), unasked.Load())
			}
		})
	}
}

func TestUnasked_AServerThatSpeaksFirstIsNotAsked(t *testing.T) {
	t.Parallel()
	var unasked atomic.Int64
	tr := transportTo(t, serving(t, func(c net.Conn) {
		_, _ = io.WriteString(c, extra)
		_, _ = io.Copy(io.Discard, c)
	}))
	tr.o.Unasked = func() { unasked.Add(1) }
	tr.Retire() // no connection is reused
	for ctx := within(t); ; {
		resp, err := tr.Do(ctx, []byte("x"), time.Now().Add(10*time.Second))
		switch {
		case err == nil: // the request was sent before the server spoke
			_ = resp.Body.Close()
		case errors.Is(err, errSpoke) && unasked.Load() == 1:
			return
		default:
			t.Fatalf("%v, and the server is blamed %d times", err, unasked.Load())
		}
	}
}

func TestEndConnection_KeepsItFromTheNextRequest(t *testing.T) {
	t.Parallel()
	tr := idling(t, 1)
	resp, err := tr.Do(t.Context(), []byte("x"), time.Now().Add(10*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Fatal(err)
	}
	if n := len(tr.idlers()); n != 0 {
		t.Errorf("%d connections are idle before the answer was judged", n)
	}
	resp.Body.(Ender).EndConnection() //nolint:forcetypeassert,errcheck // a test
	_ = resp.Body.Close()
	if n := len(tr.idlers()); n != 0 {
		t.Errorf("%d connections are idle", n)
	}
}
