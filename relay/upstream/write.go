package upstream

import (
	"context"
	"errors"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/chainaccess/gateway/internal/fault"
)

var errUnusable = errors.New("the answer to a submission is not usable")

// Submit posts a signed transaction to exactly one endpoint, once (docs/interface.md, 1.8.5, rule
// 9). There is no failover, because a second endpoint could send the transaction twice. It tries
// another one only if no connection could be made, which proves that nothing was sent. Once the
// request may have been sent, anything but a usable answer is fault.OutcomeUnknown. Submit
// continues when the client goes away, because a sent transaction cannot be recalled.
func (c *Chain) Submit(ctx context.Context, r *Request) (*Answer, *fault.Error) {
	r.Asked = Asked{}
	answer, f := c.submit(ctx, r)
	if lost := isLost(context.WithoutCancel(ctx), f); lost || r.Asked.Attempts > 1 {
		c.traffic.note(c.now(), r.Asked.Attempts, false, lost)
	}
	return answer, f
}

func (c *Chain) submit(ctx context.Context, r *Request) (*Answer, *fault.Error) {
	deadline, ok := ctx.Deadline()
	ctx = context.WithoutCancel(ctx)
	if ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	body := r.body()
	s := search{r: r, list: c.eligible(), write: true}
	attempts := 0
	var cause error
	for attempts < maxAttempts {
		to, ok := c.next(&s)
		if !ok {
			break
		}
		attempts++
		r.Asked = Asked{Upstream: to.Name, Attempts: attempts}
		if attempts > 1 {
			body = renumbered(body)
		}
		answer, left, err := c.submitTo(ctx, to, body)
		if err == nil {
			answer.Error = to.scrub.object(answer.Error)
			return answer, nil
		}
		cause = err
		if left {
			return nil, fault.New(fault.OutcomeUnknown, "").Wrap(err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	switch {
	case attempts == 0:
		return nil, c.nobody(&s)
	case ctx.Err() != nil:
		return nil, fault.New(fault.UpstreamTimeout,
			"No connection to an upstream could be made in time, so the transaction was not sent. "+
				"Nothing was charged; send it again.").Wrap(cause)
	}
	return nil, fault.New(fault.UpstreamFailed, "No upstream could be reached, so the transaction was not sent. "+
		"Nothing was charged; send it again.").Wrap(cause)
}

// submitTo makes one attempt, observes it, and returns its room, even after a panic.
func (c *Chain) submitTo(ctx context.Context, to choice, body []byte) (answer *Answer, left bool, err error) {
	defer to.limits.give()
	started := c.now()
	ctx, span := c.tracer.Start(ctx, "upstream")
	defer span.End()
	answer, left, err = to.submit(ctx, body)
	seen := observation{
		took: c.now().Sub(started), write: true, lost: left && err != nil,
		timedOut: errors.Is(err, context.DeadlineExceeded),
	}
	if err == nil {
		seen.verdict = to.verdictOn(answer, body)
	} else {
		seen.verdict = verdictOnError(err)
	}
	to.observe(seen)
	to.mark(span, &seen)
	return answer, left, err
}

// submit sends once. left is whether the request may have left this machine.
func (e *Endpoint) submit(ctx context.Context, body []byte) (answer *Answer, left bool, err error) {
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	resp, err := e.post(httptrace.WithClientTrace(ctx, trace), e.writes, body)
	if err != nil {
		return nil, connected.Load(), err
	}
	if _, rank := classifyStatus(resp.StatusCode); rank != rankNothing {
		_ = resp.Body.Close()
		return nil, true, statusError(e.Name, resp)
	}
	answer, err = e.readAnswer(resp, peekBytes, idOf(body))
	if err != nil {
		return nil, true, e.safe(err)
	}
	if answer.Rest != nil || answer.nullID {
		answer.Release()
		return nil, true, errUnusable
	}
	return answer, true, nil
}

// verdictOn judges an upstream by an answer that is passed to the client unchanged.
func (e *Endpoint) verdictOn(answer *Answer, body []byte) verdict {
	if answer.Error == nil {
		return verdicts[isAnswer]
	}
	v, _ := classifyError(e.family, answer.Error, body)
	return v
}

// verdictOnError judges an upstream that returned no usable answer.
func verdictOnError(err error) verdict {
	if refused, ok := errors.AsType[*httpStatusError](err); ok {
		v, _ := classifyStatus(refused.status)
		return v
	}
	return verdicts[isUnreachable]
}
