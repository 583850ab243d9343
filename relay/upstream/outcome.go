package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/logrange"
	"github.com/chainaccess/gateway/relay/upstream/internal/rules"
	"github.com/chainaccess/gateway/relay/upstream/internal/transport"
)

// blame is what an answer counts as in the upstream's health.
type blame uint8

const (
	blameNobody blame = iota
	blameThrottle
	blameFailure
)

// verdict answers three questions: whether to try another upstream, whether to blame this one, and
// (passOn) whether the client may see its error if no other upstream does better.
type verdict struct {
	meaning rules.Meaning
	another bool
	blame   blame
	passOn  bool
}

var verdicts = [...]verdict{
	rules.Answer:      {rules.Answer, false, blameNobody, true},
	rules.Range:       {rules.Range, true, blameNobody, false},
	rules.Plan:        {rules.Plan, true, blameNobody, false},
	rules.Billing:     {rules.Billing, true, blameFailure, false},
	rules.Throttled:   {rules.Throttled, true, blameThrottle, false},
	rules.MissingData: {rules.MissingData, true, blameNobody, true},
	rules.ExecTimeout: {rules.ExecTimeout, true, blameNobody, true},
	rules.Absent:      {rules.Absent, true, blameNobody, false},
	rules.Unsupported: {rules.Unsupported, true, blameNobody, true},
	rules.Denied:      {rules.Denied, true, blameFailure, false},
	rules.NodeFailure: {rules.NodeFailure, true, blameNobody, false},
	rules.Unknown:     {rules.Unknown, true, blameNobody, true},
	rules.NullID:      {rules.NullID, true, blameNobody, false},
	rules.Broken:      {rules.Broken, true, blameFailure, false},
	rules.Unreachable: {rules.Unreachable, true, blameFailure, false},
}

// tooLarge is the verdict on an answer that announces a length above our own limit, of which
// nothing was read. Another upstream is asked, because the length may be wrong.
var tooLarge = verdicts[rules.Range]

// judge returns the verdict on an answer that is no result. object is the error of its body, if
// that has one. byStatus is set when the HTTP status decided.
func (e *Endpoint) judge(status int, object, asked []byte) (v verdict, byStatus bool) {
	found := e.errors.Load().Judge(&rules.Error{
		Family: e.family, Status: status, Method: transport.MethodOf(asked), Asked: asked, Object: object,
	})
	return verdicts[found.Meaning], found.ByStatus
}

// refuses reports whether an HTTP status alone makes an answer no result.
func (e *Endpoint) refuses(status int) (verdict, bool) {
	meaning, refused := e.errors.Load().Refuses(e.family, status)
	return verdicts[meaning], refused
}

// outcome collects the results of one read's attempts.
type outcome struct {
	attempts     int
	answered     bool // by an upstream, and not only with last words
	unusable     int  // attempts without an answer for the client
	timeouts     int
	absent       int
	throttled    int
	rangeRefused bool
	limitLearned bool    // an upstream that refused a range will now get shorter ones
	manyLogs     bool    // an upstream refused a range for its logs
	tooLarge     bool    // an answer exceeded our own limit
	lastWords    *Answer // an in-band error to pass on if no upstream does better
	lastCause    error
	lastUpstream string
	codes        [maxAttempts]int // of errors that no rule knows
	unknown      int
	nulls        int // results that are null
	behind       int // attempts at upstreams that lack a block that the gateway stands for
	heavy        bool
	slow         [maxAttempts]attempted // attempts that were given up before their share of the deadline was over
	slowOnes     int
}

// begin counts an attempt.
func (o *outcome) begin(r *Request, to choice) {
	o.attempts++
	o.heavy = r.Heavy
	r.Asked.Upstream, r.Asked.Attempts = to.Name, o.attempts
}

