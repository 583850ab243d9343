package http1_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/http1"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestRequests_PlainStayOnTheFastPathAndAreAnsweredInOrder(t *testing.T) {
	t.Parallel()
	b := setup(t, settings{handler: echo})
	c := b.dial(t)
	for _, body := range []string{"one", "", strings.Repeat("x", 10_000), "two"} {
		got := c.send(post(body)).answer()
		require.Equal(t, got.body, body)
		require.Equal(t, got.status, http.StatusOK)
		require.False(t, got.closes)
		require.NotEqual(t, got.header.Get("Date"), "")
		if len(body) < 8<<10 {
			require.Equal(t, got.length, int64(len(body)))
		}
	}
	c.send(post("a") + post("b") + post("c")[:30])
	for _, want := range []string{"a", "b"} {
		if got := c.answer().body; got != want {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	if got := c.send(post("c")[30:]).answer().body; got != "c" {
		t.Fatalf("%q", got)
	}
	if got := c.send(post("last", "Connection: close")).answer(); got.body != "last" || !got.closes {
		t.Fatalf("%v", got)
	}
	c.over()
	b.count(t, 8, 0)
}

func TestRequests_PlainWithAnAbsoluteTargetStayOnTheFastPath(t *testing.T) {
	t.Parallel()
	var kept []url.URL
	b := setup(t, settings{handler: func(w http.ResponseWriter, r *http.Request) {
		kept = append(kept, *r.URL)
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %q %d %q", r.Method, r.RequestURI, r.URL.Path, r.ContentLength, body)
	}})
	c := b.dial(t)
	targets := []string{
		"/toolbox/gas/base_mainnet", "/toolbox/ens/vitalik.eth", "/toolbox/prices?symbols=ETH,BTC&x=%zz",
		"/toolbox/ens/%F0%9F%A6%84.eth?a=b+c", "/toolbox/a%2Fb", "/toolbox/x?", "/toolbox/x",
	}
	paths := []string{
		"/toolbox/gas/base_mainnet", "/toolbox/ens/vitalik.eth", "/toolbox/prices", "/toolbox/ens/🦄.eth",
		"/toolbox/a/b", "/toolbox/x", "/toolbox/x",
	}
	for i, target := range targets {
		want := fmt.Sprintf("GET %s %q 0 \"\"", target, paths[i])
		if got := c.send("GET " + target + " HTTP/1.1\r\nHost: a\r\n\r\n").answer(); got.body != want || got.closes {
			t.Errorf("%v, want %s", got, want)
		}
		want = fmt.Sprintf("POST %s %q 2 \"hi\"", target, paths[i])
		if got := c.send("POST " + target + " HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi").answer(); got.body !=
			want {
			t.Errorf("%v, want %s", got, want)
		}
	}
	b.count(t, int64(2*len(targets)), 0)
	for i, u := range kept { // after everything was read into the same buffer
		if want, err := url.ParseRequestURI(targets[i/2]); err != nil || u != *want {
			t.Errorf("kept of request %d: %#v, want %#v", i, u, want)
		}
	}
	c.send("GET /toolbox/x HTTP/1.1\r\nHost: a\r\n\r\n" + post("a") +
		"PUT /toolbox/x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n" +
		"GET /toolbox/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
	for _, method := range []string{"GET", "POST", "PUT", "GET"} {
		if got := c.answer().body; !strings.HasPrefix(got, method) {
			t.Errorf("%s was answered with %s", method, got)
		}
	}
	c.over()
	b.count(t, int64(2*len(targets))+2, 2) // a request that is not plain takes its connection to net/http
}

func TestRequests_OthersGoToNetHTTP(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("y", 70<<10)
	for name, row := range map[string]struct{ request, want string }{
		"another method":    {"PUT /rpc/x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi", "hi"},
		"another path":      {"POST /keys HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi", "hi"},
		"another prefix":    {"GET /docs HTTP/1.1\r\nHost: a\r\n\r\n", ""},
		"a way up":          {"GET /toolbox/../keys HTTP/1.1\r\nHost: a\r\n\r\n", ""},
		"an odd query":      {"GET /toolbox/x?a=[b] HTTP/1.1\r\nHost: a\r\n\r\n", ""},
		"a whole URL":       {"GET http://a/toolbox/x HTTP/1.1\r\nHost: a\r\n\r\n", ""},
		"a GET's body":      {"GET /toolbox/x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi", "hi"},
		"a GET of HTTP/1.0": {"GET /toolbox/x HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n", ""},
		"chunks": {
			"POST /rpc/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", "hi",
		},
		"a large body": {post(large), large},
		"a large head": {post("hi", "X: "+strings.Repeat("z", 9<<10)), "hi"},
		"many fields": {
			post("hi", strings.Split(strings.TrimSpace(strings.Repeat("A: b\n", 60)), "\n")...), "hi",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, settings{handler: echo})
			c := b.dial(t)
			if name == "many fields" {
				row.request = ""
				for i := range 60 {
					row.request += "X-" + itoa(i) + ": v\r\n"
				}
				row.request = "POST /rpc/x HTTP/1.1\r\nHost: a\r\n" + row.request + "Content-Length: 2\r\n\r\nhi"
			}
			c.send(post("first")).answer()
			if got := c.send(row.request).answer().body; got != row.want {
				t.Fatalf("%d bytes, want %d", len(got), len(row.want))
			}
			c.send(post("after")).answer() // the connection stays with net/http
			b.count(t, 1, 2)
		})
	}
}

