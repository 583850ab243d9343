package relay

import (
	"bytes"
	"context"
	"errors"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

// flightKey identifies calls that can share one upstream call: the same question, and the same
// supply and tier of their callers.
type flightKey struct {
	short      shortKey
	final      cache.Key
	generation uint64
	supply     plan.Supply
	tier       plan.Tier
	told       uint64 // the head that the gateway stands for: a null answer depends on it
}

// readResult is the outcome of a shared call. Its bytes are copies that nobody changes.
type readResult struct {
	result, inBand []byte
	failure        *fault.Error
	upstream       string
	shown          uint64 // as in lookup
	alone          bool   // the answer streams to its leader: followers make calls of their own
}

type flight = cache.Flight[flightKey, readResult]

// read asks the upstreams for a read. Identical cacheable reads in flight are deduplicated into one
// upstream call. Each is admitted, charged, refunded and bounded on its own.
func (r *Relay) read(client context.Context, c *call, ask *upstream.Request,
	l *lookup,
) (*upstream.Answer, *fault.Error) {
	if c.verify > 0 {
		return r.readVerified(client, c, ask, l)
	}
	if l.rule == chain.Never || c.envelope.AtHead {
		return c.on.Read(r.bounded(client, c), ask)
	}
	key := flightKey{
		short: l.short, final: l.final, generation: l.generation, supply: ask.Supply, tier: ask.Tier,
		told: c.heads.Latest,
	}
	for again := true; ; again = false {
		f, leads := r.flights.Join(key)
		if leads {
			return r.lead(client, f, c, ask, l)
		}
		landed := r.follow(client, f, c, ask)
		ranOut := landed.failure != nil && landed.failure.Reason == fault.UpstreamTimeout
		switch {
		case landed.alone:
			return c.on.Read(r.bounded(client, c), ask)
		case ranOut && again && r.Now().Before(c.started.Add(r.Timeout)):
			// The leader's deadline passed; this call has time left to retry once.
		case landed.failure != nil:
			return nil, landed.failure
		default:
			l.shown = landed.shown
			return &upstream.Answer{Result: landed.result, Error: landed.inBand}, nil
		}
	}
}

func (r *Relay) bounded(ctx context.Context, c *call) context.Context {
	return upstream.WithDeadline(ctx, c.started.Add(r.Timeout), r.Now)
}

// lead makes the shared call. It continues for the followers when its own client leaves.
func (r *Relay) lead(client context.Context, f *flight, c *call, ask *upstream.Request,
	l *lookup,
) (answer *upstream.Answer, failure *fault.Error) {
	ctx, end := f.Start(client)
	landed := readResult{failure: fault.New(fault.InternalFault, "")} // the result if Read panics
	defer func() {
		f.Finish(func() readResult { return landed.copied(answer) })
		if !landed.alone {
			end()
		}
	}()
	answer, failure = c.on.Read(r.bounded(ctx, c), ask)
	landed = readResult{failure: failure, upstream: ask.Asked.Upstream}
	if answer != nil && answer.Rest != nil {
		landed.alone, c.endFlight = true, end
		return answer, failure
	}
	if answer != nil && answer.Error == nil {
		landed.result = r.answers.put(c.envelope.Chain, c.method, l, answer.Result)
		landed.shown = l.shown
	}
	c.clientGone = failure == nil && clientLeft(client)
	return answer, failure
}

// copied adds copies of the bytes, which outlive the leader's answer.
func (l readResult) copied(answer *upstream.Answer) readResult {
	if answer != nil && !l.alone {
		l.inBand = bytes.Clone(answer.Error)
		if l.result == nil {
			l.result = bytes.Clone(answer.Result)
		}
	}
	return l
}

// follow waits for another caller's call, up to this call's own deadline.
func (r *Relay) follow(client context.Context, f *flight, c *call, ask *upstream.Request) readResult {
	landed, ok := f.Wait(client, c.started.Add(r.Timeout).Sub(r.Now()))
	switch {
	case ok:
	case client.Err() != nil:
		landed.failure = fault.New(fault.UpstreamFailed, "").Wrap(client.Err())
	default:
		landed.failure = fault.New(fault.UpstreamTimeout, "").Wrap(context.DeadlineExceeded)
	}
	ask.Asked = upstream.Asked{Upstream: landed.upstream}
	if landed.result != nil && ask.Head != upstream.NoHead {
		landed.result = c.envelope.Chain.HeadResult(ask.Head, landed.result)
	}
	return landed
}

// clientLeft reports whether the client of a call left, and not because this process stops.
func clientLeft(client context.Context) bool {
	return errors.Is(client.Err(), context.Canceled) && !errors.Is(context.Cause(client), ErrStopping)
}
