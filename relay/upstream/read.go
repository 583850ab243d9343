package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/price"
	"github.com/chainaccess/gateway/relay/upstream/internal/latency"
	"github.com/chainaccess/gateway/relay/upstream/internal/logrange"
	"github.com/chainaccess/gateway/relay/upstream/internal/rules"
	"github.com/chainaccess/gateway/relay/upstream/internal/transport"
)

// Answer is an upstream's answer, which its caller must release.
type Answer = transport.Answer

// Errors of answers, and of their streams.
var (
	ErrTooLarge   = transport.ErrTooLarge
	ErrSlowReader = transport.ErrSlowReader
)

// WithDeadline returns a copy of ctx with a deadline but without a timer: Deadline and Err report
// it, Done does not.
func WithDeadline(ctx context.Context, deadline time.Time, now func() time.Time) context.Context {
	return transport.WithDeadline(ctx, deadline, now)
}

// Request is a call with what its caller has bought.
type Request struct {
	Method []byte // a name in the catalog
	Params []byte // a JSON array; nil for none
	Supply plan.Supply
	Tier   plan.Tier
	Links  chain.Links
	// Needs is the capability that an upstream must have, as far as probes know.
	Needs chain.Capability
	// Heavy marks a call of class heavy. The latencies of heavy calls are kept apart and decide
	// their timeouts.
	Heavy bool
	// MaxAnswer is the limit of an answer in bytes.
	MaxAnswer int64
	// Head is which of the chain's heads the result is. Such a result is checked for plausibility
	// and never lower than before.
	Head HeadKind
	// Pins put the numbers of blocks in the place of tags in Params; nil for none.
	Pins *chain.Pins
	// Block is the block that the answer depends on; zero for none. Upstreams that are known to be
	// behind it are asked last.
	Block uint64
	// Told is the head that the gateway stands for; zero if it stands for nothing in this call.
	// That a block up to it does not exist is never the answer.
	Told uint64
	// Cover is a block that an upstream must have said that it has; zero for none. It is for
	// answers that lack what a node does not have, without saying so.
	Cover uint64
	// Null is what a null result means.
	Null chain.NullMeaning
	// Empty reports whether a complete result means that the upstream does not know the object.
	// Then another is asked: lagging nodes, and nodes that a transaction has not reached yet,
	// answer null. If all results are empty, the last one is the answer. Nil accepts every result.
	Empty func(result []byte) bool
	// May reports which upstreams may be asked, by name, for callers that compare several. Nil
	// allows all.
	May func(name string) bool
	// Comparable reports that all honest upstreams give the same answer, so that shadows may get a
	// copy of the read.
	Comparable bool
	// Logs is the range of an eth_getLogs call. Such a call is split when upstreams take shorter
	// ranges only, and its logs are checked to be of the range. Nil for every other call.
	Logs *chain.LogSpan
	// Memory bounds what all calls hold of answers that are gathered here; nil for no bound.
	Memory Memory

	// part is the range that an attempt asks for, if only upstreams that take it may be asked.
	part *logrange.Range
	// within is the range that the answer's logs must be of; nil for no check.
	within *logrange.Range
	// without are upstreams that failed another part of the call.
	without []string

	// Asked is set by Read and Submit, also when they fail.
	Asked Asked
}

// body renders the request under a new id.
func (r *Request) body() []byte {
	params := r.Params
	if r.Pins.Any() {
		params = r.Pins.Append(make([]byte, 0, len(params)+pinnedBytes), params)
	}
	return transport.EncodeRequest(r.Method, params)
}

const pinnedBytes = 64 // by which pinned parameters are longer

// Asked is which upstream a call used, and how many attempts it made.
type Asked struct {
	Upstream string // the upstream that answered, or that was asked last; empty for none
	Attempts int
	Cost     price.Nanos // of all attempts, to the operator
}

const (
	maxAttempts = 3
	noUpstream  = 5 * time.Second // Retry-After of the fault
	atLimit     = time.Second
)

