package relay

import (
	"context"
	"errors"
	"io"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/metering/admission"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/relay/jsonrpc"
	"github.com/chainaccess/gateway/relay/upstream"
)

// MaxBatch is how many requests a batch may have: the default of viem. Its answers are gathered in
// memory, so room bounds their sum; a larger answer must be requested alone.
const MaxBatch = 1000

// How many items of a batch run at once: one in batchRounds, so that a large batch is through
// within the ten seconds that clients wait, and at least minConcurrency.
const (
	minConcurrency = 16
	batchRounds    = 16
)

// Serve parses a body and relays its request or batch. Replies are in the order of the requests;
// each must be closed.
func (r *Relay) Serve(ctx context.Context, e *Envelope, body []byte) (replies []*Reply, batch bool) {
	e.received = r.Now()
	if !jsonrpc.IsBatch(body) {
		req, err := jsonrpc.SplitRequest(body)
		if err != nil {
			return []*Reply{r.Refuse(ctx, e, 0, req.ID, splitFault(err))}, false
		}
		return []*Reply{r.Do(ctx, e, 0, req)}, false
	}
	items, tooMany, err := jsonrpc.SplitBatch(body, MaxBatch)
	switch {
	case tooMany:
		return []*Reply{r.Refuse(ctx, e, 0, nil, fault.New(fault.BatchTooLarge, ""))}, false
	case err != nil:
		return []*Reply{r.Refuse(ctx, e, 0, nil, splitFault(err))}, false
	}
	room := &room{shared: r.memory, most: batchAnswerBytes}
	if !room.admit(len(items)) {
		return []*Reply{r.Refuse(ctx, e, 0, nil, noMemory("Send it in parts of at most "+
			strconv.Itoa(freeItems)+" requests, or again in a second; nothing was charged for it."))}, false
	}
	return r.batch(ctx, e, items, room), true
}

// Unreadable returns the fault of a body that is neither a request nor a batch, or nil. It lets a
// caller refuse the body before it is paid for.
func Unreadable(body []byte) *fault.Error {
	if !jsonrpc.IsBatch(body) {
		if _, err := jsonrpc.SplitRequest(body); err != nil {
			return splitFault(err)
		}
		return nil
	}
	switch _, tooMany, err := jsonrpc.SplitBatch(body, MaxBatch); {
	case tooMany:
		return fault.New(fault.BatchTooLarge, "")
	case err != nil:
		return splitFault(err)
	}
	return nil
}

// Refuse answers a request that could not be parsed, after the meter has counted it.
func (r *Relay) Refuse(ctx context.Context, e *Envelope, index int, id []byte, own *fault.Error) *Reply {
	reply := r.newReply(e, index, id)
	reply.call.span = r.Tracer.Current(ctx)
	reply.refused(r.gate.Refuse(ctx, &reply.call.Call, own))
	return reply
}

// batch relays every item independently, a bounded number at a time. Refusals carry the item's
// index. room has admitted the items.
func (r *Relay) batch(ctx context.Context, e *Envelope, items [][]byte, room *room) []*Reply {
	r.Tracer.Current(ctx).SetInt("gateway.batch", len(items))
	replies := make([]*Reply, len(items))
	slots := make(chan struct{}, max(minConcurrency, len(items)/batchRounds))
	var all parallel.Group
	for i, item := range items {
		slots <- struct{}{}
		all.Go(func() error {
			defer func() { <-slots }()
			replies[i] = r.item(ctx, e, i, item, room)
			if f := replies[i].Fault; f != nil {
				replies[i].Fault = f.With("index", i)
			}
			return nil
		})
	}
	_ = all.Wait() // failures are in the replies
	return replies
}

// item relays one item of a batch. Do contains the panics of a call; any other becomes the item's
// internal fault here. Escaping, it would lose the answers of the items that were charged, and the
// memory that all of them hold.
func (r *Relay) item(ctx context.Context, e *Envelope, i int, item []byte, room *room) (reply *Reply) {
	ctx, span := r.Tracer.Start(ctx, "item")
	var req jsonrpc.Request
	defer func() {
		if cause := recover(); cause != nil {
			reply = r.spoiled(ctx, reply, e, i, req.ID, cause)
		}
		reply.call.endSpan = span != nil // when it is recorded
		if reply.Fault == nil {
			reply.batch = room
		} else { // it holds no answer: others may use its memory
			room.leave()
		}
	}()
	req, err := jsonrpc.SplitItem(item)
	if err != nil {
		return r.Refuse(ctx, e, i, req.ID, splitFault(err))
	}
	reply = r.Do(ctx, e, i, req)
	reply.gather(ctx, room)
	return reply
}

