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

// What is left over when DRAIN_TIMEOUT has run out has these bounds, one after another.
const (
	tellWithin = 2 * time.Second // calls that were ended are told so
	// what their connections' end did not stop, a submission that has left above all, is settled
	endWithin       = 5 * time.Second
	recordWithin    = 5 * time.Second // latencies, call records and stored answers are written
	latenciesWithin = 2 * time.Second // of these
)

// Clients and proxies that keep connections learn from answers that they end, and of those that
// stay idle by their end: idleGrace after the last answer, when no request is on its way any more.
// Connections that were made and not accepted yet are, within acceptRest.
const (
	idleGrace  = time.Second
	acceptRest = 200 * time.Millisecond
)

// apiServer is an HTTP server whose requests can be ended by the service and waited for.
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

// drain finishes what is under way, calls first, then what they left behind: latencies, records,
// stored answers. What is not over within the time given is ended: it fails by the service's doing.
// When drain returns no request is being handled, or its error says that one would not end.
func (s *apiServer) drain(ctx context.Context, within time.Duration, behind ...func(context.Context) error) error {
	ctx = context.WithoutCancel(ctx)
	err := s.shutdown(ctx, within)
	s.stop(relay.ErrStopping)
	if err != nil {
		if s.shutdown(ctx, tellWithin) != nil {
			_ = s.http.Close() // of connections that are given up
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

// tolerate finishes within its time what may be lost without harm: statistics, and answers that can
// be asked for again.
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

// running counts the requests that a handler works on: a server that closes its connections does
// not wait for them.
type running struct {
	http.Handler

	count atomic.Int64 // requests, and one for as long as nobody waits
	once  sync.Once
	over  chan struct{} // closed when count falls to nothing
}

func newRunning(handler http.Handler) *running {
	r := &running{Handler: handler, over: make(chan struct{})}
	r.count.Store(1)
	return r
}

// ServeHTTP handles a request and counts it meanwhile.
func (r *running) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.count.Add(1)
	defer r.leave()
	r.Handler.ServeHTTP(w, req)
}

// requests is how many are being handled.
func (r *running) requests() float64 { return float64(max(0, r.count.Load()-1)) }

func (r *running) leave() {
	if r.count.Add(-1) == 0 {
		r.once.Do(func() { close(r.over) }) // a request that was read late may come and go after that
	}
}

// wait returns when no request is handled any more. It is called once, when no more connections are
// taken.
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

// turnAway lets the delay pass, then has new connections ignored and those accepted that wait for
// it.
func turnAway(listener net.Listener, after time.Duration, failed <-chan error) error {
	if err := delay(after, failed); err != nil || !http1.TurnAway(listener) {
		return err
	}
	return delay(acceptRest, failed)
}

// delay lets time pass in which calls are still taken, unless the server fails by itself meanwhile.
func delay(d time.Duration, failed <-chan error) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case err := <-failed:
		return err
	}
}
