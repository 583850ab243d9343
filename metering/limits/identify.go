package limits

import (
	"context"
	"errors"
	"math"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store"
)

// How identities are remembered. A known one is read again after a minute, so that what it says of
// door and plan is not old for long (what holds for a call, supply among it, is the meter's to
// say); when that fails, it is good for some seconds more, again and again: a record that is away
// must not take known keys with it. Status and allowances are not cached here at all. An unknown
// digest is asked for once in a while, and by one network address only so often: a well-formed key
// that does not exist costs a query.
const (
	knownIdentities   = 200_000
	knownFor          = time.Minute
	staleFor          = 5 * time.Second
	unknownIdentities = 100_000
	unknownFor        = 30 * time.Second
	lookupsPerSecond  = 5
	lookupBurst       = 50
	limitedAddresses  = 50_000
)

type identities struct {
	store   Record
	hasher  *account.Hasher
	now     func() time.Time
	known   *lru.Cache[account.Digest, *known]
	unknown *lru.Cache[account.Digest, time.Time] // until when
	mu      sync.Mutex                            // guards the making of limits, so that a network never has two
	limits  *lru.Cache[netip.Prefix, *rate.Limiter]
}

// known is an identity with the time from which it is to be read again.
type known struct {
	subject *meter.Subject
	stale   atomic.Int64 // unix nanoseconds
}

func newIdentities(s Record, hasher *account.Hasher, now func() time.Time) *identities {
	return &identities{
		store: s, hasher: hasher, now: now,
		known:   newLRU[account.Digest, *known](knownIdentities),
		unknown: newLRU[account.Digest, time.Time](unknownIdentities),
		limits:  newLRU[netip.Prefix, *rate.Limiter](limitedAddresses),
	}
}

func newLRU[K comparable, V any](size int) *lru.Cache[K, V] {
	c, err := lru.New[K, V](size)
	if err != nil { // a size that is not positive
		panic(err)
	}
	return c
}

// Identify says whose key this is. The checksum is checked before any look-up. network is the
// caller's, as Network gives it.
func (f *Limits) Identify(ctx context.Context, key string, network netip.Prefix) (*meter.Subject, *fault.Error) {
	parsed, ok := account.ParseKey(key)
	if !ok {
		return nil, fault.New(fault.KeyInvalid, "")
	}
	return f.identify(ctx, parsed.Digest(f.ids.hasher), network)
}

// IdentifyCredential is Identify for pay-per-call credentials. What Identify calls an invalid key
// is an unknown credential.
func (f *Limits) IdentifyCredential(ctx context.Context, credential string,
	network netip.Prefix,
) (*meter.Subject, *fault.Error) {
	parsed, ok := account.ParseCredential(credential)
	if !ok {
		return nil, x402.Unpaid(x402.Unknown)
	}
	s, refusal := f.identify(ctx, parsed.Digest(f.ids.hasher), network)
	if refusal != nil && refusal.Reason == fault.KeyInvalid {
		return nil, x402.Unpaid(x402.Unknown)
	}
	return s, refusal
}

func (f *Limits) identify(ctx context.Context, digest account.Digest,
	network netip.Prefix,
) (*meter.Subject, *fault.Error) {
	now := f.now()
	remembered, ok := f.ids.known.Get(digest)
	if ok && now.UnixNano() < remembered.stale.Load() {
		return remembered.subject, nil
	}
	if until, ok := f.ids.unknown.Get(digest); ok && now.Before(until) {
		return nil, fault.New(fault.KeyInvalid, "")
	}
	if ok {
		return f.readAgain(ctx, digest, remembered)
	}
	misses := f.ids.missesOf(network)
	if wait := f.ids.wait(misses); wait > 0 {
		e := fault.New(fault.RateWindow,
			"Too many unknown keys from your network address. Check the key, and wait a second.")
		e.RetryAfter = wait
		e.Window = &fault.Window{Limit: lookupsPerSecond, Reset: wait}
		return nil, e
	}
	s, err := f.lookUp(ctx, digest)
	switch {
	case errors.Is(err, store.ErrNotFound):
		// Only keys that do not exist count: an owner's many keys may all be new to this process.
		// Look-ups that ran at the same time may overdraw the limit; what they overdrew is waited
		// for.
		misses.ReserveN(f.now(), 1)
		f.ids.unknown.Add(digest, f.now().Add(unknownFor))
		return nil, fault.New(fault.KeyInvalid, "")
	case err != nil:
		e := fault.New(fault.MeterUnreachable,
			"The key could not be looked up, so the call was not relayed. Retry in a few seconds.")
		e.RetryAfter = retryMeter
		return nil, e.Wrap(err)
	}
	return s, nil
}

const retryMeter = 2 * time.Second

// readAgain reads an identity that is known from before. When the record does not answer, it stays
// as it was for a while.
func (f *Limits) readAgain(ctx context.Context, digest account.Digest, before *known) (*meter.Subject, *fault.Error) {
	s, err := f.lookUp(ctx, digest)
	switch {
	case errors.Is(err, store.ErrNotFound):
		f.ids.known.Remove(digest)
		return nil, fault.New(fault.KeyInvalid, "")
	case err != nil:
		before.stale.Store(f.now().Add(staleFor).UnixNano())
		return before.subject, nil //nolint:nilerr // the record is away; the meter still says whether the key may call
	}
	return s, nil
}

// lookUp asks the record once for all callers that wait for the same key.
func (f *Limits) lookUp(ctx context.Context, digest account.Digest) (*meter.Subject, error) {
	result := f.flight.DoChan(digest.String(), func() (any, error) {
		// Not ended with the first caller: others wait for it too.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
		defer cancel()
		return f.ids.find(ctx, digest)
	})
	select {
	case r := <-result:
		s, _ := r.Val.(*meter.Subject)
		return s, r.Err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// find reads whose key this is and remembers it.
func (i *identities) find(ctx context.Context, digest account.Digest) (*meter.Subject, error) {
	id, err := i.store.FindIdentity(ctx, digest[:])
	if err != nil {
		return nil, err
	}
	k := &known{subject: meter.NewSubject(id, digest)}
	k.stale.Store(i.now().Add(knownFor).UnixNano())
	i.known.Add(digest, k)
	return k.subject, nil
}

// missesOf counts the unknown keys of a network address.
func (i *identities) missesOf(network netip.Prefix) *rate.Limiter {
	i.mu.Lock()
	defer i.mu.Unlock()
	l, ok := i.limits.Get(network)
	if !ok {
		l = rate.NewLimiter(lookupsPerSecond, lookupBurst)
		i.limits.Add(network, l)
	}
	return l
}

// wait is how long no unknown key may be looked up, in whole seconds; 0 when one may.
func (i *identities) wait(l *rate.Limiter) time.Duration {
	tokens := l.TokensAt(i.now())
	if tokens >= 1 {
		return 0
	}
	return time.Duration(math.Ceil((1-tokens)/lookupsPerSecond)) * time.Second
}

// reload looks a subject up again after the meter said that its key moved. When that fails, it
// gives the subject as it was.
func (i *identities) reload(ctx context.Context, s *meter.Subject) (*meter.Subject, error) {
	moved, err := i.find(ctx, s.Digest)
	if err != nil {
		return s, err
	}
	return moved, nil
}
