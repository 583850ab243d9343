package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"net/http"
	"time"

	"github.com/chainaccess/gateway/chain"
	"github.com/chainaccess/gateway/fault"
	"github.com/chainaccess/gateway/plan"
	"github.com/chainaccess/gateway/upstream/internal/plainhttp"
)

// Request is what to ask, with what the caller has bought.
type Request struct {
	Method []byte // a name of the catalog
	Params []byte // a JSON array; nil for none
	Supply plan.Supply
	Tier   plan.Tier
	Links  chain.Links
	// Needs is what an upstream must be capable of, as far as probes know.
	Needs chain.Capability
	// MaxAnswer bounds the size of an answer in bytes.
	MaxAnswer int64
	// Head says which of the chain's heads the result is: it is held against what is plausible, and never answered lower than
	// before.
	Head HeadKind

	// Asked is set by Read and Submit, also when they fail.
	Asked Asked
}

// Asked is what became of a call among the upstreams.
type Asked struct {
	Upstream string // the name of the one that answered, or that was asked last; empty when none was
	Attempts int
}

const (
	requestID   = "1" // ours on the way to an upstream; the client's never leaves the gateway
	maxAttempts = 3
	noUpstream  = 5 * time.Second // when to come back
)

func (r *Request) body() []byte {
	params := r.Params
	if params == nil {
		params = []byte("[]")
	}
	b := make([]byte, 0, len(r.Method)+len(params)+64)
	b = append(b, `{"jsonrpc":"2.0","id":`+requestID+`,"method":"`...)
	b = append(b, r.Method...)
	b = append(b, `","params":`...)
	b = append(b, params...)
	return append(b, '}')
}

// outcome gathers what the attempts of one read said.
type outcome struct {
	attempts     int
	timeouts     int
	absent       int
	rangeRefused bool
	lastWords    *Answer // an in-band error that may be passed on when no upstream does better
	lastCause    error
	lastUpstream string
}

// Read asks up to three distinct upstreams until one gives a usable answer. ctx carries the call's deadline. A returned fault is
// the service's own failure and costs nothing; the caller releases the answer.
func (c *Chain) Read(ctx context.Context, r *Request) (*Answer, *fault.Error) {
	body := r.body()
	var o outcome
	var tried uint64
	for o.attempts < maxAttempts {
		i, ok := c.choose(r, tried)
		if !ok {
			break
		}
		tried |= 1 << i
		o.attempts++
		left := min(maxAttempts-o.attempts, len(c.endpoints)-bits.OnesCount64(tried))
		e := c.endpoints[i]
		r.Asked = Asked{Upstream: e.Name, Attempts: o.attempts}
		answer, v := c.attempt(ctx, e, body, r, left, &o)
		if answer != nil && !v.another {
			o.discardLastWords()
			return answer, nil
		}
		if v.meaning == isAbsent {
			e.lacking.note(r.Method)
		}
		o.keep(answer, v, e.Name)
		if ctx.Err() != nil {
			break
		}
	}
	return o.conclude(ctx, c, r)
}

// attempt asks one upstream. left is how many more could be asked: the deadline is shared among them.
func (c *Chain) attempt(ctx context.Context, e *Endpoint, body []byte, r *Request, left int, o *outcome) (*Answer, verdict) {
	started := c.now()
	deadline, bounded := ctx.Deadline()
	share := deadline
	if bounded && left > 0 {
		share = started.Add(deadline.Sub(started) / time.Duration(left+1))
	}
	answer, v, wait, err := e.exchange(ctx, body, r.MaxAnswer, share)
	if r.Head != NoHead && answer != nil && answer.Error == nil {
		if answer.Result, err = c.checkHead(r.Head, answer.Result); err != nil {
			answer.Release()
			answer, v = nil, verdicts[isBroken]
		}
	}
	if !errors.Is(ctx.Err(), context.Canceled) { // a client that goes away blames nobody
		e.observe(observation{verdict: v, took: c.now().Sub(started), retryAfter: wait})
	}
	if answer == nil {
		o.lastCause = err
		if errors.Is(err, context.DeadlineExceeded) {
			o.timeouts++
		}
		return nil, v
	}
	if answer.Rest != nil {
		if body, ok := answer.body.(plainhttp.Extender); ok {
			body.Extend(deadline) // it is the last attempt now
		}
		answer.Rest = &blaming{Reader: answer.Rest, ctx: ctx, endpoint: e}
	}
	return answer, v
}