// Read asks up to three distinct upstreams (failover) until one returns a usable answer. ctx
// carries the call's deadline. A returned fault is the gateway's own failure and is not charged.
// The caller must release the answer.
func (c *Chain) Read(ctx context.Context, r *Request) (*Answer, *fault.Error) {
	answer, f := c.readNodes(ctx, r)
	if r.Comparable && f == nil && c.special[shadow] != nil {
		c.copyToShadows(ctx, r, answer)
	}
	return answer, f
}

func (c *Chain) readNodes(ctx context.Context, r *Request) (*Answer, *fault.Error) {
	if r.Logs != nil {
		return c.readLogs(ctx, r)
	}
	s := search{r: r, list: c.eligible()}
	r.Asked = Asked{}
	var o outcome
	answer, f := c.readOnce(ctx, &s, &o)
	switch lost := isLost(ctx, f); {
	case f == nil && o.attempts > 1:
		rerouted := o.answered && (o.unusable > 0 || o.nulls > 0 && !answer.IsNull())
		c.note(o.attempts, rerouted, false)
	case lost || o.attempts > 1:
		c.note(o.attempts, false, lost)
	}
	return answer, f
}

// readOnce asks upstreams until one returns a usable answer, up to three.
func (c *Chain) readOnce(ctx context.Context, s *search, o *outcome) (*Answer, *fault.Error) {
	r := s.r
	deadline, _ := ctx.Deadline()
	ask := question{
		body: r.body(), most: r.MaxAnswer, head: r.Head, empty: r.Empty, within: r.within, null: r.nullMeans(),
		cover: r.Cover, heavy: r.Heavy, deadline: deadline,
	}
	if r.promised() && r.Cover == 0 {
		ask.shows = r.Block
	}
	for o.attempts == 0 || (o.attempts < maxAttempts && ctx.Err() == nil) {
		to, ok := c.next(s)
		if !ok {
			break
		}
		o.begin(r, to)
		if o.attempts > 1 {
			ask.body = transport.Renumber(ask.body)
		}
		var answer *Answer
		if after, may := c.hedgeAfter(s, to, o); may {
			answer = c.race(ctx, s, to, ask, after, o)
		} else {
			answer = o.take(c.attempt(ctx, to, ask, maxAttempts-o.attempts), r)
		}
		if answer != nil {
			o.answered = true
			return answer, nil
		}
		s.fresh = o.nulls+o.behind > 0
		s.strict = o.nulls > 0 && o.behind == 0 // a second opinion on a null is worth no trial
	}
	return o.conclude(ctx, c, s)
}

// question is what one read asks of every upstream. It may outlive the read in a race, so it holds
// none of the caller's memory.
type question struct {
	body     []byte // as Request.body renders it
	most     int64
	head     HeadKind
	empty    func([]byte) bool
	within   *logrange.Range // of the logs that are asked for; nil for another read
	null     chain.NullMeaning
	cover    uint64
	shows    uint64 // the block that a result proves; zero for none
	heavy    bool
	deadline time.Time // of the call; zero for none
}

// attempted is the result of one attempt.
type attempted struct {
	to      *Endpoint
	answer  *Answer // nil if unusable
	null    bool    // the result is null, and may only mean that the upstream lacks the object
	verdict verdict
	err     error
	took    time.Duration
	given   time.Duration // its time, if that ended before its share of the deadline; else zero
	cost    price.Nanos
}

