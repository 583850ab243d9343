package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/upstream/internal/canonical"
)

// MaxVoters is the most upstreams that one verified read asks.
const MaxVoters = 5

// Agreement is how many of the upstreams that were asked gave the answer.
type Agreement struct{ Agreed, Asked int }

// verification is one verified read, in which upstreams vote with their answers.
type verification struct {
	*Chain

	call     Request // as it is sent to every voter
	want     int
	deadline time.Time
	waiting  []*Endpoint // not asked yet, the best first
	asked    int
	ballots  []*ballot
}

// ballot is what one upstream answered.
type ballot struct {
	by      *Endpoint
	voted   bool
	sum     canonical.Digest
	null    bool // or pending
	refused bool // with an error of the node
	behind  bool // it was known not to have the block, so it does not lie
	answer  *Answer
	body    body // of a streamed answer, instead
	memory  gathering
	asked   Asked
	fault   *fault.Error // why it is no vote
}

// ReadVerified asks want upstreams side by side, and others until as many agree, at most MaxVoters
// in all. Answers agree if their canonical digests do. An upstream whose result contradicts the
// majority's is counted, and chosen later. The caller must release the answer.
func (c *Chain) ReadVerified(ctx context.Context, r *Request, want int) (*Answer, Agreement, *fault.Error) {
	if f := c.TooFewVoters(r, want); f != nil {
		return nil, Agreement{}, f
	}
	v := &verification{Chain: c, call: *r, want: want, waiting: c.voters(r)}
	v.waiting = v.waiting[:min(len(v.waiting), MaxVoters)]
	v.deadline, _ = ctx.Deadline()
	r.Asked = Asked{}
	defer func() { // also after a panic
		for _, b := range v.ballots {
			b.release()
		}
	}()
	v.vote(ctx)
	won := v.majority()
	for _, b := range v.ballots {
		r.Asked.Attempts += b.asked.Attempts
		r.Asked.Cost += b.asked.Cost
		r.Asked.Upstream = b.asked.Upstream
	}
	var answer *Answer
	var f *fault.Error
	if len(won) >= want {
		v.judge(won)
		answer, r.Asked.Upstream = won[0].take(), won[0].by.Name
	} else {
		f = v.undecided(len(won))
	}
	if lost := isLost(ctx, f); lost || r.Asked.Attempts > 1 {
		c.traffic.note(c.now(), r.Asked.Attempts, false, lost)
	}
	return answer, Agreement{Agreed: len(won), Asked: v.asked}, f
}

// voters returns the usable upstreams that a call may ask, the best first.
func (c *Chain) voters(r *Request) (best []*Endpoint) {
	s := search{r: r, list: c.eligible()}
	for now := c.now(); ; {
		found := survey{best: rated{place: -1}, favourite: rated{place: -1}, candidate: -1}
		c.survey(&found, &s, usableOnly, now, nil)
		if found.best.place < 0 {
			return best
		}
		s.tried |= 1 << found.best.place
		if e := s.list[found.best.place]; !e.limits.Exhausted() {
			best = append(best, e)
		}
	}
}

// TooFewVoters refuses a call that fewer than want upstreams could answer.
func (c *Chain) TooFewVoters(r *Request, want int) *fault.Error {
	able := len(c.voters(r))
	if able >= want {
		return nil
	}
	allowed := 0
	for _, e := range c.eligible() {
		if e.rank <= supplyRank(r.Supply) {
			allowed++
		}
	}
	if allowed < want {
		return fault.New(fault.ParameterRefused,
			"%d upstreams would have to agree, and there are %d of %s for this call. Nothing was charged; ask for "+
				"fewer with X-Route-Verify, or leave it out.", want, allowed, c.ID).With("upstreams", allowed)
	}
	f := fault.New(fault.NoUpstream,
		"%d upstreams would have to agree, and %d of %s can be asked right now. Nothing was charged; retry in a few "+
			"seconds.", want, able, c.ID).With("upstreams", able)
	f.RetryAfter = noUpstream
	return f
}

