package sandbox

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"
)

// Service is an HTTP server that replaces one on the internet. Like an upstream, it can be stopped
// and restarted, and it can be made to fail.
type Service struct {
	*Upstream

	trouble atomic.Pointer[Trouble]
}

// Trouble is how a service fails. The zero value is no failure.
type Trouble struct {
	Delay    time.Duration // before anything else; ends when the client disconnects
	Status   int           // answers this status with an error as JSON
	Retry    string        // the answer's Retry-After
	Location string        // redirects to this URL
	Garbage  bool          // answers 200 with a body that is not JSON
	Bytes    int64         // answers 200 with a JSON string of this many bytes
	Cut      bool          // drops the connection without an answer
}

// newService starts a service like an upstream. The sandbox's Close stops it.
func (s *Sandbox) newService(ctx context.Context, name, host string, handler http.Handler,
	log *slog.Logger,
) (*Service, error) {
	service := &Service{}
	listener, err := newUpstream(ctx, "", name, host, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if trouble := service.trouble.Load(); trouble != nil && trouble.befall(w, r) {
			return
		}
		handler.ServeHTTP(w, r)
	}), log)
	if err != nil {
		return nil, err
	}
	service.Upstream = listener
	s.services = append(s.services, service)
	return service, nil
}

// Trouble makes all further requests fail as t says; the zero value ends that.
func (s *Service) Trouble(t Trouble) { s.trouble.Store(&t) }

// befall reports whether it answered the request with a failure.
func (t Trouble) befall(w http.ResponseWriter, r *http.Request) bool {
	if t.Delay > 0 {
		timer := time.NewTimer(t.Delay)
		defer timer.Stop()
		select {
		case <-r.Context().Done():
			return true
		case <-timer.C:
		}
	}
	if t.Retry != "" {
		w.Header().Set("Retry-After", t.Retry)
	}
	switch {
	case t.Cut:
		panic(http.ErrAbortHandler)
	case t.Location != "":
		http.Redirect(w, r, t.Location, http.StatusFound)
	case t.Status != 0:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(t.Status)
		_, _ = fmt.Fprintf(w, `{"customCode":"sandbox_trouble","message":%q,"errorId":%q}`, http.StatusText(t.Status),
			rand.Text())
	case t.Garbage:
		_, _ = io.WriteString(w, "<html>\x00\xff this is no JSON")
	case t.Bytes > 0:
		w.Header().Set("Content-Type", "application/json")
		t.pour(w)
	default:
		return false
	}
	return true
}

// pour writes until all bytes are written or the client disconnects.
func (t Trouble) pour(w io.Writer) {
	chunk := make([]byte, 32<<10)
	for i := range chunk {
		chunk[i] = 'a'
	}
	chunk[0] = '"'
	for left := t.Bytes; left > 0; left -= int64(len(chunk)) {
		if _, err := w.Write(chunk[:min(left, int64(len(chunk)))]); err != nil {
			return
		}
		chunk[0] = 'a'
	}
}
