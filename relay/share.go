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

// flightKey is what calls must have in common to share one: what they ask, and what their callers
// have bought of the upstreams.
type flightKey struct {
	short      shortKey
	final      cache.Key
	generation uint64
	supply     plan.Supply
	tier       plan.Tier
}

// readResult is what a shared call gave. Its bytes are copies that nobody changes.
type readResult struct {
	result, inBand []byte
	failure        *fault.Error
	upstream       string
	alone          bool // the answer streams to its leader: everybody asks alone
}

type flight = cache.Flight[flightKey, readResult]

// read asks the upstreams for a read, or waits for the same read when it is under way: identical
// reads whose answer may be served again share one call. Each is admitted, charged, refunded and
// bounded on its own.
func (r *Relay) read(client context.Context, c *call, ask *upstream.Request,
	l *lookup,
) (*upstream.Answer, *fault.Error) {
	if l.rule == chain.Never {
		return c.envelope.Chain.Read(r.bounded(client, c), ask)
	}
	key := flightKey{short: l.short, final: l.final, generation: l.generation, supply: ask.Supply, tier: ask.Tier}
	for again := true; ; again = false {
		f, leads := r.flights.Join(key)
		if leads {
			return r.lead(client, f, c, ask, l)
		}
		landed := r.follow(client, f, c, ask)
		ranOut := landed.failure != nil && landed.failure.Reason == fault.UpstreamTimeout
		switch {
		case landed.alone:
			return c.envelope.Chain.Read(r.bounded(client, c), ask)
		case ranOut && again && r.Now().Before(c.started.Add(r.Timeout)):
			// The time that ran out was the leader's.
		case landed.failure != nil:
			return nil, landed.failure
		default:
			return &upstream.Answer{Result: landed.result, Error: landed.inBand}, nil
		}
	}
}

func (r *Relay) bounded(ctx context.Context, c *call) context.Context {
	return upstream.WithDeadline(ctx, c.started.Add(r.Timeout), r.Now)
}

// lead makes the call that others wait for. It goes on for them when its own client leaves.
func (r *Relay) lead(client context.Context, f *flight, c *call, ask *upstream.Request,
	l *lookup,
) (answer *upstream.Answer, failure *fault.Error) {
	ctx, end := f.Start(client)
	landed := readResult{failure: fault.New(fault.InternalFault, "")} // of a panic
	defer func() {
		f.Finish(func() readResult { return landed.copied(answer) })
		if !landed.alone {
			end()
		}
	}()
	answer, failure = c.envelope.Chain.Read(r.bounded(ctx, c), ask)
	landed = readResult{failure: failure, upstream: ask.Asked.Upstream}
	if answer != nil && answer.Rest != nil {
		landed.alone, c.endFlight = true, end
		return answer, failure
	}
	if answer != nil && answer.Error == nil {
		landed.result = r.answers.put(c.envelope.Chain, c.method, l, answer.Result)
	}
	c.clientGone = failure == nil && clientLeft(client)
	return answer, failure
}

// copied completes a landing with bytes that outlive the leader's answer.
func (l readResult) copied(answer *upstream.Answer) readResult {
	if answer != nil && !l.alone {
		l.inBand = bytes.Clone(answer.Error)
		if l.result == nil {
			l.result = bytes.Clone(answer.Result)
		}
	}
	return l
}

// follow waits for a call that another makes, as long as this one may take.
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

// clientLeft reports whether a call's client went away, and not because this process stops.
func clientLeft(client context.Context) bool {
	return errors.Is(client.Err(), context.Canceled) && !errors.Is(context.Cause(client), ErrStopping)
}
