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

// How identities are cached. A known one is read again after a minute, which bounds how old its
// door and plan can be. Status, allowances and supply are not cached here: the meter decides them
// for each call. When the read fails, the old identity is kept for another staleFor, each time: an
// outage of PostgreSQL must not lock out known keys. An unknown digest is cached as unknown, and
// the look-ups of unknown keys are rate limited per network: a well-formed key that does not exist
// costs a query.
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

// known is an identity and the time at which it must be read again.
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

// Identify returns the subject of a key. It checks the key's checksum before any look-up. network
// is the caller's, from netlimit.NetworkOf.
func (f *Limits) Identify(ctx context.Context, key string, network netip.Prefix) (*meter.Subject, *fault.Error) {
	parsed, ok := account.ParseKey(key)
	if !ok {
		return nil, fault.New(fault.KeyInvalid, "")
	}
	return f.identify(ctx, parsed.Digest(f.ids.hasher), network)
}

// keyForms are the forms in which an API key is read.
var keyForms = []string{
	"Authorization: Bearer <API_KEY>", "Authorization: <API_KEY>",
	"Authorization: Basic with the key as password, as in https://x:<API_KEY>@host",
}

// NoKey returns the refusal of a request without a key. unread reports that something came that may
// be one, but not in a form that is read.
func NoKey(unread bool) *fault.Error {
	if !unread {
		return fault.New(fault.KeyInvalid, "")
	}
	return fault.New(fault.KeyInvalid, "A key or other credentials came, but not in a form that is read. Send the "+
		"header Authorization: Bearer <API_KEY>; the key alone counts too, and Basic with the key as password "+
		"(https://x:<API_KEY>@host). POST /keys gives a key without sign-up.").With("key_forms", keyForms)
}

// IdentifyCredential is Identify for pay-per-call credentials. Where Identify refuses an invalid
// key, it refuses an unknown credential.
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
		// Only keys that do not exist count: all of an owner's many keys may be new to this
		// process. Concurrent look-ups may overdraw the limit, and later ones then wait longer.
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

// readAgain reads a known identity again. When PostgreSQL does not answer, it keeps the old one for
// staleFor.
func (f *Limits) readAgain(ctx context.Context, digest account.Digest, before *known) (*meter.Subject, *fault.Error) {
	s, err := f.lookUp(ctx, digest)
	switch {
	case errors.Is(err, store.ErrNotFound):
		f.ids.known.Remove(digest)
		return nil, fault.New(fault.KeyInvalid, "")
	case err != nil:
		before.stale.Store(f.now().Add(staleFor).UnixNano())
		return before.subject, nil //nolint:nilerr // PostgreSQL is away; the meter still checks the key
	}
	return s, nil
}

// lookUp reads an identity once for all concurrent callers of the same key. One that comes when
// another has just finished finds it in the cache.
func (f *Limits) lookUp(ctx context.Context, digest account.Digest) (*meter.Subject, error) {
	result := f.flight.DoChan(digest.String(), func() (any, error) {
		if k, ok := f.ids.known.Get(digest); ok && f.now().UnixNano() < k.stale.Load() {
			return k.subject, nil
		}
		// Not cancelled with the first caller: others wait for it too.
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

// find reads an identity and caches it.
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

// missesOf returns the rate limiter of a network's unknown keys.
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

// wait returns how long no unknown key may be looked up, in whole seconds; 0 when one may be.
func (i *identities) wait(l *rate.Limiter) time.Duration {
	tokens := l.TokensAt(i.now())
	if tokens >= 1 {
		return 0
	}
	return time.Duration(math.Ceil((1-tokens)/lookupsPerSecond)) * time.Second
}

// reload reads a subject again after the meter answered that its key moved. With an error it
// returns the old subject.
func (i *identities) reload(ctx context.Context, s *meter.Subject) (*meter.Subject, error) {
	moved, err := i.find(ctx, s.Digest)
	if err != nil {
		return s, err
	}
	return moved, nil
}
