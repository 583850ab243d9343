package upstream

import (
	"context"
	"errors"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/price"
	"github.com/chainaccess/gateway/relay/upstream/internal/logrange"
)

// Memory is a bound that several calls share.
type Memory interface {
	// Take reserves bytes. After true the caller must call Give.
	Take(bytes int) bool
	Give(bytes int)
}

// Bounds of one split call.
const (
	maxLogRequests = 1024 // of one call, repeated ones included
	logsAtOnce     = 8    // requests of one call in flight
	// maxSplitBytes bounds the parts of one call, which stay in memory until its client has read
	// them.
	maxSplitBytes = 64 << 20
	// Pauses while an upstream is at its limit, growing, and after it throttled a part.
	roomPause     = 5 * time.Millisecond
	maxRoomPause  = 100 * time.Millisecond
	throttlePause = 500 * time.Millisecond
	maxThrottled  = 3 // of a part
)

// logRead is one eth_getLogs call that may take several requests.
type logRead struct {
	*Chain

	r         *Request
	deadline  time.Time
	gathering gathering    // of parts
	requests  atomic.Int64 // attempts so far
	unusable  atomic.Bool  // an attempt had no usable answer
	cost      atomic.Int64 // of all requests to the operator, in nanodollars

	mu   sync.Mutex // guards last
	last string     // the upstream that answered last, or was asked last
}

// logPart is a part of the range that is still to be read.
type logPart struct {
	logrange.Range

	params  []byte
	within  logrange.Range // that its logs must be of: wider when an end is a tag
	without []string       // upstreams that are not asked, because they failed
	tried   int            // how many were asked in vain
	waits   bool           // for room at an upstream that is at its limit or throttles
}

// readLogs reads the logs of a range. The whole range is sent to an upstream that takes it, as any
// read. Without one it is split by the limit of the upstream that needs the fewest requests, and
// the parts are merged in order.
func (c *Chain) readLogs(ctx context.Context, r *Request) (*Answer, *fault.Error) {
	l := c.newLogRead(ctx, r)
	answer, f := l.read(ctx)
	rerouted := f == nil && answer.Error == nil && l.unusable.Load()
	if lost := isLost(ctx, f); lost || rerouted || r.Asked.Attempts != 1 {
		c.note(r.Asked.Attempts, rerouted, lost)
	}
	return answer, f
}

func (c *Chain) newLogRead(ctx context.Context, r *Request) *logRead {
	deadline, _ := ctx.Deadline()
	l := &logRead{Chain: c, r: r, deadline: deadline}
	g := &l.gathering
	g.memory, g.maxBytes, g.tooMany = r.Memory, min(r.MaxAnswer, maxSplitBytes), l.tooManyBytes
	return l
}

// read reads the logs and sets Asked.
func (l *logRead) read(ctx context.Context) (*Answer, *fault.Error) {
	answer, f := l.readRange(ctx)
	l.r.Asked = Asked{Upstream: l.last, Attempts: int(l.requests.Load()), Cost: price.Nanos(l.cost.Load())}
	return answer, f
}

func (l *logRead) readRange(ctx context.Context) (*Answer, *fault.Error) {
	span := l.r.Logs
	whole := logPart{Range: logrange.Range{From: span.From, To: span.To}, params: l.r.Params}
	whole.within = whole.Range
	if span.FromTag {
		whole.within.From = 0
	}
	if span.ToTag {
		whole.within.To = noLogLimit
	}
	if !span.Divisible {
		var o outcome
		answer, f := l.ask(ctx, whole, new(search), &o)
		if f != nil && o.rangeRefused && !o.tooLarge {
			f = l.r.Links.On(fault.New(fault.RangeTooLarge,
				"No upstream serves a block range this wide up to this tag. Send block numbers, or latest: "+
					"such a range is split. Nothing was charged."))
		}
		return answer, f
	}
	answer, parts, f := l.fetch(ctx, whole)
	if f != nil || answer != nil {
		return answer, f
	}
	return l.gather(ctx, parts)
}

// ask asks upstreams for a part, up to three. Only those that take its range are asked, unless the
// call cannot be split.
func (l *logRead) ask(ctx context.Context, p logPart, s *search, o *outcome) (*Answer, *fault.Error) {
	r := *l.r
	r.Logs, r.Params, r.within, r.without, r.Asked = nil, p.params, &p.within, p.without, Asked{}
	if l.r.Logs.Divisible {
		r.part = &p.Range
	}
	r.Block, r.Cover = min(r.Block, p.To), min(r.Cover, p.To)
	s.r, s.list = &r, l.eligible()
	answer, f := l.readOnce(ctx, s, o)
	l.requests.Add(int64(o.attempts))
	l.cost.Add(int64(r.Asked.Cost))
	if o.unusable > 0 {
		l.unusable.Store(true)
	}
	if r.Asked.Upstream != "" {
		l.mu.Lock()
		l.last = r.Asked.Upstream
		l.mu.Unlock()
	}
	if answer != nil {
		answer.From = r.Asked.Upstream
	}
	return answer, f
}

