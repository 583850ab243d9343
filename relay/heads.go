package relay

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

const retryNoHead = 5 * time.Second

// measure reads what the call is about, at the heads that the gateway stands for. A call that
// depends on them waits for what other processes have told, unless that is known.
func (r *Relay) measure(ctx context.Context, c *call, params []byte) (refusal *fault.Error) {
	on, method := c.envelope.Chain, c.method
	heads, fresh := on.Told(ctx, c.started)
	needs := c.atHead() || headKind(method, params) != upstream.NoHead
	if heads.Latest > 0 {
		if c.measured, refusal = method.Measure(params, &heads, r.LogBlocks[c.Subject.Plan]); refusal != nil {
			return r.linked(refusal)
		}
		needs = needs || c.measured.Head || c.measured.Named > heads.Latest
		if c.heads = heads; fresh || !needs {
			return nil
		}
	}
	if !fresh {
		heads = on.FreshHeads(ctx, c.started)
	}
	if heads.Latest == 0 && (needs || method.NeedsHead(params)) {
		f := fault.New(fault.NoUpstream,
			"The head of %s is not known yet, and this call needs it. Nothing was charged; retry in a few seconds.",
			on.ID)
		f.RetryAfter = retryNoHead
		return f
	}
	if c.measured, refusal = method.Measure(params, &heads, r.LogBlocks[c.Subject.Plan]); refusal != nil {
		return r.linked(refusal)
	}
	c.heads = heads
	return nil
}

// linked adds the operator's links to a range refusal.
func (r *Relay) linked(refusal *fault.Error) *fault.Error {
	if refusal.Reason == fault.RangeTooLarge {
		return r.Links.On(refusal)
	}
	return refusal
}

// place says which block a read is about.
func (c *call) place(ask *upstream.Request) {
	told := c.heads.Latest
	ask.Pins, ask.Block, ask.Null = &c.measured.Pins, c.measured.Block, c.method.Null
	if c.measured.Named > 0 || c.measured.Pins.Any() {
		ask.Told = told // a block that is only meant, not named, is the node's choice
	}
	switch {
	case c.method.Partial() && ask.Block <= told:
		ask.Cover = ask.Block
	case c.method.Near:
		ask.Block, ask.Told = c.envelope.Chain.NearHead(told), 0
	}
	if c.atHead() {
		ask.Cover = told
	}
}

// atHead reports whether only upstreams that have the newest block may be asked. Bundlers have
// none.
func (c *call) atHead() bool { return c.envelope.AtHead && c.method.Needs != chain.Bundler }

// readPlaced asks the upstreams that have the block of a read, and holds an answer about a block
// that the gateway does not stand for yet. If the gateway cannot stand for it in time, the block is
// not there yet, because the next upstream would say so: the answer is null.
func (r *Relay) readPlaced(client context.Context, c *call, ask *upstream.Request, look *lookup,
) (*upstream.Answer, *fault.Error) {
	c.place(ask)
	r.placeLogs(c, ask)
	if c.measured.Own != chain.NoTag && c.verify == 0 {
		return r.readOwn(client, c, ask, look)
	}
	answer, failure := r.read(client, c, ask, look)
	if r.hold(client, c, ask.Asked.Upstream, c.shown(answer, look)) || c.method.Null == chain.NullAnswer {
		return answer, failure
	}
	answer.Release()
	if c.verify > 0 {
		return nil, notTold()
	}
	return &upstream.Answer{Result: []byte("null")}, nil
}

// hold waits until clients may be told of the block that an answer shows; zero for none. It reports
// whether they may.
func (r *Relay) hold(client context.Context, c *call, by string, block uint64) bool {
	if block <= c.heads.Latest {
		return true
	}
	head, _ := c.envelope.Chain.Head()
	return block <= head || c.envelope.Chain.Hold(r.bounded(client, c), by, block)
}

// readOwn asks for a safe or finalized block. An upstream chooses it, as it may know a newer one
// than the gateway. If clients may not be told of it, the block that they were told is asked for.
func (r *Relay) readOwn(client context.Context, c *call, ask *upstream.Request, look *lookup,
) (*upstream.Answer, *fault.Error) {
	pins, told, alike := ask.Pins, ask.Told, ask.Comparable
	ask.Pins, ask.Told, ask.Comparable = nil, 0, false // each upstream chooses
	answer, failure := r.read(client, c, ask, look)
	if failure != nil {
		return nil, failure
	}
	ctx := r.bounded(client, c)
	if answer.Error == nil {
		shown := readProof(&blockProof, answer.Result)
		if shown.numbered && c.envelope.Chain.ConfirmTag(ctx, c.measured.Own, ask.Asked.Upstream, shown.number) {
			return answer, nil
		}
	}
	answer.Release()
	first := ask.Asked
	ask.Pins, ask.Told, ask.Comparable = pins, told, alike
	answer, failure = r.read(client, c, ask, look)
	ask.Asked.Attempts += first.Attempts
	ask.Asked.Cost += first.Cost
	return answer, failure
}

// blockProof reads the number of a block.
var blockProof = chain.Proof{Number: "number"}

// placeLogs says which range of logs a read is about. Its ends are numbers now, so that parts of it
// can be asked for.
func (r *Relay) placeLogs(c *call, ask *upstream.Request) {
	if !c.method.Partial() || c.heads.Latest == 0 && c.method.NeedsHead(ask.Params) {
		return
	}
	if ask.Pins.Any() {
		ask.Params = ask.Pins.Append(make([]byte, 0, len(ask.Params)+pinnedBytes), ask.Params)
		ask.Pins = nil
	}
	if span, ok := c.method.LogSpan(ask.Params, c.heads); ok {
		ask.Logs, ask.Memory = &span, r.memory
	}
}

const pinnedBytes = 64 // by which pinned parameters are longer

// shown returns the block that an answer shows to the client; zero for none. It knows that of a
// block by its number, and of what the Final rule reads.
func (c *call) shown(answer *upstream.Answer, look *lookup) uint64 {
	switch {
	case answer == nil || answer.Error != nil || string(answer.Result) == "null":
		return 0
	case c.method.Null == chain.NullNoBlock:
		return c.measured.Named
	}
	return look.shown
}
