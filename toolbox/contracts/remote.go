package contracts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
)

// Limits of requests to a public service and of its answers.
const (
	remoteTimeout = 4 * time.Second // of one request, including its answer
	dialTimeout   = 2 * time.Second
	maxAtOnce     = 16      // requests in flight
	maxBody       = 4 << 20 // bytes of an answer, uncompressed; the largest ABIs have some hundred kilobytes
	waitDefault   = 5 * time.Second
	waitAtMost    = 5 * time.Minute
)

// remote is a client of a public HTTP service. After 429 or 503 it sends nothing for the time in
// Retry-After.
type remote struct {
	name  string // at the start of a sentence
	base  string
	http  *http.Client
	room  chan struct{} // one element per request in flight
	now   func() time.Time
	quiet atomic.Int64 // unix nanoseconds until which nothing is sent
}

func newRemote(name, base string, now func() time.Time) *remote {
	return &remote{
		name: name, base: base, now: now, room: make(chan struct{}, maxAtOnce),
		http: &http.Client{
			Timeout: remoteTimeout,
			Transport: &http.Transport{
				DialContext:            (&net.Dialer{Timeout: dialTimeout}).DialContext,
				TLSHandshakeTimeout:    dialTimeout,
				ForceAttemptHTTP2:      true,
				MaxIdleConnsPerHost:    maxAtOnce,
				IdleConnTimeout:        90 * time.Second,
				MaxResponseHeaderBytes: 64 << 10,
			},
			// A redirect could lead anywhere, even into the internal network.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// get requests a path and returns the body of an answer with status 200 or 404. Any other outcome
// is a *fault.Error with RetryAfter.
func (r *remote) get(ctx context.Context, path string) (status int, body []byte, err error) {
	if wait := time.Duration(r.quiet.Load() - r.now().UnixNano()); wait > 0 {
		return 0, nil, r.failed(wait, errAskedTooOften)
	}
	select {
	case r.room <- struct{}{}:
		defer func() { <-r.room }()
	case <-ctx.Done():
		return 0, nil, r.failed(waitDefault, ctx.Err())
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+path, http.NoBody)
	if err != nil {
		return 0, nil, fmt.Errorf("ask %s: %w", r.base, err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "chain-access-gateway")
	resp, err := r.http.Do(req)
	if err != nil {
		return 0, nil, r.failed(waitDefault, err)
	}
	defer resp.Body.Close() //nolint:errcheck // nothing more is read
	switch resp.StatusCode {
	case http.StatusOK, http.StatusNotFound:
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		wait := retryAfter(resp.Header)
		r.quiet.Store(r.now().Add(wait).UnixNano())
		return 0, nil, r.failed(wait, fmt.Errorf("status %d", resp.StatusCode))
	default:
		return 0, nil, r.failed(waitDefault, fmt.Errorf("status %d", resp.StatusCode))
	}
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err == nil && len(body) > maxBody {
		err = errTooLarge
	}
	if err != nil {
		return 0, nil, r.failed(waitDefault, err)
	}
	return resp.StatusCode, body, nil
}

var (
	errAskedTooOften = errors.New("it was asked too often a while ago")
	errTooLarge      = fmt.Errorf("the answer is larger than %d bytes", maxBody)
	errGarbage       = errors.New("the answer is not what was asked for")
)

// failed returns the fault for a service that gave no usable answer. It never means "not found".
func (r *remote) failed(wait time.Duration, cause error) *fault.Error {
	wait = max(wait.Round(time.Second), time.Second)
	refusal := fault.New(fault.NoUpstream, "%s gave no answer. Nothing was charged; ask again in %s.", r.name, wait)
	refusal.RetryAfter = wait
	return refusal.Wrap(cause)
}

// retryAfter parses Retry-After in seconds, at most waitAtMost. It returns waitDefault if the
// header is absent or invalid.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds <= 0 {
		return waitDefault
	}
	return min(time.Duration(min(seconds, 1<<20))*time.Second, waitAtMost)
}
