// Package relay is the hot path: it classifies a JSON-RPC request, looks it up in the cache, admits
// the call in the meter, routes it to an upstream, and records it. It never touches PostgreSQL or
// Temporal when it is warm. It renders nothing; the transports do.
package relay

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/faultpoint"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/metering/admission"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/jsonrpc"
	"github.com/chainaccess/gateway/relay/price"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/store/usagedb"
)

// Options are a relay's dependencies and limits. The relay closes none of them.
type Options struct {
	Pool      *upstream.Pool
	Limits    *limits.Limits
	Meter     *meter.Meter
	Recorder  *usagedb.Recorder
	Latencies *meter.Latencies // of answered calls, for statistics; nil disables them
	Cache     *cache.Cache     // of answers that never change; nil disables it
	Links     chain.Links
	Timeout   time.Duration // of a call, all attempts together
	MaxAnswer int64         // bytes of one answer
	// BatchMemory bounds the bytes that the answers of all batches in flight hold, beyond 64 KiB
	// per batch; 0 means 256 MiB.
	BatchMemory int64
	// LogBlocks is how many blocks one eth_getLogs may span on a plan, if that is more than on
	// others.
	LogBlocks map[string]uint64
	Now       func() time.Time
	Logger    *slog.Logger
	Metrics   *telemetry.Calls  // nil disables metrics
	Tracer    *telemetry.Tracer // nil disables tracing
	Costs     *price.Ledger     // of what calls cost the operator; nil disables it
}

// Relay is safe for concurrent use.
type Relay struct {
	Options
	gate    admission.Gate
	answers *answers
	flights cache.Group[flightKey, readResult]
	log     callLog
	memory  *batchMemory
	waiting atomic.Int64 // calls that wait for a receipt
}

// New returns a relay.
func New(o Options) *Relay {
	return &Relay{
		Options: o, gate: admission.Gate{
			Limits: o.Limits, Meter: o.Meter, Logger: o.Logger, Metrics: o.Metrics, Tracer: o.Tracer,
		},
		answers: newAnswers(o.Cache, o.Now), log: newCallLog(o.Logger, o.Now), memory: newBatchMemory(o.BatchMemory),
	}
}

// Envelope is what the calls of one HTTP request share.
type Envelope struct {
	RequestID uuid.UUID
	Subject   *meter.Subject
	Chain     *upstream.Chain // nil if the path names none
	Tier      plan.Tier
	// AtHead has only upstreams asked that said that they have the head that the gateway stands
	// for.
	AtHead bool
	// Verify is how many upstreams must agree on the answer to each call, from 2 to MaxVerify; 0
	// leaves it to the operator. If it is more than the operator's, calls are charged as often.
	Verify int
	// Private has submissions sent to the operator's private endpoints alone.
	Private bool
	Network netip.Prefix // the client's, from netlimit.NetworkOf: bounds the records of its refused calls

	received time.Time // when Serve began with the request; zero without Serve
}

// begun returns when the HTTP request of a call began. The items of a batch begin one after
// another.
func (e *Envelope) begun(c *call) time.Time {
	if e.received.IsZero() {
		return c.started
	}
	return e.received
}

// Reply is the outcome of one call. Exactly one of Result, Error and Fault is set; the bytes belong
// to the upstream's answer. The transport writes the reply, then calls Close exactly once.
type Reply struct {
	ID     []byte // the client's, byte for byte; nil if there was none
	Result []byte
	Rest   io.Reader // the rest of the result, when it is streamed
	Error  []byte
	Fault  *fault.Error
	Hit    bool
	Timing Timing

	relay  *Relay
	answer *upstream.Answer
	call   call
	room   *room // of an item of a batch: the memory that the answer holds and returns
	held   int   // bytes of room
	batch  *room // of an item of a batch: what it leaves when it is closed
}

// Timing is where the time of a call was spent.
type Timing struct {
	Gate     time.Duration // weight, cache look-up and admission
	Route    time.Duration // the gateway's own time after Gate
	Upstream time.Duration
}

// call is the state of a request on its way through the relay.
type call struct {
	admission.Call

	envelope  *Envelope
	on        *upstream.Chain // the upstreams that the call is for
	started   time.Time
	method    *chain.Method
	measured  chain.Measured
	heads     chain.Heads // that the gateway stands for
	verify    int         // how many upstreams must agree; 0 for one answer
	agreement upstream.Agreement
	asked     upstream.Asked
	bytes     int64
	endFlight func() // of a streamed answer that others may have waited for; called when the answer is released
	// clientGone is set when the client left before the end of its answer.
	clientGone bool
	streamed   bool
	span       *telemetry.Span // of the request, or of the item of a batch; nil if it is not traced
	endSpan    bool
}