// take returns the attempt's answer if it is one for the client, and otherwise remembers what went
// wrong.
func (o *outcome) take(a attempted, r *Request) *Answer {
	r.Asked.Cost += a.cost
	if a.answer != nil && (!a.verdict.another || o.agreed(&a) || o.believed(&a, r)) {
		o.discardLastWords()
		o.settle(&a)
		r.Asked.Upstream = a.to.Name
		return a.answer
	}
	if !a.null || r.nullMeans() == chain.NullNoBlock {
		o.unusable++
	}
	if a.answer == nil {
		o.lastCause = a.err
		o.tooLarge = o.tooLarge || errors.Is(a.err, ErrTooLarge)
		if errors.Is(a.err, context.DeadlineExceeded) {
			o.timeouts++
		}
	}
	if a.given > 0 {
		o.slow[o.slowOnes] = a
		o.slowOnes++
	}
	if a.verdict.meaning == rules.Absent {
		o.absent++
		a.to.lacking.note(r.Method)
	}
	if a.verdict.meaning == rules.Throttled {
		o.throttled++
	}
	if a.verdict.meaning == rules.Range {
		o.rangeRefused = true
		o.readRefusal(&a, r)
	}
	if o.lacks(&a, r) {
		a.to.reported.Lacked(r.Block)
		o.behind++
		if a.answer != nil {
			a.answer.Release()
		}
		return nil
	}
	o.keep(a)
	return nil
}

// readRefusal takes from a refused range of logs what to do next.
func (o *outcome) readRefusal(a *attempted, r *Request) {
	if r.part == nil || a.answer == nil {
		return
	}
	said := logrange.ReadRefusal(a.answer.Error, r.part.Blocks())
	switch said.Kind {
	case logrange.Blocks:
		now := a.to.health.now()
		if a.to.logLimit.refused(now, said) || a.to.logLimit.blocks(now) < r.part.Blocks() {
			o.limitLearned = true
		} else {
			o.manyLogs = true // too small for a guess: only this call is split
		}
	case logrange.Results:
		o.manyLogs = true
	case logrange.Other:
	}
}

// believed reports whether a null result is the second one. A hash that two upstreams do not know
// does not exist yet.
func (o *outcome) believed(a *attempted, r *Request) bool {
	if a.null {
		o.nulls++
	}
	return a.null && o.nulls > 1 && r.nullMeans() == chain.NullUnknown
}

// lacks reports whether an attempt failed because the upstream does not have a block that the
// gateway stands for, which is no answer.
func (o *outcome) lacks(a *attempted, r *Request) bool {
	switch {
	case a.verdict.meaning != rules.MissingData:
		return false
	case a.null:
		return r.nullMeans() == chain.NullNoBlock
	case errors.Is(a.err, errBehind):
		return true
	}
	return r.recent()
}

// agreed reports whether an attempt ended with an error that no rule knows, and another upstream
// returned one of the same code. Such an error is the node's own answer.
func (o *outcome) agreed(a *attempted) bool {
	if a.verdict.meaning != rules.Unknown {
		return false
	}
	code := rules.Code(a.answer.Error)
	known := slices.Contains(o.codes[:o.unknown], code)
	o.codes[o.unknown] = code
	o.unknown++
	return known
}

// settle assigns the blame for attempts that were given up early: to the upstream if another
// answered in less time than it had, to nobody if the call takes long everywhere. won is nil if
// nobody answered.
func (o *outcome) settle(won *attempted) {
	for _, a := range o.slow[:o.slowOnes] {
		if won != nil && won.took < a.given {
			a.to.observe(observation{
				verdict: verdicts[rules.Unreachable], took: a.took, heavy: o.heavy, timedOut: true,
			})
		} else {
			a.to.observe(observation{verdict: verdicts[rules.Unreachable], took: a.took, heavy: o.heavy, slow: true})
		}
	}
	o.slowOnes = 0
}