// attempt asks one upstream and returns its room; a streamed answer keeps the room until it is
// released. left is the number of attempts after this one.
func (c *Chain) attempt(ctx context.Context, to choice, ask question, left int) attempted {
	ctx, span := c.tracer.Start(ctx, "upstream")
	defer span.End()
	e, started, holds := to.Endpoint, c.now(), true
	defer func() { // also after a panic
		if to.trial {
			e.health.endTrial()
		}
		if holds {
			e.limits.Release()
		}
	}()
	until, given := allow(started, ask.deadline, min(left, to.more),
		&e.health.snapshot(started).latency[classOf(ask.heavy)])
	if ask.cover > 0 {
		if v, err := c.covers(ctx, e, ask.cover, until); err != nil {
			return attempted{to: e, verdict: v, err: err}
		}
	}
	answer, v, wait, err := e.exchange(ctx, ask.body, ask.most, until)
	if answer != nil && answer.Error == nil {
		if err = c.check(e, &ask, answer); err != nil {
			answer.Release()
			answer, v = nil, verdicts[rules.Broken]
		} else if ask.empty != nil && answer.Rest == nil && ask.empty(answer.Result) {
			v = verdicts[rules.MissingData]
		}
	}
	a := attempted{to: e, answer: answer, verdict: v, err: err, took: c.now().Sub(started)}
	if charged(v, answer != nil, err) {
		a.cost = e.spend(transport.MethodOf(ask.body))
	}
	a.learn(&ask)
	o := observation{
		verdict: v, took: a.took, retryAfter: wait, heavy: ask.heavy,
		timedOut: answer == nil && errors.Is(err, context.DeadlineExceeded),
	}
	switch {
	case errors.Is(ctx.Err(), context.Canceled): // a client that goes away blames nobody
		o.slow = true
	case given > 0 && errors.Is(err, context.DeadlineExceeded):
		a.given = given // settle blames it, depending on the other upstreams
	default:
		e.observe(o)
	}
	e.mark(span, &o)
	if answer == nil || answer.Rest == nil {
		return a
	}
	// No other attempt follows.
	answer.Rest = &reportingReader{PausingReader: answer.Stream(ask.deadline, c.now), ctx: ctx, endpoint: e}
	if e.limits.Concurrency() > 0 {
		holds = false
		answer.OnRelease(e.limits.Release)
	}
	return a
}

// learn takes from an answer whether the upstream has what was asked for.
func (a *attempted) learn(ask *question) {
	switch {
	case ask.null != chain.NullAnswer && a.answer.IsNull():
		a.null, a.verdict = true, verdicts[rules.MissingData]
	case ask.shows > 0 && a.verdict.meaning == rules.Answer && a.answer.Error == nil:
		a.to.reported.Showed(ask.shows)
	}
}

// check checks a result against what was asked: a head is plausible, logs are of their range.
func (c *Chain) check(e *Endpoint, ask *question, answer *Answer) (err error) {
	if ask.head != NoHead {
		if answer.Result, err = c.checkHead(e, ask.head, answer.Result); err != nil {
			return err
		}
	}
	if ask.within != nil {
		return answer.CheckLogs(*ask.within)
	}
	return nil
}

// nullMeans returns what a null result means for this call: that a block is missing only counts for
// one that the gateway stands for.
func (r *Request) nullMeans() chain.NullMeaning {
	switch {
	case r.Null != chain.NullNoBlock || r.promised():
		return r.Null
	case r.Block > 0:
		return chain.NullAnswer
	}
	return chain.NullUnknown // the block is named by its hash
}

// promised reports whether the gateway stands for the block of the call.
func (r *Request) promised() bool { return r.Block > 0 && r.Block <= r.Told }

// recentBlocks is how far below the head every node has the state of a block. Nodes that prune keep
// 128 blocks below their own head, which may be above the one that the gateway stands for.
const recentBlocks = chain.StateDepth / 2

// recent reports whether the block of the call is so near the head that the gateway stands for that
// a node which lacks something of it is behind. Of an older block it may have pruned the state.
func (r *Request) recent() bool { return r.promised() && r.Told-r.Block < recentBlocks }

var errBehind = errors.New("the upstream does not have the block yet")

const (
	minAttemptTime = time.Second
	attemptFactor  = 4 // times the upstream's own p99
)