// fetch reads a part with one request, or returns the parts into which it must be split instead.
// The answer may be an error of a node, and may stream.
//
//nolint:gocyclo // one case for each way in which a part may end
func (l *logRead) fetch(ctx context.Context, p logPart) (*Answer, []logPart, *fault.Error) {
	pause, throttled := roomPause, 0
	for {
		if widest := l.widest(l.r, p.without); widest > 0 && p.Requests(widest) > 1 {
			parts, f := l.split(&p, widest)
			return nil, parts, f
		}
		if l.requests.Load() >= maxLogRequests {
			return nil, nil, l.tooManyRequests()
		}
		var s search
		var o outcome
		answer, f := l.ask(ctx, p, &s, &o)
		switch {
		case f == nil:
			return answer, nil, nil
		case ctx.Err() != nil || o.tooLarge:
			return nil, nil, f
		case o.limitLearned: // with it, the range is split or another upstream asked
		case o.manyLogs && p.Blocks() > 1:
			return nil, l.parts(&p, p.Halves()), nil
		case o.manyLogs:
			return nil, nil, l.r.Links.On(fault.New(fault.RangeTooLarge,
				"Block %d alone has more logs for this filter than any upstream returns. Name an address or topics in "+
					"the filter, or fewer of them in each of several calls. Nothing was charged.", p.From))
		case o.rangeRefused:
			return nil, nil, l.r.Links.On(fault.New(fault.RangeTooLarge,
				"No upstream serves this filter over a range of blocks. Name an address in it, or fewer addresses and "+
					"topics. Nothing was charged."))
		case p.waits && o.attempts > 0 && o.throttled == o.attempts && throttled < maxThrottled:
			if !l.pause(ctx, throttlePause<<throttled) {
				return nil, nil, f
			}
			throttled++
		case p.waits && s.full != 0:
			p.failed(&s, s.tried)
			if !l.pause(ctx, pause) {
				return nil, nil, f
			}
			pause = min(2*pause, maxRoomPause)
		default:
			if p.failed(&s, s.tried|s.full); p.tried >= maxAttempts || l.widest(l.r, p.without) == 0 {
				return nil, nil, f
			}
		}
	}
}

// failed excludes upstreams that a search could not use, one bit each, from the part.
func (p *logPart) failed(s *search, places uint64) {
	p.tried += bits.OnesCount64(s.tried)
	p.without = slices.Clone(p.without)
	for i, e := range s.list {
		if places&(1<<i) != 0 {
			p.without = append(p.without, e.Name)
		}
	}
}

