package relay

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/jsonrpc"
	"github.com/chainaccess/gateway/relay/upstream"
)

// MaxVerify is the most upstreams that a client may have agree.
const MaxVerify = 3

// verified has several upstreams agree on a call: as many as the client asks for, which is charged
// as often, or as the operator's file says, which is charged once. It refuses what cannot be
// verified, before the charge.
func (r *Relay) verified(c *call, req jsonrpc.Request) *fault.Error {
	byDefault := c.on.Verified(c.method)
	switch {
	case c.envelope.Verify == 0 && (byDefault == 0 || c.measured.Floats):
		return nil
	case !c.method.Verifiable():
		return r.Links.On(fault.New(fault.ParameterRefused,
			"%s cannot be verified: each upstream has an answer of its own. X-Route-Verify takes methods that name a "+
				"block, a transaction or a range of logs: those with verifiable in GET /docs/methods. Leave it out "+
				"for this call.",
			c.method.Name))
	case c.measured.Floats:
		return r.Links.On(fault.New(fault.ParameterRefused,
			"This call cannot be verified: each upstream has a pending block of its own. Name a block by number, hash "+
				"or another tag, or leave X-Route-Verify out."))
	}
	c.verify = max(c.envelope.Verify, byDefault)
	if c.envelope.Verify > byDefault {
		c.Metered.Units *= plan.Units(c.verify)
	}
	ask := r.asking(c, req, new(lookup))
	ask.Supply = plan.Premium // the caller's is known once the call is admitted
	return c.on.TooFewVoters(ask, c.verify)
}

// readVerified has upstreams agree on a read. It neither joins the read of another call nor is
// joined, but what is agreed may be kept.
func (r *Relay) readVerified(client context.Context, c *call, ask *upstream.Request, l *lookup,
) (*upstream.Answer, *fault.Error) {
	ask.Memory = r.memory
	answer, agreement, failure := c.on.ReadVerified(r.bounded(client, c), ask, c.verify)
	if failure != nil {
		return nil, failure
	}
	c.agreement = agreement
	if answer.Error == nil && answer.Rest == nil {
		r.answers.put(c.envelope.Chain, c.method, l, answer.Result)
	}
	return answer, nil
}

// notTold is the fault of a verified answer about a block that clients may not be told of yet.
func notTold() *fault.Error {
	f := fault.New(fault.UpstreamFailed,
		"Upstreams agree, but the block is newer than the head that this gateway stands for. Nothing was charged; "+
			"retry in a second.")
	f.RetryAfter = time.Second
	return f
}