// ErrStopping is the cause with which the program cancels calls in flight when it stops. Such a
// call is refunded, because the service failed it. A call whose client left is charged.
var ErrStopping = errors.New("the gateway is stopping")

// Do relays one request. index is its place in a batch.
func (r *Relay) Do(ctx context.Context, e *Envelope, index int, req jsonrpc.Request) *Reply {
	reply := r.newReply(e, index, req.ID)
	reply.call.span = r.Tracer.Current(ctx)
	r.do(ctx, reply, req)
	return reply
}

func (r *Relay) do(ctx context.Context, reply *Reply, req jsonrpc.Request) {
	defer reply.contain(ctx)
	c := &reply.call
	c.bytes = int64(len(req.Params))
	if refusal := r.classify(ctx, c, req); refusal != nil {
		reply.refused(r.gate.Refuse(ctx, &c.Call, refusal))
		return
	}
	look := r.answers.look(c.envelope.Chain, c.method, req.Params)
	var cached []byte
	hit := false
	if c.verify == 0 {
		cached, hit = r.answers.get(ctx, c.envelope.Chain, c.method, &look)
	}
	if hit {
		c.Metered.Mode, c.Metered.Units = meter.Hit, 0
	}
	if refusal := r.gate.Admit(ctx, &c.Call); refusal != nil {
		reply.refused(refusal)
		return
	}
	reply.Timing.Gate = r.Now().Sub(c.started)
	if hit {
		reply.Result, reply.Hit = cached, true
		return
	}
	r.route(ctx, reply, req, &look)
}

func (r *Relay) newReply(e *Envelope, index int, id []byte) *Reply {
	reply := &Reply{ID: id, relay: r, call: call{
		Call: admission.Call{
			RequestID: e.RequestID, Index: index, Route: route, Subject: e.Subject,
			Metered: meter.Call{Service: service, Tier: string(e.Tier)},
		},
		envelope: e, started: r.Now(),
	}}
	if e.Chain != nil {
		reply.call.Metered.Chain = string(e.Chain.ID)
	}
	return reply
}

// service is the name under which relay calls are metered and switched; route is their endpoint.
const (
	service = "rpc"
	route   = "POST /rpc/{chain}"
)

// classify finds the method and computes the call's weight from the request and the heads alone.
func (r *Relay) classify(ctx context.Context, c *call, req jsonrpc.Request) *fault.Error {
	on := c.envelope.Chain
	method, ok := on.Method(req.Method)
	if !ok {
		return on.Refuse(string(req.Method), r.Links)
	}
	c.method, c.Metered.Method, c.Metered.Class = method, method.Name, string(method.Class)
	if refusal := r.direct(c); refusal != nil {
		return refusal
	}
	if refusal := r.measure(ctx, c, req.Params); refusal != nil {
		return refusal
	}
	weight := c.measured.Weight
	c.Metered.Class, c.Metered.Units = string(weight.Class), plan.Cost(weight.Units, c.envelope.Tier)
	if c.Subject.Tier != "" { // the price of the tier includes its multiplier
		c.Metered.Units = plan.Cost(weight.Units, plan.Balanced)
	}
	if c.envelope.Verify > 0 || c.on.Verifies() {
		return r.verified(c, req)
	}
	return nil
}

// direct decides which upstreams a call is for: user operations are for bundlers, submissions whose
// sender asks for it are for private endpoints, everything else is for nodes.
func (r *Relay) direct(c *call) *fault.Error {
	c.on = c.envelope.Chain
	switch {
	case c.method.Needs == chain.Bundler:
		if c.on = c.on.Bundlers(); c.on == nil {
			return c.envelope.Chain.RefuseUserOperation(c.method.Name, r.Links)
		}
		if c.method.Write && c.envelope.Private {
			return fault.New(fault.ParameterRefused,
				"A bundler may show a user operation to others before it is included, so it was not sent. Leave "+
					"X-Route-Submission out to send it all the same.")
		}
	case c.method.Write && c.envelope.Private:
		if c.on = c.on.PrivateEndpoints(); c.on == nil {
			return r.Links.On(fault.New(fault.ParameterRefused,
				"This gateway has no private endpoint for %s, so the transaction was not sent. Leave "+
					"X-Route-Submission out to send it like any other, or ask for one at data.contact.",
				c.envelope.Chain.ID))
		}
	}
	return nil
}

