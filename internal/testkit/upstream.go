package testkit

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

// UpstreamServer is a scripted JSON-RPC upstream that records every request. It is safe for
// concurrent use.
type UpstreamServer struct {
	// URL is the server's address, http://127.0.0.1:port. A path and a query may be appended, for
	// example a credential; they are recorded.
	URL string

	server      *httptest.Server
	released    chan struct{} // closed by Release: hanging requests continue
	resets      atomic.Int64  // connections still to be reset on arrival
	connections atomic.Int64

	mu       sync.Mutex // guards what follows
	recorded []Request
	fallback Reply
	methods  map[string]Reply
	queue    []Reply
	queues   map[string][]Reply
	open     bool // Release was not called yet
}

// Request is a recorded request.
type Request struct {
	// Method, ID and Params are those of a single JSON-RPC request; Method is empty when the body
	// was not one.
	Method string
	ID     json.RawMessage
	Params json.RawMessage
	// Body is the whole body, Path the path with its query.
	Body   []byte
	Path   string
	Header http.Header
}

// Reply is the upstream's behaviour for a request. The body was read and recorded before it runs.
type Reply func(*Exchange)

// Exchange is a request that is being answered.
type Exchange struct {
	Request Request
	W       http.ResponseWriter
	// Context ends when the client disconnects.
	Context context.Context //nolint:containedctx // it lives as long as the request
	server  *UpstreamServer
}

// connKey is the context key of a request's connection.
type connKey struct{}

// Upstream starts a scripted upstream, which by default answers every request with the result
// "0x1". It is stopped when the test ends, after hanging requests were released.
func Upstream(t testing.TB) *UpstreamServer {
	t.Helper()
	u := &UpstreamServer{
		released: make(chan struct{}), open: true,
		fallback: Result("0x1"), methods: make(map[string]Reply), queues: make(map[string][]Reply),
	}
	u.server = httptest.NewUnstartedServer(http.HandlerFunc(u.serve))
	_ = u.server.Listener.Close()
	u.server.Listener = &resettingListener{Listener: listen(t), upstream: u}
	u.server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connKey{}, c)
	}
	u.server.Start()
	u.URL = u.server.URL
	t.Cleanup(u.Close)
	return u
}

// Default sets the reply to requests for which there is no other.
func (u *UpstreamServer) Default(reply Reply) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fallback = reply
}

// On sets the reply to all requests of a method.
func (u *UpstreamServer) On(method string, reply Reply) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.methods[method] = reply
}

// Next queues replies to the next requests of any method, one each. They take precedence over all
// others.
func (u *UpstreamServer) Next(replies ...Reply) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.queue = append(u.queue, replies...)
}

// NextOf queues replies to the next requests of a method, one each.
func (u *UpstreamServer) NextOf(method string, replies ...Reply) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.queues[method] = append(u.queues[method], replies...)
}

// ResetConnections resets the next n connections when they are accepted, before anything is read.
func (u *UpstreamServer) ResetConnections(n int) { u.resets.Store(int64(n)) }

// DropConnections closes every open connection, including idle ones, so that a client finds its
// pooled connections dead.
func (u *UpstreamServer) DropConnections() { u.server.CloseClientConnections() }

// Release lets present and future hanging requests continue.
func (u *UpstreamServer) Release() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.open {
		u.open = false
		close(u.released)
	}
}

// Close stops the upstream; its address then refuses connections. It may be called again.
func (u *UpstreamServer) Close() {
	u.Release()
	u.server.CloseClientConnections()
	u.server.Close()
}

// Requests returns the recorded requests in order of arrival.
func (u *UpstreamServer) Requests() []Request {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]Request(nil), u.recorded...)
}

// Count returns the number of recorded requests of a method.
func (u *UpstreamServer) Count(method string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	n := 0
	for _, r := range u.recorded {
		if r.Method == method {
			n++
		}
	}
	return n
}

// Total returns the number of all recorded requests.
func (u *UpstreamServer) Total() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.recorded)
}

// Connections returns the number of accepted connections, including those that were reset.
func (u *UpstreamServer) Connections() int { return int(u.connections.Load()) }

// Forget deletes the recorded requests.
func (u *UpstreamServer) Forget() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.recorded = nil
}

func (u *UpstreamServer) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client disconnected while sending
	}
	req := parse(r, body)
	reply := u.record(req)
	reply(&Exchange{Request: req, W: w, Context: r.Context(), server: u})
}

// record records the request and returns the reply to use.
func (u *UpstreamServer) record(req Request) Reply {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.recorded = append(u.recorded, req)
	if len(u.queue) > 0 {
		reply := u.queue[0]
		u.queue = u.queue[1:]
		return reply
	}
	if queue := u.queues[req.Method]; len(queue) > 0 {
		u.queues[req.Method] = queue[1:]
		return queue[0]
	}
	if reply, ok := u.methods[req.Method]; ok {
		return reply
	}
	return u.fallback
}

func parse(r *http.Request, body []byte) Request {
	req := Request{Body: body, Path: r.URL.RequestURI(), Header: r.Header.Clone()}
	var call struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&call); err == nil {
		req.Method, req.ID, req.Params = call.Method, call.ID, call.Params
	}
	if req.ID == nil {
		req.ID = json.RawMessage("null")
	}
	return req
}

// resettingListener counts connections and resets as many as the script requires.
type resettingListener struct {
	net.Listener
	upstream *UpstreamServer
}

// Accept returns the next connection that is not reset.
func (l *resettingListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		l.upstream.connections.Add(1)
		if !l.upstream.takeReset() {
			return conn, nil
		}
		reset(conn)
	}
}

// takeReset uses up one of the remaining resets.
func (u *UpstreamServer) takeReset() bool {
	for {
		left := u.resets.Load()
		if left <= 0 {
			return false
		}
		if u.resets.CompareAndSwap(left, left-1) {
			return true
		}
	}
}

// reset closes a connection with a TCP RST instead of a FIN.
func reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
