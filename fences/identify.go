package fences

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
	"golang.org/x/time/rate"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/fault"
	"github.com/chainaccess/gateway/meter"
	"github.com/chainaccess/gateway/store"
)

// How identities are remembered. A known one is read again after a minute, so that a change of plan reaches the choice of supply;
// status and allowances are not cached here at all. An unknown digest is asked for once in a while, and by one network address
// only so often: a well-formed key that does not exist costs a query.
const (
	knownIdentities   = 200_000
	knownFor          = time.Minute
	unknownIdentities = 100_000
	unknownFor        = 30 * time.Second
	lookupsPerSecond  = 5
	lookupBurst       = 50
	limitedAddresses  = 50_000
)

type identities struct {
	store   *store.Store
	hasher  *account.Hasher
	now     func() time.Time
	known   *expirable.LRU[account.Digest, *meter.Subject]
	unknown *expirable.LRU[account.Digest, struct{}]
	limits  *expirable.LRU[netip.Prefix, *rate.Limiter]
}

func newIdentities(s *store.Store, hasher *account.Hasher, now func() time.Time) *identities {
	return &identities{
		store: s, hasher: hasher, now: now,
		known:   expirable.NewLRU[account.Digest, *meter.Subject](knownIdentities, nil, knownFor),
		unknown: expirable.NewLRU[account.Digest, struct{}](unknownIdentities, nil, unknownFor),
		limits:  expirable.NewLRU[netip.Prefix, *rate.Limiter](limitedAddresses, nil, time.Minute),
	}
}

// Identify says whose key this is. The checksum is checked before any look-up. network is the caller's, as Network gives it.
func (f *Fences) Identify(ctx context.Context, key string, network netip.Prefix) (*meter.Subject, *fault.Error) {
	parsed, ok := account.ParseKey(key)
	if !ok {
		return nil, fault.New(fault.KeyInvalid, "")
	}
	digest := parsed.Digest(f.ids.hasher)
	if s, ok := f.ids.known.Get(digest); ok {
		return s, nil
	}
	if f.ids.unknown.Contains(digest) {
		return nil, fault.New(fault.KeyInvalid, "")
	}
	misses := f.ids.missesOf(network)
	if misses.TokensAt(f.now()) < 1 {
		e := fault.New(fault.RateWindow, "Too many unknown keys from your network address. Check the key, and wait a second.")
		e.RetryAfter = time.Second
		e.Window = &fault.Window{Limit: lookupsPerSecond, Reset: time.Second}
		return nil, e
	}
	id, err := f.store.FindIdentity(ctx, digest[:])
	switch {
	case errors.Is(err, store.ErrNotFound):
		misses.AllowN(f.now(), 1) // only keys that do not exist count: an owner's many keys may all be new to this process
		f.ids.unknown.Add(digest, struct{}{})
		return nil, fault.New(fault.KeyInvalid, "")
	case err != nil:
		e := fault.New(fault.MeterUnreachable, "The key could not be looked up, so the call was not relayed. Retry in a few seconds.")
		e.RetryAfter = retryMeter
		return nil, e.Wrap(err)
	}
	s := meter.NewSubject(id, digest)
	f.ids.known.Add(digest, s)
	return s, nil
}

const retryMeter = 2 * time.Second

func (i *identities) missesOf(network netip.Prefix) *rate.Limiter {
	l, ok := i.limits.Get(network)
	if !ok {
		l = rate.NewLimiter(lookupsPerSecond, lookupBurst)
		i.limits.Add(network, l)
	}
	return l
}

// reload looks a subject up again after the meter said that its key moved.
func (i *identities) reload(ctx context.Context, s *meter.Subject) (*meter.Subject, error) {
	id, err := i.store.FindIdentity(ctx, s.Digest[:])
	if err != nil {
		return s, err
	}
	moved := meter.NewSubject(id, s.Digest)
	i.known.Add(s.Digest, moved)
	return moved, nil
}

// Network is the part of an address that limits go by: an IPv4 address, or the /64 of an IPv6 address.
func Network(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return p
}