// route asks the upstreams. Reads fail over; a write goes to exactly one upstream. When the service
// fails to return an answer, the charge is refunded before the client is answered.
func (r *Relay) route(client context.Context, reply *Reply, req jsonrpc.Request, look *lookup) {
	c := &reply.call
	ask := r.asking(c, req, look)
	asked := r.Now()
	var answer *upstream.Answer
	var failure *fault.Error
	if c.method.Write {
		answer, failure = r.submit(client, c, ask)
	} else {
		answer, failure = r.readPlaced(client, c, ask, look)
	}
	reply.Timing.Upstream = r.Now().Sub(asked)
	reply.Timing.Route = asked.Sub(c.started) - reply.Timing.Gate
	c.asked = ask.Asked
	faultpoint.Hit(faultpoint.SettleDue)
	if failure != nil {
		if c.method.Write || !errors.Is(client.Err(), context.Canceled) ||
			errors.Is(context.Cause(client), ErrStopping) {
			failure = r.gate.Refund(client, &c.Call, failure)
		} else {
			c.clientGone = true // nobody waits for the answer; what was asked for is charged
		}
		reply.refused(failure)
		return
	}
	reply.answer, reply.Result, reply.Error, reply.Rest = answer, answer.Result, answer.Error, answer.Rest
	c.streamed = answer.Rest != nil
}

// asking returns what upstreams are asked.
func (r *Relay) asking(c *call, req jsonrpc.Request, look *lookup) *upstream.Request {
	return &upstream.Request{
		Method: req.Method, Params: req.Params, Supply: c.Supply, Tier: c.envelope.Tier, Links: r.Links,
		MaxAnswer: r.MaxAnswer, Head: look.head(c.method, req.Params),
		Needs: c.method.NeedsFor(chain.Class(c.Metered.Class)), Heavy: c.Metered.Class == string(chain.Heavy),
		Comparable: c.method.Verifiable() && !c.measured.Floats,
	}
}

func (reply *Reply) refused(f *fault.Error) {
	if reply.Timing.Gate == 0 {
		reply.Timing.Gate = reply.relay.Now().Sub(reply.call.started)
	}
	reply.Fault, reply.Result, reply.Error, reply.Rest = admission.WithNextDoor(&reply.call.Call, f), nil, nil, nil
}

// Verified returns how many upstreams agreed on the answer; zero for one that was not verified.
func (reply *Reply) Verified() upstream.Agreement {
	if reply.Fault != nil {
		return upstream.Agreement{}
	}
	return reply.call.agreement
}

// Window returns the caller's rate window after the call, also when the window refused it. A Limit
// of 0 means there is none.
func (reply *Reply) Window() fault.Window {
	if f := reply.Fault; f != nil && f.Reason == fault.RateWindow && f.Window != nil {
		return *f.Window
	}
	return reply.call.Window
}

// Broken records that reading Rest failed with cause while the client was there. It refunds the
// charge unless the upstream gave up on a client that did not read, or the answer exceeded the size
// limit: in both cases the client has what fits.
func (reply *Reply) Broken(ctx context.Context, cause error) {
	switch {
	case errors.Is(cause, upstream.ErrSlowReader):
		reply.Left()
	case errors.Is(cause, upstream.ErrTooLarge):
		reply.Fault = fault.New(fault.RangeTooLarge, "")
	default:
		reply.broken(ctx, cause)
	}
}

func (reply *Reply) broken(ctx context.Context, cause error) {
	reply.Fault = reply.relay.gate.Refund(ctx, &reply.call.Call, fault.New(fault.UpstreamFailed, "").Wrap(cause))
}

// Left records that the client left, or did not read, before the end of the answer. The call is
// charged.
func (reply *Reply) Left() { reply.call.clientGone = true }

// Close releases the answer and records the call. written is the number of body bytes that were
// sent to the client.
func (reply *Reply) Close(httpStatus int, written int64) {
	reply.record(httpStatus, written)
	reply.release()
	if reply.batch != nil {
		reply.batch.leave()
	}
}

func (reply *Reply) release() {
	reply.releaseAnswer()
	if reply.room != nil {
		reply.room.give(reply.held)
		reply.room, reply.held = nil, 0
	}
}

func (reply *Reply) releaseAnswer() {
	if reply.call.endFlight != nil {
		reply.call.endFlight()
		reply.call.endFlight = nil
	}
	if reply.answer != nil {
		reply.answer.Release()
		reply.answer = nil
	}
}