// vote asks upstreams until enough agree or none is left. One more is asked for each that cannot
// vote, contradicts the others or takes long.
func (v *verification) vote(ctx context.Context) {
	ctx, callOff := context.WithCancel(ctx)
	if !v.deadline.IsZero() {
		ctx = WithDeadline(ctx, v.deadline, v.now)
	}
	results := make(chan *ballot, len(v.waiting))
	slow := time.NewTimer(time.Hour)
	running := 0
	var voting sync.WaitGroup
	defer func() {
		slow.Stop()
		callOff()
		voting.Wait()
		close(results)
		for b := range results {
			v.count(b)
		}
	}()
	start := func() {
		e := v.waiting[0]
		v.waiting = v.waiting[1:]
		v.asked++
		running++
		patience := v.patience(e)
		slow.Reset(patience)
		voting.Go(func() { results <- v.ask(ctx, e, patience) })
	}
	for range v.want {
		start()
	}
	for running > 0 {
		select {
		case b := <-results:
			running--
			v.count(b)
		case <-slow.C:
			if len(v.waiting) > 0 {
				start()
			}
		}
		agreed := len(v.majority())
		if agreed >= v.want || agreed+running+len(v.waiting) < v.want || ctx.Err() != nil {
			return
		}
		for agreed+running < v.want {
			start()
		}
	}
}

// patience returns how long an upstream may take until another is asked in addition.
func (v *verification) patience(e *Endpoint) time.Duration {
	now := v.now()
	until, _ := allow(now, v.deadline, len(v.waiting), &e.health.snapshot(now).latency[classOf(v.call.Heavy)])
	if until.IsZero() {
		return time.Hour
	}
	return until.Sub(now)
}

// ask has one upstream answer the call. Its panic is its failure. One that the others did not wait
// for, after its patience was over, is slow.
func (v *verification) ask(ctx context.Context, e *Endpoint, patience time.Duration) (b *ballot) {
	b = &ballot{by: e, behind: e.reported.Behind(max(v.call.Block, v.call.Cover)) > 0}
	b.memory = gathering{memory: v.call.Memory, maxBytes: min(v.call.MaxAnswer, maxSplitBytes), tooMany: v.tooManyBytes}
	b.body.of = &b.memory
	defer func() {
		if p := recover(); p != nil {
			b.fault = fault.New(fault.UpstreamFailed, "").Wrap(v.panicked(e, p, v.call.Heavy))
		}
	}()
	started := v.now()
	defer func() {
		if took := v.now().Sub(started); !b.voted && took >= patience && errors.Is(ctx.Err(), context.Canceled) {
			e.observe(observation{slow: true, took: took, heavy: v.call.Heavy})
		}
	}()
	r := v.call
	r.Asked, r.May = Asked{}, func(name string) bool { return name == e.Name }
	if r.Logs != nil {
		b.answer, b.fault = v.newLogRead(ctx, &r).read(ctx)
	} else {
		b.answer, b.fault = v.readOnce(ctx, &search{r: &r, list: v.eligible()}, new(outcome))
	}
	if b.asked = r.Asked; b.fault == nil {
		b.fault = b.cast(v)
	}
	return b
}

// cast turns the answer into a vote. An error counts only if it is the node's own, and not that it
// lacks what was asked for.
func (b *ballot) cast(v *verification) *fault.Error {
	var err error
	switch a := b.answer; {
	case a.LastWords && a.Error != nil:
		return fault.New(fault.UpstreamFailed,
			"No upstream of %s gave an answer that can be compared. Nothing was charged; look at data.upstream_error, "+
				"then retry.", v.ID).With("upstream_error", json.RawMessage(bytes.Clone(a.Error)))
	case a.Error != nil:
		b.sum, b.refused = canonical.Failure(a.Error), true
	case a.Rest != nil:
		f, broken := b.body.readAll(a)
		if f != nil {
			return f
		}
		if err = broken; err == nil {
			b.body.trim()
			b.sum, err = canonical.Result(v.Family, string(v.call.Method), b.body.bytes)
		}
		a.Release()
		b.answer = nil
	default:
		b.null = a.IsNull() || pending(v.call.Method, a.Result)
		b.sum, err = canonical.Result(v.Family, string(v.call.Method), a.Result)
	}
	if err != nil {
		return fault.New(fault.UpstreamFailed, "").Wrap(err)
	}
	b.voted = true
	return nil
}

