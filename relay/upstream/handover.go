package upstream

import (
	"slices"
	"time"
)

// handoverTime bounds how long upstreams that a reload removed stay eligible while none of the new
// ones is measured.
const handoverTime = 2 * time.Minute

// handover is the upstreams that a reload removed from a chain of which nothing else was measured
// yet.
type handover struct {
	endpoints []*Endpoint
	until     time.Time
}

// takeOver keeps the upstreams of before eligible when c has none that proved to be of the chain: a
// credential that was changed makes every upstream a new one. before is of the same chain id, or
// nil.
func (c *Chain) takeOver(before *Chain, now time.Time) {
	if before == nil || proven(c.endpoints) != nil {
		return
	}
	if kept := proven(before.endpoints); kept != nil {
		c.leaving.Store(&handover{kept, now.Add(handoverTime)})
		return
	}
	c.leaving.Store(before.leaving.Load()) // with the time that it had
}

// proven are those of which a probe found that they are of the chain.
func proven(endpoints []*Endpoint) (found []*Endpoint) {
	for _, e := range endpoints {
		if s := e.state.Load(); s != nil && s.ChainIDOK {
			found = append(found, e)
		}
	}
	return found
}

// eligible are the endpoints that calls may go to.
func (c *Chain) eligible() []*Endpoint {
	if h := c.leaving.Load(); h != nil && c.now().Before(h.until) {
		return slices.Concat(c.endpoints, h.endpoints)
	}
	return c.endpoints
}

// endHandover lets removed upstreams go once a new one is proven, or their time is over.
func (c *Chain) endHandover() {
	h := c.leaving.Load()
	if h == nil || (c.now().Before(h.until) && proven(c.endpoints) == nil) || !c.leaving.CompareAndSwap(h, nil) {
		return
	}
	for _, e := range h.endpoints {
		e.retire()
	}
}

// leavingEndpoints are those of a handover that is not over.
func (c *Chain) leavingEndpoints() []*Endpoint {
	if h := c.leaving.Load(); h != nil {
		return h.endpoints
	}
	return nil
}
