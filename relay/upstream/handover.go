package upstream

import (
	"slices"
	"time"
)

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