// pending reports whether a result is a transaction without a block. An upstream that has not heard
// of the block yet, or has, tells no lie.
func pending(method, result []byte) bool {
	if !bytes.HasPrefix(method, []byte("eth_getTransactionBy")) {
		return false
	}
	var tx struct{ BlockHash *string }
	return json.Unmarshal(result, &tx) == nil && tx.BlockHash == nil
}

func (v *verification) tooManyBytes() *fault.Error {
	return v.call.Links.On(fault.New(fault.RangeTooLarge,
		"The answer is larger than the %d bytes of an answer that this gateway compares. Ask for less in one call, "+
			"and send several. Nothing was charged.", min(v.call.MaxAnswer, maxSplitBytes)))
}

// count takes a ballot. Of several with the same answer, the first keeps it.
func (v *verification) count(b *ballot) {
	if b.voted {
		for _, other := range v.ballots {
			if other.voted && other.sum == b.sum {
				b.release()
				break
			}
		}
	}
	v.ballots = append(v.ballots, b)
}

// majority returns the ballots with the answer that most gave.
func (v *verification) majority() (most []*ballot) {
	for _, first := range v.ballots {
		if !first.voted {
			continue
		}
		var same []*ballot
		for _, b := range v.ballots {
			if b.voted && b.sum == first.sum {
				same = append(same, b)
			}
		}
		if len(same) > len(most) {
			most = same
		}
	}
	return most
}

// judge counts for and against the upstreams which of them gave the majority's result. That an
// upstream does not have an object, is behind, or refuses is no lie, and where most say so, nobody
// is judged.
func (v *verification) judge(won []*ballot) {
	if won[0].null || won[0].refused {
		return
	}
	for _, b := range v.ballots {
		agrees := b.sum == won[0].sum
		if b.voted && (agrees || !b.null && !b.behind && !b.refused) {
			b.by.compared(agrees)
		}
	}
}

// take returns the answer, which then is the caller's to release.
func (b *ballot) take() (a *Answer) {
	if b.body.bytes == nil {
		a, b.answer = b.answer, nil
		return a
	}
	held := &gathering{memory: b.memory.memory}
	held.held.Store(b.memory.held.Swap(0))
	return held.gathered(net.Buffers{b.body.bytes})
}

func (b *ballot) release() {
	if b.answer != nil {
		b.answer.Release()
		b.answer = nil
	}
	b.body.bytes = nil
	b.memory.giveBack()
}

// undecided returns the fault when no upstreams agree on an answer. agreed is the most that do.
func (v *verification) undecided(agreed int) *fault.Error {
	votes := 0
	var failure *fault.Error
	for _, b := range v.ballots {
		switch {
		case b.voted:
			votes++
		case failure == nil || failure.Reason != fault.RangeTooLarge:
			failure = b.fault
		}
	}
	switch {
	case failure != nil && (votes == 0 || failure.Reason == fault.RangeTooLarge):
		return failure
	case failure != nil && votes == agreed:
		f := fault.New(failure.Reason,
			"%d upstreams of %s were asked, and %d gave an answer, of which %d must agree. Nothing was charged; retry "+
				"in a second.", v.asked, v.ID, votes, v.want).Wrap(failure.Cause)
		f.RetryAfter = atLimit
		return f.With("asked", v.asked).With("agreed", agreed)
	}
	f := fault.New(fault.UpstreamFailed,
		"%d upstreams of %s were asked, and no %d of them gave the same answer. Nothing was charged; retry in a "+
			"second, and file a ticket at data.support when it goes on.", v.asked, v.ID, v.want)
	f.RetryAfter = atLimit
	return f.With("asked", v.asked).With("agreed", agreed)
}
