// Package upstream calls the providers behind the gateway. It has their transports, health,
// selection and failover, the classification of their answers, and the board on which probes
// publish heads and verdicts for every process. No credential of a provider leaves it. It knows
// nothing of keys, units or clients.
package upstream

import (
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/price"
	"github.com/chainaccess/gateway/relay/upstream/internal/ratelimit"
)

// Pool holds every upstream of every configured chain. Reload may change it while calls are in
// flight.
type Pool struct {
	now       func() time.Time
	known     *chain.Set
	set       atomic.Pointer[chainSet]
	reloading sync.Mutex        // one reload at a time
	racing    sync.WaitGroup    // attempts that may outlive their read
	share     func(*Chain)      // shares the heads of a new chain; nil for none, guarded by reloading
	rates     *ratelimit.Sharer // of upstreams; nil for those of this process alone, guarded by reloading

	metrics *telemetry.Upstreams // nil disables metrics
	tracer  *telemetry.Tracer    // nil disables tracing
	panics  *panicLog
	ledger  *price.Ledger // of what requests cost; nil counts nothing
}

// Chain is the upstreams of one chain in one upstreams file. A reload makes a new Chain; calls in
// flight keep the one that they started with.
type Chain struct {
	*chain.Chain
	*memory

	kind       kind // of the endpoints
	endpoints  []*Endpoint
	special    [kinds]*Chain                               // upstreams that answer no plain reads, by kind
	favourites [3][3][readClasses]atomic.Pointer[Endpoint] // by supply, tier and class
	now        func() time.Time
	verified   map[*chain.Method]int // how many must agree, by the upstreams file; nil for none
	slack      uint64                // blocks that a head may be ahead of the block time
	joined     bool                  // added by a reload
	measuredAt atomic.Int64          // of the newest snapshot, unix nanoseconds; zero before the first
	tracer     *telemetry.Tracer
	panics     *panicLog
	leaving    atomic.Pointer[handover] // set only for a while after a reload
	copying    atomic.Int64             // copied reads in flight, of shadows
}

// memory is what this process knows of a chain, independent of its upstreams. It survives reloads.
type memory struct {
	heads      chainHeads
	generation atomic.Uint64
	newest     atomic.Pointer[Posted] // from the board
	hedges     hedges
	prober     prober
	traffic    traffic
}

// NewPool returns the pool of an upstreams file.
func NewPool(file config.Upstreams, now func() time.Time) (*Pool, error) {
	p := &Pool{now: now, known: file.Known}
	set, err := p.newSet(file, nil)
	if err != nil {
		return nil, err
	}
	set.useRules()
	p.set.Store(set)
	return p, nil
}

// Chain returns the upstreams of a chain; false if none are configured.
func (p *Pool) Chain(id chain.ID) (*Chain, bool) {
	c, ok := p.set.Load().chains[id]
	return c, ok
}

// Known returns every chain that the gateway knows, with upstreams or without. Without a pool,
// these are the built-in ones.
func (p *Pool) Known() *chain.Set {
	if p == nil {
		return chain.BuiltIn()
	}
	return p.known
}

// Chains returns the ids of the configured chains.
func (p *Pool) Chains() []chain.ID { return slices.Clone(p.set.Load().order) }

// Close waits for attempts in flight and closes idle connections.
func (p *Pool) Close() {
	p.racing.Wait()
	for _, c := range p.set.Load().chains {
		for _, e := range c.leavingEndpoints() {
			e.close()
		}
		for e := range c.all() {
			e.close()
		}
	}
}

// Fingerprint returns the fingerprint that a verdict on an upstream must have; empty for an unknown
// name.
func (c *Chain) Fingerprint(name string) string {
	for e := range c.all() {
		if e.Name == name {
			return e.fingerprint
		}
	}
	return ""
}

// Names returns the configured upstreams, usable or not.
func (c *Chain) Names() []string {
	names := make([]string, len(c.endpoints))
	for i, e := range c.endpoints {
		names[i] = e.Name
	}
	return names
}

// Verifies reports whether the operator has answers verified.
func (c *Chain) Verifies() bool { return c.verified != nil }