// pause waits for an upstream; false if the call's time is over before.
func (l *logRead) pause(ctx context.Context, wait time.Duration) bool {
	if !l.deadline.IsZero() && l.deadline.Sub(l.now()) <= wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// widest returns the most blocks that an upstream takes which the call may ask: a usable one, or
// any if none is usable. It returns 0 for no upstream.
func (c *Chain) widest(r *Request, without []string) uint64 {
	now, supply := c.now(), supplyRank(r.Supply)
	var usable, proven uint64
	for _, e := range c.eligible() {
		state := e.state.Load()
		if e.rank > supply || e.cordoned.Load() || state == nil || !state.ChainIDOK ||
			slices.Contains(without, e.Name) || (r.May != nil && !r.May(e.Name)) {
			continue
		}
		limit := e.logLimit.blocks(now)
		proven = max(proven, limit)
		if state.Usable && !e.lacks(r, state) && !e.health.snapshot(now).out {
			usable = max(usable, limit)
		}
	}
	if usable > 0 {
		return usable
	}
	return proven
}

// takes reports whether an upstream may be asked for a request's part of a range.
func (e *Endpoint) takes(r *Request, now time.Time) bool {
	return e.logLimit.blocks(now) >= r.part.Blocks() && !slices.Contains(r.without, e.Name)
}

func (l *logRead) split(p *logPart, limit uint64) ([]logPart, *fault.Error) {
	if left := maxLogRequests - l.requests.Load(); left <= 0 || p.Requests(limit) > uint64(left) {
		return nil, l.tooManyRequests()
	}
	return l.parts(p, p.Split(limit)), nil
}

func (l *logRead) parts(p *logPart, ranges []logrange.Range) []logPart {
	parts := make([]logPart, len(ranges))
	for i, r := range ranges {
		parts[i] = logPart{
			Range: r, within: r, params: chain.WithLogRange(l.r.Params, r.From, r.To), without: p.without,
			tried: p.tried, waits: true,
		}
	}
	return parts
}

// partError ends a split call: one part has no usable answer. Either is set.
type partError struct {
	fault  *fault.Error
	answer *Answer // an error of a node
}

// Error is not shown to anybody.
func (*partError) Error() string { return "a part of the range has no answer" }

// gather reads parts side by side and merges their logs. The first failure ends the call.
func (l *logRead) gather(ctx context.Context, parts []logPart) (*Answer, *fault.Error) {
	results := make([][]logrange.Part, len(parts))
	group, within := parallel.WithContext(ctx)
	group.SetLimit(l.atOnce())
	if !l.deadline.IsZero() {
		within = WithDeadline(within, l.deadline, l.now)
	}
	done := false
	defer func() { // also after a panic
		if !done {
			l.gathering.giveBack()
		}
	}()
	for i, p := range parts {
		group.Go(func() (err error) {
			if within.Err() != nil {
				return within.Err()
			}
			results[i], err = l.part(within, p)
			return err
		})
	}
	err := group.Wait()
	if err == nil {
		done = true
		return l.gathering.gathered(logrange.Merge(slices.Concat(results...))), nil
	}
	failure, ok := errors.AsType[*partError](err)
	switch {
	case !ok && errors.Is(err, context.DeadlineExceeded):
		return nil, fault.New(fault.UpstreamTimeout, "").Wrap(err)
	case !ok:
		return nil, fault.New(fault.UpstreamFailed, "").Wrap(err)
	case failure.fault != nil:
		return nil, failure.fault
	}
	return failure.answer, nil
}

// atOnce returns how many requests of the call may be in flight: half of what the usable upstreams
// take together, so that other calls have room.
func (l *logRead) atOnce() int {
	now, room := l.now(), 0
	for _, e := range l.eligible() {
		switch {
		case !e.serves(e.state.Load(), now):
		case e.limits.Concurrency() == 0:
			return logsAtOnce
		default:
			room += int(e.limits.Concurrency())
		}
	}
	return min(logsAtOnce, max(1, room/2))
}

// part reads a part whole, with as many requests as that takes, one after the other.
func (l *logRead) part(ctx context.Context, p logPart) ([]logrange.Part, error) {
	for {
		answer, instead, f := l.fetch(ctx, p)
		switch {
		case f != nil:
			return nil, &partError{fault: f}
		case instead != nil:
			var all []logrange.Part
			for _, sub := range instead {
				read, err := l.part(ctx, sub)
				if err != nil {
					return nil, err
				}
				all = append(all, read...)
			}
			return all, nil
		case answer.Error != nil:
			return nil, &partError{answer: answer}
		}
		read, f, err := l.whole(answer, &p)
		switch {
		case f != nil:
			return nil, &partError{fault: f}
		case err == nil:
			return []logrange.Part{read}, nil
		case ctx.Err() != nil || p.tried >= maxAttempts || l.widest(l.r, p.without) == 0:
			return nil, &partError{fault: fault.New(fault.UpstreamFailed, "").Wrap(err)}
		}
	}
}

// whole reads an answer to its end and releases it. An answer that breaks off is an error; its
// upstream is then not asked again.
func (l *logRead) whole(answer *Answer, p *logPart) (logrange.Part, *fault.Error, error) {
	defer answer.Release()
	from := answer.From
	b := body{of: &l.gathering}
	f, err := b.readAll(answer)
	var part logrange.Part
	if f == nil && err == nil {
		b.trim()
		part, err = logrange.ReadPart(b.bytes, p.within)
	}
	if err != nil {
		b.drop()
		l.unusable.Store(true)
		p.without, p.tried = append(slices.Clone(p.without), from), p.tried+1
	}
	return part, f, err
}

func (l *logRead) tooManyBytes() *fault.Error {
	return l.shorter("The answer is larger than the %d bytes that this gateway gathers from parts.",
		l.gathering.maxBytes)
}

func (l *logRead) tooManyRequests() *fault.Error {
	return l.shorter("Upstreams answer this range in more than %d requests only.", int64(maxLogRequests))
}

// shorter refuses the call and names its first half, or what to do about a single block.
func (l *logRead) shorter(format string, bound int64) *fault.Error {
	whole := logrange.Range{From: l.r.Logs.From, To: l.r.Logs.To}
	if whole.Blocks() == 1 {
		return l.r.Links.On(fault.New(fault.RangeTooLarge,
			format+" Name an address or topics in the filter. Nothing was charged.", bound))
	}
	half := whole.Halves()[0]
	return chain.WithWorkingRange(l.r.Links.On(fault.New(fault.RangeTooLarge,
		format+" Ask for fewer blocks: %s. Nothing was charged.", bound, chain.WorkingRange(half.From, half.To))),
		half.From, half.To)
}
