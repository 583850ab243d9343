package http1_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

// stopping begins to shut down a server that keeps idle connections open for the length of a test.
func stopping(t *testing.T, grace time.Duration) (b *bundle, idle []*client, done chan error) {
	t.Helper()
	b = setup(t, settings{handler: echo, grace: grace})
	fast, foreign := b.dial(t), b.dial(t)
	if got := fast.send(post("a")).answer(); got.closes {
		t.Fatalf("the fast path ends a connection by itself: %v", got)
	}
	if got := foreign.send(otherPath).answer(); got.closes {
		t.Fatalf("net/http ends a connection by itself: %v", got)
	}
	done = make(chan error, 1)
	go func() { done <- b.server.Shutdown(context.Background()) }()
	b.await(t, b.server.Stopping)
	return b, []*client{fast, foreign}, done
}

const otherPath = "POST /keys HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx"

func TestShutdown_AnswersWhatComesOnIdleConnectionsAndEndsThem(t *testing.T) {
	t.Parallel()
	b, idle, done := stopping(t, time.Hour)
	for i, request := range []string{post("late"), otherPath} {
		got := idle[i].send(request).answer()
		if got.status != http.StatusOK || !got.closes {
			t.Errorf("%q was answered %v, want 200 with Connection: close", request, got)
		}
		idle[i].over()
		_ = idle[i].Close()
	}
	b.count(t, 2, 2)
	if err := <-done; err != nil { // no connection is open any more, so Shutdown does not wait for the grace
		t.Error(err)
	}
}

func TestShutdown_ClosesIdleConnectionsOnceNoAnswerWasGivenForTheGrace(t *testing.T) {
	t.Parallel()
	began := time.Now()
	const grace = 300 * time.Millisecond
	_, idle, done := stopping(t, grace)
	for _, c := range idle {
		c.over()
	}
	if took := time.Since(began); took < grace {
		t.Errorf("idle connections were closed after %s, want %s at least", took, grace)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A request whose first bytes arrive before the server stops may turn out to be net/http's.
func TestShutdown_AnswersARequestOfNetHTTPThatHadBegunToArrive(t *testing.T) {
	t.Parallel()
	b := setup(t, settings{handler: echo, grace: 300 * time.Millisecond})
	idle, arriving := b.dial(t), b.dial(t)
	const chunked = "POST /rpc/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
	arriving.send(chunked[:len("POST /rpc/")])
	b.await(t, func() bool { return b.server.Arriving() == 1 })
	idle.send(post("a")).answer()
	done := make(chan error, 1)
	go func() { done <- b.server.Shutdown(context.Background()) }()
	b.await(t, b.server.Stopping)
	idle.over() // the grace has ended
	if got := arriving.send(chunked[len("POST /rpc/"):]).answer(); got.status != http.StatusOK || !got.closes {
		t.Errorf("answered %v, want 200 with Connection: close", got)
	}
	_ = arriving.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestShutdown_EndsAnswersOfCallsThatWereUnderWay(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan struct{}, 1), make(chan struct{})
	b := setup(t, settings{grace: time.Hour, handler: func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-finish
		echo(w, r)
	}})
	c := b.dial(t).send(post("a"))
	<-begun
	done := make(chan error, 1)
	go func() { done <- b.server.Shutdown(context.Background()) }()
	b.await(t, b.server.Stopping)
	close(finish)
	if got := c.answer(); got.body != "a" || !got.closes {
		t.Errorf("%v, want an answer with Connection: close", got)
	}
	_ = c.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestShutdown_EndsAnswersOfNetHTTPThatWereUnderWay(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan struct{}, 1), make(chan struct{})
	b := setup(t, settings{grace: time.Hour, handler: func(w http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-finish
		echo(w, r)
	}})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+b.address+"/mcp",
		strings.NewReader("a"))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	answered := make(chan bool, 1)
	go func() {
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Error(err)
			answered <- false
			return
		}
		_ = resp.Body.Close()
		answered <- resp.Close
	}()
	<-begun
	done := make(chan error, 1)
	go func() { done <- b.server.Shutdown(context.Background()) }()
	b.await(t, b.server.Stopping)
	close(finish)
	if closes := <-answered; !closes {
		t.Error("the answer does not end its connection, on which a proxy may send another call")
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	b.count(t, 0, 1)
}

func TestShutdown_SendsGOAWAYWithAnswersOfHTTP2(t *testing.T) {
	t.Parallel()
	b := setup(t, settings{handler: echo, grace: time.Hour})
	transport := through(priorHTTP2)
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	ask := func() {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+b.address+"/rpc/x", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%d, %v", resp.StatusCode, err)
		}
	}
	ask()
	done := make(chan error, 1)
	go func() { done <- b.server.Shutdown(context.Background()) }()
	b.await(t, b.server.Stopping)
	ask()                          // on the existing connection, because no new one is accepted
	if err := <-done; err != nil { // the connection ends by itself, long before the grace is over
		t.Error(err)
	}
}
