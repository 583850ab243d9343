package upstream

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/rules"
)

// errDefinitions refuses a reload that adds, removes or changes chains. Pages, descriptions of the
// interface and metrics list the chains that were known at the start.
var errDefinitions = errors.New("the chains that the file defines have changed: restart the processes of both roles " +
	"one after the other, or take the change back")

// chainSet is the content of one upstreams file. It is immutable.
type chainSet struct {
	chains map[chain.ID]*Chain
	order  []chain.ID
	errors *rules.Table
}

// useRules puts the set's error rules in force, also at endpoints taken over from the set before.
func (s *chainSet) useRules() {
	for e := range s.endpoints() {
		e.errors.Store(s.errors)
	}
}

// Reloaded counts what a reload changed.
type Reloaded struct {
	Chains               int
	Kept, Added, Removed int // upstreams; one with changed settings counts as removed and as added
}

// Reload puts another upstreams file in force. Unchanged upstreams keep their connections, their
// health and their verdicts; what is known of a chain survives a change of its upstreams. If none
// of a chain's new upstreams is measured, the removed ones serve it until one is, for at most
// handoverTime. Calls in flight finish where they are. On an error nothing changes.
func (p *Pool) Reload(file config.Upstreams) (Reloaded, error) {
	p.reloading.Lock()
	defer p.reloading.Unlock()
	old := p.set.Load()
	if !p.known.Equal(file.Known) {
		return Reloaded{}, errDefinitions
	}
	next, err := p.newSet(file, old)
	if err != nil {
		return Reloaded{}, err
	}
	p.instrument(next)
	next.useRules()
	if p.share != nil {
		for id, c := range next.chains {
			if before := old.chains[id]; before == nil || before.memory != c.memory {
				p.share(c)
			}
		}
	}
	p.set.Store(next)
	p.forget(old, next)
	before, after, leaving := old.endpoints(), next.endpoints(), next.leaving()
	done := Reloaded{Chains: len(next.order)}
	for e := range before {
		if !after[e] {
			if !leaving[e] {
				e.retire()
			}
			done.Removed++
		}
	}
	for e := range after {
		if before[e] {
			done.Kept++
		} else {
			done.Added++
		}
	}
	return done, nil
}

// newSet makes the chains of a file and takes over from old, which may be nil, what did not change.
func (p *Pool) newSet(file config.Upstreams, old *chainSet) (*chainSet, error) {
	errorRules, err := rules.New(file.Errors)
	if err != nil {
		return nil, err
	}
	set := &chainSet{chains: make(map[chain.ID]*Chain, len(file.Chains)), errors: errorRules}
	for _, known := range p.known.All() {
		listed, ok := file.Chains[string(known.ID)]
		if !ok {
			continue
		}
		if listed.ChainID != 0 {
			known = known.WithChainID(listed.ChainID)
		}
		c, err := p.newChain(known, listed, old)
		if err != nil {
			return nil, err
		}
		set.chains[known.ID] = c
		set.order = append(set.order, known.ID)
	}
	if len(set.chains) != len(file.Chains) {
		return nil, fmt.Errorf("the upstreams file names an unknown chain: %v", slices.Sorted(maps.Keys(file.Chains)))
	}
	return set, nil
}

func (p *Pool) newChain(known *chain.Chain, listed config.ChainUpstreams, old *chainSet,
) (*Chain, error) {
	c := &Chain{Chain: known, memory: &memory{hedges: hedges{racing: &p.racing}}, now: p.now, joined: old != nil}
	var before *Chain
	if old != nil && old.chains[known.ID] != nil && old.chains[known.ID].ChainID == known.ChainID {
		before = old.chains[known.ID]
		c.memory, c.joined = before.memory, before.joined
		c.measuredAt.Store(before.measuredAt.Load())
	}
	for name, n := range listed.Verify {
		if m, ok := known.Method([]byte(name)); ok {
			if c.verified == nil {
				c.verified = make(map[*chain.Method]int)
			}
			c.verified[m] = n
		}
	}
	for _, u := range listed.Upstreams {
		mark := fingerprint(known, u.URL)
		e := before.same(u, mark)
		if e == nil {
			var err error
			if e, err = newEndpoint(known.Family, u, p.now); err != nil {
				return nil, err
			}
			e.configured, e.fingerprint = u, mark
			e.inherit(c.newest.Load())
		}
		to := c.of(e.kind)
		to.endpoints = append(to.endpoints, e)
	}
	c.slack = c.slackOf()
	c.takeOver(before, p.now())
	return c, nil
}