func (o *outcome) keep(a attempted) {
	switch {
	case a.answer == nil:
	case a.verdict.passOn && (o.lastWords == nil || a.verdict.meaning != rules.Unknown):
		o.discardLastWords()
		o.lastWords, o.lastUpstream = a.answer, a.to.Name
	default:
		a.answer.Release()
	}
}

func (o *outcome) discardLastWords() {
	if o.lastWords != nil {
		o.lastWords.Release()
		o.lastWords = nil
	}
}

// conclude returns the answer when no upstream gave a usable one. A range refusal comes before
// missing data or an execution timeout, because it tells the client what to change.
func (o *outcome) conclude(ctx context.Context, c *Chain, s *search) (*Answer, *fault.Error) {
	o.settle(nil)
	r := s.r
	if o.tooLarge {
		o.discardLastWords()
		return nil, r.Links.On(fault.New(fault.RangeTooLarge,
			"The answer is larger than the %d bytes that this gateway passes on. "+
				"Ask for less in one call, and send several. Nothing was charged.", r.MaxAnswer))
	}
	if o.rangeRefused {
		o.discardLastWords()
		return nil, r.Links.On(fault.New(fault.RangeTooLarge, "%s", rangeMessage(r.Method)))
	}
	if o.lastWords != nil && o.unknown < 2 {
		r.Asked.Upstream, o.lastWords.LastWords = o.lastUpstream, true
		return o.lastWords, nil
	}
	if o.lastWords != nil {
		defer o.discardLastWords()
		return nil, fault.New(fault.UpstreamFailed,
			"Upstreams of %s refused this call for different reasons, none of which is known to be the node's own. "+
				"Nothing was charged; look at data.upstream_error, then retry.", c.ID).
			With("upstream_error", json.RawMessage(bytes.Clone(o.lastWords.Error)))
	}
	switch {
	case o.attempts == 0:
		return nil, c.nobody(s)
	case o.behind > 0 && ctx.Err() == nil:
		return nil, c.nobodyHas(r)
	case s.full != 0 && ctx.Err() == nil:
		return nil, c.nobody(s).Wrap(o.lastCause)
	case o.absent == o.attempts:
		return nil, r.Links.On(fault.New(fault.MethodNotServed,
			"No upstream of %s serves %s right now. Nothing was charged; "+
				"ask at data.contact when you need it.", c.ID, r.Method))
	case errors.Is(ctx.Err(), context.DeadlineExceeded) || o.timeouts == o.attempts:
		return nil, fault.New(fault.UpstreamTimeout, "").Wrap(o.lastCause)
	}
	return nil, fault.New(fault.UpstreamFailed, "").Wrap(o.lastCause)
}

// nobody returns the fault for no upstream to ask, or none with room.
func (c *Chain) nobody(s *search) *fault.Error {
	if s.full == 0 {
		f := fault.New(fault.NoUpstream, "")
		f.RetryAfter = noUpstream
		return f
	}
	f := fault.New(fault.NoUpstream,
		"Every upstream of %s that could serve this call is at its limit right now. Nothing was charged; "+
			"retry in a second.", c.ID)
	f.RetryAfter = atLimit
	return f
}

// nobodyHas returns the fault for a block that the gateway stands for and no upstream has now. It
// takes the place of a null, or of a node's error.
func (c *Chain) nobodyHas(r *Request) *fault.Error {
	f := fault.New(fault.UpstreamFailed,
		"No upstream of %s that could be asked has block %d now, although the head is %d. Nothing was charged; "+
			"retry in a second.", c.ID, max(r.Block, r.Cover), max(r.Told, r.Cover))
	f.RetryAfter = atLimit
	return f
}

func rangeMessage(method []byte) string {
	if string(method) == "eth_getLogs" {
		return "No upstream serves a block range this wide for this filter. Split it into smaller ranges and send " +
			"one call for each. Nothing was charged."
	}
	return "No upstream gives an answer this large. Ask for less in one call, and send several. Nothing was charged."
}
