package upstream

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/chain"
	"github.com/chainaccess/gateway/config"
)

// Pool is every upstream of every configured chain.
type Pool struct {
	chains map[chain.ID]*Chain
	order  []chain.ID
}

// Chain is the upstreams of one chain.
type Chain struct {
	*chain.Chain

	endpoints  []*Endpoint
	favourites [3][3][readClasses]atomic.Pointer[Endpoint] // by supply, tier and class
	hedges     hedges
	now        func() time.Time

	heads      heads
	measuredAt atomic.Int64 // of the newest snapshot, unix nanoseconds; zero before the first
	generation atomic.Uint64
	prober     prober
}

// NewPool makes the pool of an upstreams file.
func NewPool(file config.Upstreams, now func() time.Time) (*Pool, error) {
	p := &Pool{chains: make(map[chain.ID]*Chain, len(file.Chains))}
	for _, known := range chain.All() {
		listed, ok := file.Chains[string(known.ID)]
		if !ok {
			continue
		}
		if listed.ChainID != 0 {
			known = known.WithChainID(listed.ChainID)
		}
		c := &Chain{Chain: known, now: now}
		for _, u := range listed.Upstreams {
			e, err := newEndpoint(known.Family, u, now)
			if err != nil {
				return nil, err
			}
			e.fingerprint = fingerprint(known, u.URL)
			c.endpoints = append(c.endpoints, e)
		}
		c.prober = newProber(len(c.endpoints))
		p.chains[known.ID] = c
		p.order = append(p.order, known.ID)
	}
	if len(p.chains) != len(file.Chains) {
		return nil, fmt.Errorf("the upstreams file names an unknown chain: %v", slices.Sorted(maps.Keys(file.Chains)))
	}
	return p, nil
}

// fingerprint tells one address and chain id from another without naming them.
func fingerprint(on *chain.Chain, address string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%s", on.ID, on.ChainID, address))
	return hex.EncodeToString(sum[:8])
}

// Chain gives the upstreams of a chain; false when none is configured.
func (p *Pool) Chain(id chain.ID) (*Chain, bool) {
	c, ok := p.chains[id]
	return c, ok
}

// Chains lists the configured chains.
func (p *Pool) Chains() []chain.ID { return slices.Clone(p.order) }

// Close gives idle connections back.
func (p *Pool) Close() {
	for _, c := range p.chains {
		c.hedges.racing.Wait()
		for _, e := range c.endpoints {
			e.close()
		}
	}
}

// Fingerprint is what verdicts on an upstream must carry to hold; empty for an unknown name.
func (c *Chain) Fingerprint(name string) string {
	for _, e := range c.endpoints {
		if e.Name == name {
			return e.fingerprint
		}
	}
	return ""
}

// Apply puts the verdicts of a snapshot in force. Names that this process does not know, or knows with another address or chain id,
// are passed over.
func (c *Chain) Apply(s Snapshot) {
	for _, e := range c.endpoints {
		for i := range s.Upstreams {
			if s.Upstreams[i].Name == e.Name && s.Upstreams[i].Fingerprint == e.fingerprint {
				state := s.Upstreams[i]
				e.state.Store(&state)
				e.health.probed(state.Usable, s.MeasuredAt)
			}
		}
	}
	if s.HeadKnown {
		c.heads.measured(s.Head, s.MeasuredAt)
	}
	c.raiseGeneration(s.Generation)
	c.measuredAt.Store(s.MeasuredAt.UnixNano())
}

// Measured tells whether a snapshot has been applied.
func (c *Chain) Measured() bool { return c.measuredAt.Load() != 0 }
