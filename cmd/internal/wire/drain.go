package wire

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

	"github.com/chainaccess/gateway/api"
	"github.com/chainaccess/gateway/api/http1"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/relay"
)

// Timeouts of the steps after DRAIN_TIMEOUT, one after another.
const (
	tellWithin = 2 * time.Second // cancelled calls get an answer
	// endWithin is for requests that continue after their connections are closed, above all a
	// submission that was sent.
	endWithin       = 5 * time.Second
	recordWithin    = 5 * time.Second // for writing latencies, call records and cached answers
	latenciesWithin = 2 * time.Second // of these, for latencies
)

// Clients and proxies that keep connections learn from an answer that theirs closes. Idle
// connections are closed idleGrace after the last answer, when no request is on its way any more.
const idleGrace = time.Second

// apiServer is an HTTP server that can cancel its requests and wait for them.
type apiServer struct {
	http    *http1.Server
	running *running
	stop    context.CancelCauseFunc // ends every request's context
}

func newAPIServer(ctx context.Context, handler http.Handler, cfg config.Config, log *slog.Logger) *apiServer {
	requests, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	s := &apiServer{running: newRunning(handler), stop: stop}
	server := api.NewServer(s.running, cfg.CallTimeout, log)
	server.BaseContext = func(net.Listener) context.Context { return requests }
	s.http = http1.New(server, time.Now, api.BusyPaths()...)
	s.http.IdleGrace = min(idleGrace, cfg.DrainTimeout/8)
	return s
}

// drain finishes the requests in progress, and then what they leave behind: latencies, call
// records, cached answers. Requests that take longer than within are cancelled with
// relay.ErrStopping. When drain returns, no request is being handled, or the error names those that
// did not end.
func (s *apiServer) drain(ctx context.Context, within time.Duration, behind ...func(context.Context) error) error {
	ctx = context.WithoutCancel(ctx)
	err := s.shutdown(ctx, within)
	s.stop(relay.ErrStopping)
	if err != nil {
		if s.shutdown(ctx, tellWithin) != nil {
			_ = s.http.Close() // errors of abandoned connections do not matter
		}
		err = fmt.Errorf("calls were still running after DRAIN_TIMEOUT and were cut off: %w", err)
	}
	err = errors.Join(err, s.running.wait(endWithin))
	ctx, cancel := context.WithTimeout(ctx, recordWithin)
	defer cancel()
	for _, finish := range behind {
		err = errors.Join(err, finish(ctx))
	}
	return err
}

// tolerate wraps a step whose data may be lost without harm (statistics, cached answers): it has a
// timeout, and its failure is only logged.
func tolerate(log *slog.Logger, within time.Duration, finish func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		if err := finish(ctx); err != nil {
			log.Warn("shut down before everything was written; charges are not affected", "error", err)
		}
		return nil
	}
}

func (s *apiServer) shutdown(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return s.http.Shutdown(ctx)
}

// running counts the requests in progress, because a server that closes its connections does not
// wait for them.
type running struct {
	http.Handler

	count atomic.Int64 // requests, plus one until wait is called
	once  sync.Once
	over  chan struct{} // closed when count falls to zero
}

func newRunning(handler http.Handler) *running {
	r := &running{Handler: handler, over: make(chan struct{})}
	r.count.Store(1)
	return r
}

// ServeHTTP counts a request while it is handled.
func (r *running) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.count.Add(1)
	defer r.leave()
	r.Handler.ServeHTTP(w, req)
}

// requests returns how many requests are being handled.
func (r *running) requests() float64 { return float64(max(0, r.count.Load()-1)) }

func (r *running) leave() {
	if r.count.Add(-1) == 0 {
		r.once.Do(func() { close(r.over) }) // a late request may still start and end after that
	}
}

// wait returns when no request is being handled, or an error after within. It must be called once,
// after the last connection was accepted.
func (r *running) wait(within time.Duration) error {
	r.leave()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-r.over:
		return nil
	case <-timer.C:
		return fmt.Errorf("%d requests did not end within %s of their connections; check their charges",
			r.count.Load(), within)
	}
}