func TestRequests_MalformedAreRefusedByNetHTTP(t *testing.T) {
	t.Parallel()
	for _, request := range []string{
		post("hi", "Content-Length: 3"), post("hi", "Host: b"), post("hi", "A : b"),
		"POST /rpc/x HTTP/1.1\r\nContent-Length: 0\r\n\r\n", post("hi", "X: \x00"), post("hi", "X: a\rb"),
		"GET /toolbox/%zz HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		b := setup(t, settings{handler: echo})
		if got := b.dial(t).send(request).answer(); got.status != http.StatusBadRequest {
			t.Errorf("%q: %d", request, got.status)
		}
		b.count(t, 0, 0)
	}
}

func TestHTTP2_GoesToNetHTTP(t *testing.T) {
	t.Parallel()
	b := setup(t, settings{handler: echo})
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+b.address+"/rpc/x",
		strings.NewReader("hi"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if got, _ := io.ReadAll(resp.Body); string(got) != "hi" || resp.ProtoMajor != 2 {
		t.Errorf("%s %q", resp.Proto, got)
	}
	b.count(t, 0, 1)
}

func TestAnswers_AreFramedByLengthOrInChunks(t *testing.T) {
	t.Parallel()
	long := make([]byte, 300<<10)
	_, _ = rand.Read(long)
	for name, row := range map[string]struct {
		handler http.HandlerFunc
		want    []byte
		length  int64
		status  int
	}{
		"nothing": {func(http.ResponseWriter, *http.Request) {}, nil, 0, 200},
		"no body": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, nil, 0, 204},
		"small without a length": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
			_, _ = io.WriteString(w, "ab")
			_, _ = io.WriteString(w, "cd")
		}, []byte("abcd"), 4, 418},
		"long with its length": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", itoa(len(long)))
			_, _ = w.Write(long[:10])
			_, _ = w.Write(long[10:])
		}, long, int64(len(long)), 200},
		"long without a length": {func(w http.ResponseWriter, _ *http.Request) {
			for piece := range slices.Chunk(long, 7000) {
				_, _ = w.Write(piece)
			}
		}, long, -1, 200},
		"flushed": {func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "one")
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, "two")
		}, []byte("onetwo"), -1, 200},
		"line breaks in a field": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["X-Odd"] = []string{"a\r\nSet-Cookie: b"}
			w.Header()["X Bad"] = []string{"a"}
			_, _ = io.WriteString(w, "x")
		}, []byte("x"), 1, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, settings{handler: row.handler})
			c := b.dial(t)
			for range 2 { // the second must not see anything of the first
				got := c.send(post("q")).answer()
				require.Equal(t, got.body, string(row.want))
				require.Equal(t, got.length, row.length)
				require.Equal(t, got.status, row.status)
				require.Equal(t, got.header.Get("Set-Cookie"), "")
			}
			b.count(t, 2, 0)
		})
	}
}

func TestAnswers_IncompleteOneCutsTheConnection(t *testing.T) {
	t.Parallel()
	for name, handler := range map[string]http.HandlerFunc{
		"aborted": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(make([]byte, 100<<10))
			panic(http.ErrAbortHandler)
		},
		"too short": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "few")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := setup(t, settings{handler: handler}).dial(t).send(post("q"))
			resp, err := http.ReadResponse(c.br, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			if _, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("the client was told that the answer is whole: %v", err)
			}
		})
	}
}

func TestClient_ThatLeavesEndsItsCall(t *testing.T) {
	t.Parallel()
	left := make(chan error, 1)
	b := setup(t, settings{handler: func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		left <- r.Context().Err()
	}})
	c := b.dial(t).send(post("q"))
	for b.fast.Load() == 0 { // until the handler runs
		select {
		case err := <-left:
			t.Fatal(err)
		default:
		}
	}
	_ = c.Close()
	select {
	case err := <-left:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the call goes on although its client went away")
	}
}

func TestRequests_ArrivingDuringALongCallAreNext(t *testing.T) {
	t.Parallel()
	reads := make(chan struct{})
	b := setup(t, settings{handler: func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) == "slow" {
			<-reads
		}
		_, _ = w.Write(body)
	}})
	c := b.dial(t).send(post("slow"))
	next := post("next")
	c.send(next[:1])
	// after the watcher has started and read the byte
	timer := time.AfterFunc(300*time.Millisecond, func() { close(reads) })
	defer timer.Stop()
	if got := c.answer().body; got != "slow" {
		t.Fatal(got)
	}
	if got := c.send(next[1:]).answer().body; got != "next" {
		t.Fatal(got)
	}
	if got := c.send(post("and")).answer().body; got != "and" {
		t.Fatal(got)
	}
	b.count(t, 3, 0)
}