// spoiled returns the reply of an item that panicked outside its call, and refunds what was
// charged. reply is what there was of it, nil when the panic came first.
func (r *Relay) spoiled(ctx context.Context, reply *Reply, e *Envelope, i int, id []byte, cause any) *Reply {
	r.Logger.Error("panic", "request_id", e.RequestID, "cause", cause, "stack", string(debug.Stack()))
	if reply != nil {
		reply.release()
		reply.refused(r.gate.Refund(ctx, &reply.call.Call, fault.New(fault.InternalFault, "")))
		return reply
	}
	return &Reply{ID: id, relay: r, Fault: fault.New(fault.InternalFault, ""), call: call{
		Call: admission.Call{
			RequestID: e.RequestID, Index: i, Route: route, Subject: e.Subject,
			Metered: meter.Call{Service: service, Tier: string(e.Tier)},
		},
		envelope: e, started: e.received,
	}}
}

// Whole relays one request and gathers its answer in memory, at most limit bytes. It is for a
// transport that cannot stream.
func (r *Relay) Whole(ctx context.Context, e *Envelope, req jsonrpc.Request, limit int) *Reply {
	reply := r.Do(ctx, e, 0, req)
	reply.gather(ctx, &room{shared: r.memory, most: limit, single: true})
	return reply
}

// contain turns a panic into the reply's internal fault and refunds the charge. A panic in one item
// of a batch does not affect the others.
func (reply *Reply) contain(ctx context.Context) {
	cause := recover()
	if cause == nil {
		return
	}
	r := reply.relay
	r.Logger.Error("panic", "request_id", reply.call.RequestID, "cause", cause, "stack", string(debug.Stack()))
	reply.refused(r.gate.Refund(ctx, &reply.call.Call, fault.New(fault.InternalFault, "")))
	reply.release()
}

// take reserves n bytes of the batch's memory. If there is no room it refuses the answer, refunds
// the charge and returns false.
func (reply *Reply) take(ctx context.Context, n int) bool {
	var f *fault.Error
	switch reply.room.take(n) {
	case hasRoom:
		reply.held += n
		return true
	case batchFull:
		if reply.room.single {
			f = reply.relay.Links.On(fault.New(fault.RangeTooLarge,
				"The answer is larger than the %d bytes that this door gives. Ask for less in one call, or send the "+
					"request to POST /rpc/{chain}. Nothing was charged.", reply.room.most))
			break
		}
		f = fault.New(fault.UpstreamFailed,
			"The answer is too large for a batch. Send this request alone; nothing was charged for it.")
	case memoryFull:
		f = noMemory("Send this request alone, or again in a second; nothing was charged for it.")
	}
	reply.refused(reply.relay.gate.Refund(ctx, &reply.call.Call, f))
	reply.release()
	return false
}

const retryMemory = time.Second

// noMemory returns the fault of an answer, or a batch, for which all batches leave no memory.
func noMemory(next string) *fault.Error {
	f := fault.New(fault.UpstreamFailed,
		"The gateway holds as many answers of batches as it has memory for. %s", next)
	f.RetryAfter = retryMemory
	return f
}

// gather reads a streamed answer to its end, if the batch has room for it.
func (reply *Reply) gather(ctx context.Context, room *room) {
	defer reply.contain(ctx)
	reply.room = room
	if !reply.take(ctx, len(reply.Result)+len(reply.Error)) || reply.Rest == nil {
		return
	}
	whole := append([]byte(nil), reply.Result...)
	chunk := make([]byte, 64<<10)
	for {
		n, err := reply.Rest.Read(chunk)
		if !reply.take(ctx, n) {
			return
		}
		whole = append(whole, chunk[:n]...)
		switch {
		case errors.Is(err, io.EOF) && jsonrpc.Valid(whole):
			reply.Result, reply.Rest = whole, nil
			reply.releaseAnswer() // releases the upstream's connection
			return
		case err == nil:
		case errors.Is(ctx.Err(), context.Canceled) && !errors.Is(context.Cause(ctx), ErrStopping):
			reply.call.clientGone = true // as for a call alone: what was asked for is charged
			reply.refused(fault.New(fault.UpstreamFailed, ""))
			reply.release()
			return
		case errors.Is(err, upstream.ErrTooLarge): // nothing of it was sent
			f := fault.New(fault.RangeTooLarge, "The answer is larger than the %d bytes that this gateway passes on. "+
				"Ask for less in one call, and send several. Nothing was charged.", reply.relay.MaxAnswer)
			reply.refused(reply.relay.gate.Refund(ctx, &reply.call.Call, reply.relay.Links.On(f)))
			reply.release()
			return
		default: // it broke off, or would make the whole batch unreadable
			reply.broken(ctx, err)
			reply.refused(reply.Fault)
			reply.release()
			return
		}
	}
}

// splitFault returns the fault for a body that is no request.
func splitFault(err error) *fault.Error {
	switch {
	case errors.Is(err, jsonrpc.ErrSyntax):
		return fault.New(fault.NotJSON, "")
	case errors.Is(err, jsonrpc.ErrTooDeep):
		return fault.New(fault.NotARequest, "The request is nested deeper than %d levels. Send flatter parameters.",
			jsonrpc.MaxRequestDepth)
	}
	return fault.New(fault.NotARequest,
		"%s. It takes jsonrpc \"2.0\", a method string and, optionally, a params array.", capital(err.Error()))
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return string(s[0]-'a'+'A') + s[1:] // our own messages begin with a lower-case letter
}
