package plainhttp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

func transportTo(t *testing.T, address string) *Transport {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	tr := New(Options{
		Template: &http.Request{
			Method: http.MethodPost, URL: u, Host: u.Host, Header: http.Header{"X-Token": {"canary"}},
		},
		DialTimeout: time.Second, IdleTimeout: time.Minute, MaxIdle: 8, MaxHeaderBytes: 16 << 10, Now: time.Now,
		Unasked: func() {},
	})
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

func post(ctx context.Context, tr *Transport, text string) (status int, body string, err error) {
	deadline, _ := ctx.Deadline()
	resp, err := tr.Do(ctx, []byte(text), deadline)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() }

func extend(t *testing.T, body io.Reader, deadline time.Time) {
	t.Helper()
	e, ok := body.(Extender)
	if !ok {
		t.Fatal("the body's deadline cannot be moved")
	}
	e.Extend(deadline)
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestAnswers_ArriveCompleteOnOneConnection(t *testing.T) {
	t.Parallel()
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("X-Token") != "canary" || r.URL.Path != "/key" || r.URL.RawQuery != "a=1" ||
			r.Method != http.MethodPost {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		switch string(body) {
		case "chunked":
			_, _ = io.WriteString(w, strings.Repeat("x", 3000))
			flush(w)
			_, _ = io.WriteString(w, "end")
		case "empty":
		case "no content":
			w.WriteHeader(http.StatusNoContent)
		case "wait":
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			_, _ = w.Write(body)
		}
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	tr := transportTo(t, server.URL+"/key?a=1")
	for _, c := range []struct {
		send, want string
		status     int
	}{
		{"echo", "echo", 200},
		{"chunked", strings.Repeat("x", 3000) + "end", 200},
		{"empty", "", 200},
		{"no content", "", 204},
		{"wait", "", 429},
		{strings.Repeat("y", 100_000), strings.Repeat("y", 100_000), 200},
		{"echo", "echo", 200},
	} {
		t.Run(strconv.Itoa(c.status), func(t *testing.T) {
			if c.send == "no content" {
				<-time.After(2 * patience) // an old deadline must not make an idle connection look dead
			}
			status, body, err := post(within(t), tr, c.send)
			in := expect.In(t, "%.20s", c.send)
			require.NoError(in, err)
			require.Equal(in, status, c.status)
			require.Equal(in, body, c.want)
		})
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestCall_ConcurrentOnesDoNotMix(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	tr := transportTo(t, server.URL)
	ctx := within(t)
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			text := strings.Repeat(string(rune('a'+i)), 100*(i+1))
			for range 100 {
				if _, body, err := post(ctx, tr, text); err != nil || body != text {
					t.Errorf("%d bytes of %d, %v", len(body), len(text), err)
					return
				}
			}
		})
	}
	wg.Wait()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	if len(tr.idle) > 8 {
		t.Errorf("%d idle connections are kept", len(tr.idle))
	}
}

// scripted starts a server that answers each request on a connection with the next reply, byte for
// byte, and then closes it.
func scripted(t *testing.T, replies ...string) (address string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	return serving(t, func(c net.Conn) {
		br := bufio.NewReader(c)
		for _, reply := range replies {
			if _, got := received(br); !got {
				return
			}
			requests.Add(1)
			_, _ = io.WriteString(c, reply)
		}
	}), requests
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

func TestIdleConnections_DeadOneIsReplacedOnce(t *testing.T) {
	t.Parallel()
	address, requests := scripted(t, ok)
	tr := transportTo(t, address)
	for range 5 {
		if _, body, err := post(within(t), tr, "x"); err != nil || body != "ok" {
			t.Fatalf("%q, %v", body, err)
		}
	}
	if n := requests.Load(); n != 5 {
		t.Errorf("%d requests for 5 calls", n)
	}
}

func TestUnasked_DataOfAServerIsNobodysAnswer(t *testing.T) {
	t.Parallel()
	for name, extra := range map[string]string{
		"in the same segment": ok + "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad",
		"half a head":         ok + "HTTP/1.1 200 OK\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := scripted(t, extra, ok)
			tr := transportTo(t, address)
			for range 3 {
				if _, body, err := post(within(t), tr, "x"); err != nil || body != "ok" {
					t.Fatalf("%q, %v", body, err)
				}
			}
		})
	}
}

func TestAnswers_BrokenAreErrors(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]string{
		"nothing":                "",
		"not HTTP":               "SSH-2.0-OpenSSH\r\n\r\n",
		"HTTP/2 preface":         "PRI * HTTP/2.0\r\n\r\n",
		"cut in the head":        "HTTP/1.1 200 OK\r\nContent-Le",
		"cut in the body":        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
		"cut in a chunk":         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
		"cut before the end":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
		"cut in the trailer":     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y",
		"two lengths":            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nokk",
		"length and chunks":      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"negative length":        "HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok",
		"unknown coding":         "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
		"folded header":          "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n",
		"space before colon":     "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok",
		"a status of letters":    "HTTP/1.1 abc OK\r\n\r\n",
		"other protocol":         "HTTP/1.1 101 Switching Protocols\r\n\r\n",
		"a line without end":     "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 9<<10),
		"headers without end":    "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 4<<10) + "\r\n",
		"informational for ever": strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 2<<10) + ok,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := scripted(t, reply)
			tr := transportTo(t, address)
			if status, body, err := post(within(t), tr, "x"); err == nil {
				t.Errorf("%d %q", status, body)
			}
		})
	}
}