// inherit takes over what the board holds about an endpoint that is new to this process. One whose
// settings alone changed is usable at once, because verdicts belong to its address.
func (e *Endpoint) inherit(posted *Posted) {
	if posted == nil {
		return
	}
	e.cordon(*posted)
	e.followLogLimit(*posted, e.health.now())
	if state, ok := posted.Snapshot.of(e); ok {
		e.state.Store(&state)
	}
}

// same returns the endpoint with the same configuration; nil if there is none.
func (c *Chain) same(u config.Upstream, mark string) *Endpoint {
	if c == nil {
		return nil
	}
	for e := range c.all() {
		if e.fingerprint == mark && reflect.DeepEqual(e.configured, u) {
			return e
		}
	}
	return nil
}

func (s *chainSet) leaving() map[*Endpoint]bool {
	all := make(map[*Endpoint]bool)
	for _, c := range s.chains {
		for _, e := range c.leavingEndpoints() {
			all[e] = true
		}
	}
	return all
}

func (s *chainSet) endpoints() map[*Endpoint]bool {
	all := make(map[*Endpoint]bool)
	for _, c := range s.chains {
		for e := range c.all() {
			all[e] = true
		}
	}
	return all
}

// fingerprint identifies an address and a chain id without showing them.
func fingerprint(on *chain.Chain, address string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%s", on.ID, on.ChainID, address))
	return hex.EncodeToString(sum[:8])
}

// handoverTime bounds how long upstreams that a reload removed stay eligible while none of the new
// ones is measured.
const handoverTime = 2 * time.Minute

// handover is the upstreams that a reload removed while none of the chain's new ones was measured.
type handover struct {
	endpoints []*Endpoint
	until     time.Time
}

// takeOver keeps the old upstreams eligible while c has none that is proven to be of the chain.
// This happens after a change of credentials, which makes every upstream a new one. before must
// have the same chain id, or be nil.
func (c *Chain) takeOver(before *Chain, now time.Time) {
	if before == nil || proven(c.endpoints) != nil {
		return
	}
	if kept := proven(before.endpoints); kept != nil {
		c.leaving.Store(&handover{kept, now.Add(handoverTime)})
		return
	}
	c.leaving.Store(before.leaving.Load()) // with its remaining time
}

// proven returns the endpoints that a probe found to be of the chain.
func proven(endpoints []*Endpoint) (found []*Endpoint) {
	for _, e := range endpoints {
		if s := e.state.Load(); s != nil && s.ChainIDOK {
			found = append(found, e)
		}
	}
	return found
}

// eligible returns the endpoints that calls may use.
func (c *Chain) eligible() []*Endpoint {
	if h := c.leaving.Load(); h != nil && c.now().Before(h.until) {
		return slices.Concat(c.endpoints, h.endpoints)
	}
	return c.endpoints
}

// endHandover retires removed upstreams once a new one is proven or handoverTime has passed.
func (c *Chain) endHandover() {
	h := c.leaving.Load()
	if h == nil || (c.now().Before(h.until) && proven(c.endpoints) == nil) || !c.leaving.CompareAndSwap(h, nil) {
		return
	}
	for _, e := range h.endpoints {
		e.retire()
	}
}

// leavingEndpoints returns the endpoints of a handover that has not ended.
func (c *Chain) leavingEndpoints() []*Endpoint {
	if h := c.leaving.Load(); h != nil {
		return h.endpoints
	}
	return nil
}