// blaming holds an upstream to what it began: an answer that breaks off by itself counts as a failure.
type blaming struct {
	io.Reader
	ctx      context.Context //nolint:containedctx // of the call that is being answered
	endpoint *Endpoint
}

func (b *blaming) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && b.ctx.Err() == nil {
		b.endpoint.observe(observation{verdict: verdicts[isBroken], brokeOff: true})
	}
	return n, err
}

// exchange sends a read and judges the answer, which is nil when it is not usable at all.
func (e *Endpoint) exchange(ctx context.Context, body []byte, most int64, deadline time.Time) (*Answer, verdict, time.Duration, error) {
	resp, err := e.reads.Do(ctx, body, deadline)
	if err != nil {
		return nil, verdicts[isUnreachable], 0, e.safe(err)
	}
	byStatus, statusRank := classifyStatus(resp.StatusCode)
	if statusRank == rankDenied {
		_ = resp.Body.Close()
		return nil, byStatus, 0, statusError(e.Name, resp)
	}
	answer, err := readAnswer(resp, most)
	switch {
	case err != nil && statusRank == rankNothing:
		return nil, verdicts[isBroken], 0, e.safe(err)
	case err != nil:
		return nil, byStatus, retryAfter(resp.Header), statusError(e.Name, resp)
	case answer.Error == nil && statusRank == rankNothing:
		return answer, verdicts[isAnswer], 0, nil
	}
	v, wordsRank := byStatus, rankNothing
	if answer.Error != nil {
		v, wordsRank = classifyError(e.family, answer.Error)
	}
	if statusRank < wordsRank { // the body does not say better than the status
		answer.Release()
		return nil, byStatus, retryAfter(resp.Header), statusError(e.Name, resp)
	}
	answer.Error = e.scrub.object(answer.Error)
	return answer, v, retryAfter(resp.Header), nil
}

func (o *outcome) keep(answer *Answer, v verdict, name string) {
	if v.meaning == isRange {
		o.rangeRefused = true
	}
	if v.meaning == isAbsent {
		o.absent++
	}
	if answer == nil {
		return
	}
	if !v.passOn {
		answer.Release()
		return
	}
	o.discardLastWords()
	o.lastWords, o.lastUpstream = answer, name
}

func (o *outcome) discardLastWords() {
	if o.lastWords != nil {
		o.lastWords.Release()
		o.lastWords = nil
	}
}

// conclude is the answer when no upstream gave a usable one.
func (o *outcome) conclude(ctx context.Context, c *Chain, r *Request) (*Answer, *fault.Error) {
	if o.lastWords != nil {
		r.Asked.Upstream = o.lastUpstream
		return o.lastWords, nil
	}
	switch {
	case o.attempts == 0:
		f := fault.New(fault.NoUpstream, "")
		f.RetryAfter = noUpstream
		return nil, f
	case o.rangeRefused:
		return nil, r.Links.On(fault.New(fault.RangeTooLarge, "%s", rangeMessage(r.Method)))
	case o.absent == o.attempts:
		return nil, r.Links.On(fault.New(fault.MethodNotServed, "No upstream of %s serves %s right now. Nothing was charged; "+
			"ask at data.contact when you need it.", c.ID, r.Method))
	case errors.Is(ctx.Err(), context.DeadlineExceeded) || o.timeouts == o.attempts:
		return nil, fault.New(fault.UpstreamTimeout, "").Wrap(o.lastCause)
	}
	return nil, fault.New(fault.UpstreamFailed, "").Wrap(o.lastCause)
}

func rangeMessage(method []byte) string {
	if string(method) == "eth_getLogs" {
		return "No upstream serves a block range this wide for this filter. Split it into smaller ranges and send one call for each. " +
			"Nothing was charged."
	}
	return "No upstream gives an answer this large. Ask for less in one call, and send several. Nothing was charged."
}

type httpStatusError struct {
	upstream string
	status   int
}

func (e *httpStatusError) Error() string {
	return fmt.Sprintf("upstream %s: HTTP %d %s", e.upstream, e.status, http.StatusText(e.status))
}

func statusError(name string, resp *http.Response) error {
	return &httpStatusError{upstream: name, status: resp.StatusCode}
}