// Verified returns how many upstreams the operator has agree on answers to a method; 0 for one.
func (c *Chain) Verified(m *chain.Method) int { return c.verified[m] }

// Joined reports whether the chain was added while the process ran. Until its head is known, such a
// chain must not make the process unready for the others.
func (c *Chain) Joined() bool { return c.joined }

// Apply puts the verdicts of a snapshot in force. It skips upstreams that this process does not
// have, or has with another address or chain id.
func (c *Chain) Apply(s Snapshot) {
	for e := range c.all() {
		if state, ok := s.of(e); ok {
			e.state.Store(&state)
			if e.kind == node || state.identifiedAt(s.MeasuredAt) {
				e.health.probed(state.Usable, s.MeasuredAt)
			}
			if state.Reason != ReasonAhead {
				e.reported.Probed(state.Head, s.MeasuredAt)
			}
		}
	}
	if s.HeadKnown {
		c.measured(&s)
	}
	c.raiseGeneration(s.Generation)
	c.measuredAt.Store(s.MeasuredAt.UnixNano())
	c.endHandover()
}

// Measured reports whether a snapshot has been applied.
func (c *Chain) Measured() bool { return c.measuredAt.Load() != 0 }

// follow applies what the board holds: cordons first, so that no verdict opens a cordoned upstream.
func (c *Chain) follow(posted Posted) {
	c.newest.Store(&posted)
	for e := range c.all() {
		e.cordon(posted)
		e.followLogLimit(posted, c.now())
	}
	for _, e := range c.leavingEndpoints() {
		e.cordon(posted)
	}
	c.endHandover()
	c.raiseGeneration(posted.Snapshot.Generation)
	if posted.Known && posted.Snapshot.isOf(c.Chain) && posted.Snapshot.MeasuredAt.UnixNano() != c.measuredAt.Load() {
		c.Apply(posted.Snapshot)
	}
}

func (e *Endpoint) cordon(posted Posted) {
	_, cordoned := posted.Cordons[e.Name]
	e.cordoned.Store(cordoned)
}

// kind is what an upstream is asked for (docs/decisions/0087-private-sending-and-bundlers.md).
type kind uint8

const (
	node kind = iota
	private
	bundler
	shadow // of kind node in the file, with a share of reads to copy
	kinds  // how many there are
)

func kindOf(u *config.Upstream) kind {
	switch {
	case u.Kind == config.KindPrivate:
		return private
	case u.Kind == config.KindBundler:
		return bundler
	case u.ShadowShare() > 0:
		return shadow
	}
	return node
}

func (k kind) String() string {
	return [...]string{config.KindNode, config.KindPrivate, config.KindBundler, "shadow"}[k]
}

// role returns the upstream's kind, or that it is a canary.
func (e *Endpoint) role() string {
	if e.canary > 0 {
		return "canary"
	}
	return e.kind.String()
}

// PrivateEndpoints returns the chain's endpoints that keep submissions out of the public mempool;
// nil if the operator has none. Submit follows the same rules there: one endpoint, once.
func (c *Chain) PrivateEndpoints() *Chain { return c.special[private] }

// Bundlers returns the chain's ERC-4337 bundlers; nil if the operator has none.
func (c *Chain) Bundlers() *Chain { return c.special[bundler] }

// of returns the chain of the upstreams of a kind, and makes it if there is none. It shares what is
// known of the chain.
func (c *Chain) of(k kind) *Chain {
	if k == node {
		return c
	}
	if c.special[k] == nil {
		c.special[k] = &Chain{kind: k, Chain: c.Chain, memory: c.memory, now: c.now, joined: c.joined}
	}
	return c.special[k]
}

// all returns the upstreams of every kind, nodes first.
func (c *Chain) all() iter.Seq[*Endpoint] {
	return func(yield func(*Endpoint) bool) {
		for _, of := range append([]*Chain{c}, c.special[:]...) {
			if of != nil && slices.ContainsFunc(of.endpoints, func(e *Endpoint) bool { return !yield(e) }) {
				return
			}
		}
	}
}
