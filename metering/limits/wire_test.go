package limits_test

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// wire is a TCP proxy between a store and PostgreSQL that counts queries by the name which sqlc
// writes above each. The store sends the text of every query, instead of preparing it once.
type wire struct {
	url      string // of PostgreSQL, through the wire
	listener net.Listener
	target   string
	wg       sync.WaitGroup

	mu      sync.Mutex // guards the rest
	sent    bytes.Buffer
	conns   []net.Conn
	held    []byte // a query to hold back, once
	reached chan struct{}
	release chan struct{}
}

func startWire(t *testing.T, databaseURL string) *wire {
	t.Helper()
	u, err := url.Parse(databaseURL)
	if err != nil {
		t.Fatal("the database's URL cannot be parsed")
	}
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, target: u.Host}
	u.Host = l.Addr().String()
	options := u.Query()
	options.Set("default_query_exec_mode", "cache_describe")
	options.Set("description_cache_capacity", "1000")
	u.RawQuery = options.Encode()
	w.url = u.String()
	w.wg.Go(w.accept)
	t.Cleanup(func() {
		_ = l.Close()
		w.mu.Lock()
		for _, c := range w.conns {
			_ = c.Close()
		}
		w.mu.Unlock()
		w.wg.Wait()
	})
	return w
}

func (w *wire) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", w.target) //nolint:noctx // a wire of a test
		if err != nil {
			_ = client.Close()
			continue
		}
		w.mu.Lock()
		w.conns = append(w.conns, client, server)
		w.mu.Unlock()
		w.wg.Go(func() {
			_, _ = io.Copy(io.MultiWriter(w, server), client)
			_ = server.Close()
		})
		w.wg.Go(func() {
			_, _ = io.Copy(client, server)
			_ = client.Close()
		})
	}
}

// Write records what a store sends, before PostgreSQL gets it.
func (w *wire) Write(b []byte) (int, error) {
	w.mu.Lock()
	_, _ = w.sent.Write(b)
	var release chan struct{}
	if w.held != nil && bytes.Contains(b, w.held) {
		w.held, release = nil, w.release
		close(w.reached)
	}
	w.mu.Unlock()
	if release != nil {
		<-release
	}
	return len(b), nil
}

func header(query string) []byte { return []byte("-- name: " + query + " ") }

// hold holds back the next sending of a query. reached is closed when it has arrived; release lets
// it continue.
func (w *wire) hold(t *testing.T, query string) (reached <-chan struct{}, release func()) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.held, w.reached, w.release = header(query), make(chan struct{}), make(chan struct{})
	release = sync.OnceFunc(func() { close(w.release) })
	t.Cleanup(release)
	return w.reached, release
}

// count returns how often a query was sent. Its first sending over a connection counts twice,
// because PostgreSQL is asked to describe it.
func (w *wire) count(query string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Count(w.sent.Bytes(), header(query))
}

// forget resets the count.
func (w *wire) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent.Reset()
}