// allow returns the deadline of an attempt: its share of the time left, or all of it if no other
// can be asked. An upstream with a known latency gets at most a multiple of its p99, so that one
// that hangs leaves time for the others; given is then that time.
func allow(started, deadline time.Time, left int, usual *latency.Quantiles) (until time.Time, given time.Duration) {
	if left == 0 {
		return deadline, 0
	}
	usually := max(minAttemptTime, attemptFactor*usual.P99)
	if deadline.IsZero() {
		if !usual.Known {
			return deadline, 0
		}
		return started.Add(usually), usually
	}
	share := deadline.Sub(started) / time.Duration(left+1)
	if usual.Known && usually < share {
		return started.Add(usually), usually
	}
	return started.Add(share), 0
}

// reportingReader counts a streamed answer that breaks off by itself as a failure of the upstream.
type reportingReader struct {
	*transport.PausingReader

	ctx      context.Context //nolint:containedctx // of the call in flight
	endpoint *Endpoint
}

func (b *reportingReader) Read(p []byte) (int, error) {
	n, err := b.PausingReader.Read(p)
	if err == nil || errors.Is(err, io.EOF) || errors.Is(b.ctx.Err(), context.Canceled) {
		return n, err
	}
	if err = b.Explain(err); !errors.Is(err, ErrSlowReader) && !errors.Is(err, ErrTooLarge) {
		b.endpoint.observe(observation{verdict: verdicts[rules.Broken], brokeOff: true})
	}
	return n, err
}

// exchange sends a read, as Request.body renders it, and judges the answer, which is nil if
// unusable.
func (e *Endpoint) exchange(ctx context.Context, body []byte, limit int64,
	deadline time.Time,
) (*Answer, verdict, time.Duration, error) {
	method := transport.MethodOf(body)
	//nolint:bodyclose // the answer has the body
	resp, answer, err := e.answered(ctx, body, limit, deadline, e.lateIDs.Has(method))
	if errors.Is(err, transport.ErrLateID) {
		e.lateIDs.Note(method)
		body = transport.Renumber(body)
		resp, answer, err = e.answered(ctx, body, limit, deadline, true) //nolint:bodyclose // as above
	}
	if resp == nil {
		return nil, verdicts[rules.Unreachable], 0, e.safe(err)
	}
	byStatus, refused := e.refuses(resp.StatusCode)
	switch {
	case err != nil && refused:
		return nil, byStatus, retryAfter(resp.Header), statusError(e.Name, resp)
	case errors.Is(err, ErrTooLarge):
		return nil, tooLarge, 0, ErrTooLarge
	case err != nil:
		return nil, verdicts[rules.Broken], 0, e.safe(err)
	case answer.Error == nil && !refused:
		return answer, verdicts[rules.Answer], 0, nil
	}
	v, decided := e.judge(resp.StatusCode, answer.Error, body)
	if decided { // the status outranks the body
		answer.Release()
		return nil, v, retryAfter(resp.Header), statusError(e.Name, resp)
	}
	answer.Error = e.scrub.Object(answer.Error)
	switch {
	case answer.NullID && v.passOn:
		v = verdicts[rules.NullID]
	case v.meaning == rules.Unknown:
		e.unknown.Note(e.health.now(), method, answer.Error)
	}
	return answer, v, retryAfter(resp.Header), nil
}

var errRedirected = errors.New("the upstream redirects, which is not followed")

// answered sends a read and reads its answer, except the body of a redirect. The response is nil if
// there is none.
func (e *Endpoint) answered(ctx context.Context, body []byte, limit int64, deadline time.Time,
	alone bool,
) (*http.Response, *Answer, error) {
	do := e.reads.Do
	if alone {
		do = e.reads.DoAlone
	}
	resp, err := do(ctx, body, deadline) //nolint:bodyclose // readAnswer does
	if err != nil {
		return nil, nil, err
	}
	if resp.StatusCode/100 == 3 {
		_ = resp.Body.Close()
		return resp, nil, errRedirected
	}
	answer, err := transport.ReadAnswer(resp, limit, transport.IDOf(body), e.metrics)
	return resp, answer, err
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
