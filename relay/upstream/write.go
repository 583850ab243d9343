package upstream

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/upstream/internal/rules"
	"github.com/chainaccess/gateway/relay/upstream/internal/transport"
)

var (
	errUnusable = errors.New("the answer to a submission is not usable")
	errDeclined = errors.New("the provider refused the submission by itself")
)

// Submit posts a signed transaction to exactly one endpoint, once (docs/interface.md, 1.8.5, rule
// 9). There is no failover, because a second endpoint could send the transaction twice. It tries
// another one only if no connection could be made, which proves that nothing was sent. Once the
// request may have been sent, anything but the node's answer is fault.OutcomeUnknown, or
// fault.UpstreamFailed when the provider itself refused the call. Submit
// continues when the client goes away, because a sent transaction cannot be recalled.
func (c *Chain) Submit(ctx context.Context, r *Request) (*Answer, *fault.Error) {
	r.Asked = Asked{}
	answer, f := c.submit(ctx, r)
	if lost := isLost(context.WithoutCancel(ctx), f); lost || r.Asked.Attempts > 1 {
		c.note(r.Asked.Attempts, false, lost)
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
		r.Asked.Upstream, r.Asked.Attempts = to.Name, attempts
		if attempts > 1 {
			body = transport.Renumber(body)
		}
		answer, fate, err := c.submitTo(ctx, to, body)
		cause = err
		if fate == taken || fate == lost {
			r.Asked.Cost += to.spend(r.Method)
		}
		switch fate {
		case taken:
			answer.Error = to.scrub.Object(answer.Error)
			return answer, nil
		case declined:
			return nil, fault.New(fault.UpstreamFailed,
				"The upstream refused the call before it looked at the transaction, so the transaction was not sent. "+
					"Nothing was charged; send the same signed bytes again.").Wrap(err)
		case lost:
			return nil, fault.New(fault.OutcomeUnknown, "").Wrap(err)
		case unsent:
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

// fate is what became of a submission at one upstream.
type fate uint8

const (
	unsent   fate = iota // no connection was made
	declined             // the provider refused the call by itself: key, plan, rate or method
	taken                // the node answered
	lost                 // it was sent, and nothing usable came back
)

// submitTo makes one attempt, observes it, and returns its room, even after a panic. The error says
// why there is no answer for the client.
func (c *Chain) submitTo(ctx context.Context, to choice, body []byte) (*Answer, fate, error) {
	defer to.limits.Release()
	started := c.now()
	ctx, span := c.tracer.Start(ctx, "upstream")
	defer span.End()
	answer, left, err := to.submit(ctx, body)
	v := to.verdictOn(answer, err, body)
	became := fateOf(v.meaning, left, err)
	if became != taken && answer != nil {
		err = errDeclined
		if became == lost {
			err = errUnusable
		}
		answer.Release()
		answer = nil
	}
	if v.meaning == rules.Absent {
		to.lacking.note(transport.MethodOf(body))
	}
	seen := observation{
		verdict: v, took: c.now().Sub(started), write: true, lost: became == lost,
		timedOut: errors.Is(err, context.DeadlineExceeded),
	}
	to.observe(seen)
	to.mark(span, &seen)
	return answer, became, err
}

// fateOf reads the verdict on a submission. A provider that refuses the key, the plan, the rate or
// the method has passed nothing on. Of a node that failed by itself, it is not known what it did
// before.
func fateOf(m rules.Meaning, left bool, err error) fate {
	switch {
	case !left:
		return unsent
	case m == rules.Throttled || m == rules.Billing || m == rules.Plan || m == rules.Denied || m == rules.Absent ||
		m == rules.Unsupported:
		return declined
	case err != nil || m == rules.NodeFailure || m == rules.Broken:
		return lost
	}
	return taken
}

// submit sends once. left is whether the request may have left this machine.
func (e *Endpoint) submit(ctx context.Context, body []byte) (answer *Answer, left bool, err error) {
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	resp, err := e.post(httptrace.WithClientTrace(ctx, trace), e.writes, body)
	if err != nil {
		return nil, connected.Load(), err
	}
	if _, refused := e.refuses(resp.StatusCode); refused {
		_ = resp.Body.Close()
		return nil, true, statusError(e.Name, resp)
	}
	answer, err = transport.ReadAnswer(resp, transport.PeekBytes, transport.IDOf(body), e.metrics)
	if err != nil {
		return nil, true, e.safe(err)
	}
	if answer.Rest != nil || answer.NullID {
		answer.Release()
		return nil, true, errUnusable
	}
	return answer, true, nil
}

// verdictOn judges an upstream by its answer to a submission, or by the lack of one.
func (e *Endpoint) verdictOn(answer *Answer, err error, body []byte) verdict {
	if refused, ok := errors.AsType[*httpStatusError](err); ok {
		v, _ := e.refuses(refused.status)
		return v
	}
	switch {
	case err != nil:
		return verdicts[rules.Unreachable]
	case answer.Error == nil:
		return verdicts[rules.Answer]
	}
	v, _ := e.judge(http.StatusOK, answer.Error, body)
	return v
}
