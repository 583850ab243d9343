package site

import (
	"context"
	"sync"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
)

const (
	// publicKept is how long public pages reuse an answer that is the same for everybody. Visitors
	// who share a network would otherwise use up its rate limit.
	publicKept = 10 * time.Second
	// failureKept is how long public pages reuse a failure, so that those who waited for it do not
	// repeat the request one by one.
	failureKept = time.Second
)

// TTLCache caches the last answer of an operation that is the same for everybody.
type TTLCache[T any] struct {
	mu     sync.Mutex // guards the following fields; never held while asking
	answer T
	err    error
	until  time.Time
	asking chan struct{} // closed when the request in flight ends; nil for none
}

// Get returns the cached answer or failure while it is fresh. Otherwise it runs asked, once at a
// time: concurrent callers wait for that result until their contexts end.
func (k *TTLCache[T]) Get(ctx context.Context, now func() time.Time, asked func() (T, error)) (T, error) {
	for {
		k.mu.Lock()
		if now().Before(k.until) {
			defer k.mu.Unlock()
			return k.answer, k.err
		}
		if k.asking == nil {
			k.asking = make(chan struct{})
			k.mu.Unlock()
			return k.ask(ctx, now, asked)
		}
		asking := k.asking
		k.mu.Unlock()
		select {
		case <-asking:
		case <-ctx.Done():
			var none T
			return none, fault.New(fault.DurableUnavailable, "").Wrap(context.Cause(ctx))
		}
	}
}

// ask runs asked and caches the result. It does not cache a failure of a request whose context has
// ended.
func (k *TTLCache[T]) ask(ctx context.Context, now func() time.Time, asked func() (T, error)) (answer T, err error) {
	done := false
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		switch {
		case !done || err != nil && ctx.Err() != nil:
		case err == nil:
			k.answer, k.err, k.until = answer, nil, now().Add(publicKept)
		default:
			k.answer, k.err, k.until = answer, err, now().Add(failureKept)
		}
		close(k.asking)
		k.asking = nil
	}()
	answer, err = asked()
	done = true
	return answer, err
}