func TestAnswers_UnusualAreUnderstood(t *testing.T) {
	t.Parallel()
	for name, reply := range map[string]string{
		"until the connection ends": "HTTP/1.1 200 OK\r\n\r\nok",
		"HTTP/1.0":                  "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
		"bare line feeds":           "HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
		"no reason":                 "HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok",
		"continue first":            "HTTP/1.1 100 Continue\r\n\r\n" + ok,
		"trailer": "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n2;x=y\r\nok\r\n0\r\nX: " +
			"y\r\n\r\n",
		"the same length twice": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\ncontent-length: 2\r\n\r\nok",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, _ := scripted(t, reply)
			status, body, err := post(within(t), transportTo(t, address), "x")
			require.NoError(t, err)
			expect.Equal(t, status, 200)
			expect.Equal(t, body, "ok")
		})
	}
}

func TestCall_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			_, _ = io.WriteString(w, "begin")
			flush(w)
		}
		<-release
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	for _, path := range []string{"/head", "/body"} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		if _, _, err := post(ctx, transportTo(t, server.URL+path), "x"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", path, err)
		}
		cancel()
	}
}

func TestCall_EndsWhenItsCallerLeaves(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-release
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(release) })
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	//nolint:bodyclose // it fails
	if _, err := transportTo(t, server.URL).Do(ctx, []byte("x"), time.Now().Add(time.Minute)); !errors.Is(err,
		context.Canceled) {
		t.Error(err)
	}
}

// An answer may take longer than patience before each of its parts, and its deadline may be moved.
func TestAnswers_SlowArriveComplete(t *testing.T) {
	t.Parallel()
	for name, pieces := range map[string][]string{
		"before the head": {"", ok},
		"in the head":     {"HTTP/1.1 200 OK\r\nContent-", "Length: 2\r\n\r\nok"},
		"before the body": {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", "ok"},
		"in a chunk":      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\no", "k\r\n0\r\n\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
			go func() {
				c, err := l.Accept()
				if err != nil {
					return
				}
				defer func() { _ = c.Close() }()
				if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
					return
				}
				_, _ = io.WriteString(c, pieces[0])
				<-time.After(2 * patience)
				_, _ = io.WriteString(c, pieces[1])
			}()
			resp, err := transportTo(t, "http://"+l.Addr().String()).Do(t.Context(), []byte("x"),
				time.Now().Add(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			extend(t, resp.Body, time.Now().Add(2*time.Minute))
			body, err := io.ReadAll(resp.Body)
			if err != nil || string(body) != "ok" {
				t.Errorf("%q, %v", body, err)
			}
			_ = resp.Body.Close()
		})
	}
}

func TestIdleConnections_GrowOld(t *testing.T) {
	t.Parallel()
	address, requests := scripted(t, ok, ok, ok)
	tr := transportTo(t, address)
	var mu sync.Mutex
	now := time.Now()
	tr.o.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	for range 2 {
		if _, _, err := post(within(t), tr, "x"); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		now = now.Add(2 * time.Minute)
		mu.Unlock()
		if tr.take() != nil {
			t.Error("an old connection was given out")
		}
	}
	if requests.Load() != 2 {
		t.Errorf("%d requests", requests.Load())
	}
}

func FuzzReadHead(f *testing.F) {
	for _, seed := range []string{
		ok, "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n", "HTTP/1.1 204 \r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := readHead( //nolint:bodyclose // its body reads from memory
			bufio.NewReaderSize(bytes.NewReader(b), 8<<10))
		if err != nil {
			return
		}
		gotBody, gotErr := io.ReadAll(got.Body)
		br := bufio.NewReader(bytes.NewReader(b))
		want, err := http.ReadResponse(br, &http.Request{Method: http.MethodPost})
		for err == nil && want.StatusCode < 200 {
			want, err = http.ReadResponse(br, &http.Request{Method: http.MethodPost})
		}
		if err != nil {
			return // net/http is stricter about reasons and header names
		}
		defer func() { _ = want.Body.Close() }()
		wantBody, wantErr := io.ReadAll(want.Body)
		if got.StatusCode != want.StatusCode || (gotErr == nil && wantErr == nil && !bytes.Equal(gotBody, wantBody)) {
			t.Fatalf("%q: %d %q, net/http reads %d %q", b, got.StatusCode, gotBody, want.StatusCode, wantBody)
		}
		if gotErr == nil && wantErr == nil && want.Close && !got.Close {
			t.Fatalf("%q: net/http does not keep the connection", b)
		}
	})
}