func TestClient_SlowSenderIsCutOff(t *testing.T) {
	t.Parallel()
	short := func(s *http.Server) {
		s.ReadHeaderTimeout, s.ReadTimeout, s.IdleTimeout = 100*time.Millisecond, 100*time.Millisecond, time.Minute
	}
	for name, row := range map[string]struct {
		sent   string
		status int // of the answer; 0 for none
	}{
		"says nothing":      {"", 0},
		"stops in the head": {"POST /rpc/x HT", 0},
		"stops in the body": {
			"POST /rpc/x HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhalf", http.StatusBadRequest,
		},
		"idles after a while": {post("q"), http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := settings{handler: echo, settings: short}
			if name == "stops in the body" { // the head has time to arrive
				settings.settings = func(s *http.Server) { s.ReadTimeout = 100 * time.Millisecond }
			}
			if name == "idles after a while" {
				settings.settings = func(s *http.Server) { s.IdleTimeout = 200 * time.Millisecond }
			}
			c := setup(t, settings).dial(t).send(row.sent)
			if row.status != 0 {
				if got := c.answer(); got.status != row.status {
					t.Errorf("%d", got.status)
				}
			}
			c.over()
		})
	}
}

func TestClient_ThatDoesNotReadIsCutOff(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	b := setup(t, settings{
		settings: func(s *http.Server) { s.WriteTimeout = 300 * time.Millisecond },
		handler: func(w http.ResponseWriter, _ *http.Request) {
			piece := make([]byte, 1<<20)
			for range 1000 {
				if _, err := w.Write(piece); err != nil {
					failed <- err
					return
				}
			}
			failed <- nil
		},
	})
	b.dial(t).send(post("q"))
	select {
	case err := <-failed:
		if timeout, ok := errors.AsType[net.Error](err); !ok || !timeout.Timeout() {
			t.Errorf("%v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it is waited for without end")
	}
}

func TestShutdown_FinishesWhatIsUnderWayAndClosesTheRest(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan struct{}), make(chan struct{})
	b := setup(t, settings{handler: func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if string(body) == "slow" {
			close(begun)
			<-finish
		}
		_, _ = w.Write(body)
	}})
	idle, busy, foreign := b.dial(t), b.dial(t), b.dial(t)
	idle.send(post("q")).answer()
	foreign.send("POST /keys HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx").answer()
	busy.send(post("slow"))
	<-begun
	done := make(chan error, 1)
	go func() { done <- b.server.Shutdown(context.Background()) }()
	idle.over()
	foreign.over()
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
	close(finish)
	if got := busy.answer().body; got != "slow" {
		t.Errorf("%q", got)
	}
	busy.over()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := <-b.served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	b.served <- nil // for the cleanup
	if nc, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", b.address); err == nil {
		_ = nc.Close()
		t.Error("it still takes connections")
	}
}

func TestShutdown_WaitsForARequestThatIsArriving(t *testing.T) {
	t.Parallel()
	b := setup(t, settings{handler: echo})
	request := post("whole")
	for name, cut := range map[string]int{"in the head": 20, "in the body": len(request) - 2} {
		b := b
		if name == "in the body" {
			b = setup(t, settings{handler: echo})
		}
		c := b.dial(t)
		c.send(request).answer()
		c.send(request[:cut])
		b.await(t, func() bool { return b.server.Arriving() == 1 })
		done := make(chan error, 1)
		go func() { done <- b.server.Shutdown(context.Background()) }()
		b.await(t, func() bool { return b.server.Stopping() })
		if got := c.send(request[cut:]).answer(); got.body != "whole" || !got.closes {
			t.Errorf("%s: %v", name, got)
		}
		if err := <-done; err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestServe_AfterShutdownAcceptsNothing(t *testing.T) {
	t.Parallel()
	server := http1.New(&http.Server{Handler: http.NotFoundHandler(), ReadHeaderTimeout: time.Second}, time.Now,
		"/rpc/")
	if err := server.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
}

func TestShutdown_GivesUpAtItsDeadline(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan struct{}), make(chan struct{})
	b := setup(t, settings{handler: func(http.ResponseWriter, *http.Request) { close(begun); <-finish }})
	b.dial(t).send(post("q"))
	<-begun
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := b.server.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	close(finish)
}

func TestWriteDeadline_SetByTheHandlerHolds(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	b := setup(t, settings{settings: func(s *http.Server) {
		s.WriteTimeout = time.Hour
	}, handler: func(w http.ResponseWriter, _ *http.Request) {
		err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(200 * time.Millisecond))
		for err == nil { // the client does not read
			_, err = w.Write(make([]byte, 64<<10))
		}
		ended <- err
	}})
	b.dial(t).send(post("x"))
	select {
	case err := <-ended:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the answer goes on")
	}
}
