package console

import (
	"context"
	"sync"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
)

const (
	// publicKept is how long public pages go by an answer that is the same for everybody, so that
	// visitors who share a network do not use up its limit by looking at pages.
	publicKept = 10 * time.Second
	// failureKept is how long they go by a failure: those who wait for one do not ask for the same
	// again, one after the other.
	failureKept = time.Second
)

// ttlCache is the last answer of an operation that says the same to everybody.
type ttlCache[T any] struct {
	mu     sync.Mutex // guards what follows; nobody holds it while asking
	answer T
	err    error
	until  time.Time
	asking chan struct{} // closed when the question under way is answered; nil for none
}

// get returns the answer, or the failure, while it is fresh. Otherwise it asks, one visitor at a
// time: the others wait for what comes of that, as long as their requests last.
func (k *ttlCache[T]) get(ctx context.Context, now func() time.Time, asked func() (T, error)) (T, error) {
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

// ask asks and keeps what comes of it, except when the request ended meanwhile: that failure is its
// own.
func (k *ttlCache[T]) ask(ctx context.Context, now func() time.Time, asked func() (T, error)) (answer T, err error) {
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
