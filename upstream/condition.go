package upstream

import "time"

// Condition is how a chain stands by the newest probes. It names no upstream.
type Condition struct {
	MeasuredAt time.Time // zero before the first probe
	Head       uint64    // corroborated; zero when not known
	Usable     int       // upstreams that calls may be routed to
	Upstreams  int
}

// Condition tells how the chain stands. An upstream that an operator took out of rotation is not usable.
func (c *Chain) Condition() Condition {
	head, _ := c.CorroboratedHead()
	now := Condition{Head: head, Upstreams: len(c.endpoints)}
	if at := c.measuredAt.Load(); at > 0 {
		now.MeasuredAt = time.Unix(0, at).UTC()
	}
	for _, e := range c.endpoints {
		if s := e.state.Load(); s != nil && s.Usable && s.ChainIDOK && !e.cordoned.Load() {
			now.Usable++
		}
	}
	return now
}
