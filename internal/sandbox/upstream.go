package sandbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/relay/chain"
)

// Upstream is an HTTP endpoint of a chain. It can be stopped and restarted; its URL stays the same.
type Upstream struct {
	Chain chain.ID
	Name  string // "sandbox-eth-a"
	URL   string // "http://127.0.0.1:41233"

	handler  http.Handler
	log      *slog.Logger
	address  string
	requests atomic.Int64

	mu     sync.Mutex // guards what follows
	server *http.Server
	served chan struct{} // closed when the listener's goroutine ends
	gate   *sync.RWMutex // read-locked by each request in progress; locked for good by Stop
}

func newUpstream(ctx context.Context, id chain.ID, name, host string, handler http.Handler,
	log *slog.Logger,
) (*Upstream, error) {
	u := &Upstream{Chain: id, Name: name, handler: handler, log: log, address: net.JoinHostPort(host, "0")}
	listener, err := u.listen(ctx)
	if err != nil {
		return nil, err
	}
	u.address = listener.Addr().String()
	u.URL = "http://" + u.address
	u.serve(listener)
	return u, nil
}

// Start listens again on the upstream's address. It does nothing when the upstream is running.
func (u *Upstream) Start() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.server != nil {
		return nil
	}
	listener, err := u.listen(context.Background())
	if err != nil {
		return err
	}
	u.serve(listener)
	return nil
}

// Stop refuses new connections, cuts open ones as a crash would, and waits for the requests in
// progress. It does nothing when the upstream is stopped.
func (u *Upstream) Stop() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.server == nil {
		return nil
	}
	err := u.server.Close()
	<-u.served
	u.gate.Lock()
	u.server = nil
	if err != nil {
		return fmt.Errorf("stop upstream %s: %w", u.Name, err)
	}
	return nil
}

// Running reports whether the upstream listens.
func (u *Upstream) Running() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.server != nil
}

// Requests returns the number of HTTP requests that reached the upstream since the sandbox started.
func (u *Upstream) Requests() int64 { return u.requests.Load() }

func (u *Upstream) listen(ctx context.Context) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", u.address)
	if err != nil {
		return nil, fmt.Errorf("upstream %s: listen on %s: %w", u.Name, u.address, err)
	}
	return listener, nil
}

// serve takes over the listener. The caller holds the mutex or is the constructor.
func (u *Upstream) serve(listener net.Listener) {
	gate := &sync.RWMutex{}
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !gate.TryRLock() {
				panic(http.ErrAbortHandler) // it was read just before Stop cut the connection
			}
			defer gate.RUnlock()
			u.requests.Add(1)
			u.handler.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          slog.NewLogLogger(u.log.Handler(), slog.LevelDebug),
	}
	served := make(chan struct{})
	u.server, u.served, u.gate = server, served, gate
	go func() {
		defer close(served)
		if err := server.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
			u.log.Warn("sandbox upstream stopped", "upstream", u.Name, "error", err)
		}
	}()
}
