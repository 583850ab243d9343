package upstream

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/relay/upstream/internal/heads"
)

// corroborateFrom is the number of upstreams from which on the second highest head counts, whatever
// any single one says.
const corroborateFrom = 3

// Numbers of rounds of probes for which a new head is doubted.
const (
	doubtRounds = 12 // a head far below the last that several upstreams, or the only one, vouch for: a minute
	// the first head, while only one of several upstreams answers and its block has a fresh time;
	// doubtRounds if the time is not fresh
	aloneRounds = 3
)

// judge computes the consensus head of the upstreams and which of them are usable. A single
// upstream that lies can neither move the head nor get an honest one excluded:
//
//   - Of three or more, the second highest head counts, unless the times of blocks show that it is
//     made up.
//   - Of two that agree, the higher counts, unless it is implausible. Of two that do not, the times
//     of their newest blocks show which one is behind or makes its head up. If they do not, the
//     lower counts and neither is excluded.
//   - Of one, its head counts up to what the chain can have produced since the last head. The first
//     head of a single upstream counts at once if no other could answer, else after a few rounds.
//     If no other could answer, a head beyond the limit also counts if the upstream has its block:
//     otherwise a chain that is faster than the catalog says, or was not probed for a while, would
//     be refused.
//
// A wrong head is corrected: fell is true when several upstreams, or the only one, vouched for a
// head far below the last for doubtRounds in a row. Cordoned upstreams are judged but do not vote.
func (c *Chain) judge(ctx context.Context, s *Snapshot) (fell bool) {
	last := c.prober.last
	s.Head, s.HeadAt, s.Slack, s.Doubts, s.BlockMicros = last.Head, last.HeadAt, last.Slack, last.Doubts,
		last.BlockMicros
	s.Safe, s.Finalized = last.Safe, last.Finalized
	claims := c.claims(s)
	limit := c.limit(last, s.MeasuredAt)
	var f finding
	switch {
	case len(claims) == 0:
		f.head = last.Head // no answers: the last head stays
	case len(claims) >= corroborateFrom:
		f = c.outvote(ctx, claims, limit, s.MeasuredAt)
	case len(claims) == 2:
		f = c.settle(ctx, claims[0], claims[1], limit, s.MeasuredAt)
	case c.countable(s) == 1:
		f = c.trust(ctx, claims[0], limit)
	default:
		f = c.believe(ctx, s, claims[0], limit)
	}
	s.HeadKnown = f.known
	fell = c.advance(s, last, f)
	for i := range s.Upstreams {
		u := &s.Upstreams[i]
		if u.Reason != "" {
			continue
		}
		if u.Head < s.Head {
			u.Lag = s.Head - u.Head
		}
		if u.Lag > c.toleratedLag() && !f.undecided {
			u.Reason = ReasonLagging
		}
		u.Usable = u.Reason == ""
	}
	if fell {
		s.Safe, s.Finalized = DeepHead{}, DeepHead{}
	}
	c.judgeFinality(s)
	return fell
}

// judgeFinality raises the safe and the finalized head to the second highest that usable upstreams
// report, or to that of the only upstream that could vote. One of several decides nothing.
func (c *Chain) judgeFinality(s *Snapshot) {
	if !s.HeadKnown {
		return
	}
	var safe, finalized []uint64
	for i := range s.Upstreams {
		u := &s.Upstreams[i]
		if _, cordoned := c.prober.cordons[u.Name]; cordoned || !u.Usable {
			continue
		}
		// The head is the highest that either can be: a block that is newer was asked for later.
		if u.Safe > 0 {
			safe = append(safe, min(u.Safe, s.Head))
		}
		if u.Finalized > 0 {
			finalized = append(finalized, min(u.Finalized, s.Head))
		}
	}
	need := min(2, c.countable(s))
	s.Safe.raise(safe, need, s.MeasuredAt)
	s.Finalized.raise(finalized, need, s.MeasuredAt)
}

// raise takes over the highest number that as many upstreams as needed have reached. A lower one
// than before changes nothing.
func (d *DeepHead) raise(reported []uint64, need int, now time.Time) {
	if need == 0 || len(reported) < need {
		return
	}
	slices.Sort(reported)
	if n := reported[len(reported)-need]; n >= d.Number {
		*d = DeepHead{n, now}
	}
}

// finding is the result of one round.
type finding struct {
	head      uint64
	known     bool // an upstream that is believed has answered
	vouched   bool // by several upstreams, by the only one, or by the block's time against another's
	undecided bool // two upstreams contradict each other, and nothing shows which is wrong
	// shown is the head confirmed by several upstreams or by a block, from which the pace of the
	// chain is learned; zero for none.
	shown uint64
}

// claims returns the heads that count, the lowest first.
func (c *Chain) claims(s *Snapshot) []claim {
	var claims []claim
	for i := range s.Upstreams {
		if _, cordoned := c.prober.cordons[s.Upstreams[i].Name]; !cordoned && s.Upstreams[i].Reason == "" {
			claims = append(claims, claim{&s.Upstreams[i], c.endpoints[i]})
		}
	}
	slices.SortFunc(claims, func(a, b claim) int { return cmp.Compare(a.Head, b.Head) })
	return claims
}

// countable returns the number of upstreams that could vote, whether or not they answer: those that
// are neither cordoned nor of another chain.
func (c *Chain) countable(s *Snapshot) int {
	n := 0
	for i := range s.Upstreams {
		u := &s.Upstreams[i]
		if _, cordoned := c.prober.cordons[u.Name]; !cordoned && u.Reason != ReasonWrongChain {
			n++
		}
	}
	return n
}

// claim is the head that one upstream reports.
type claim struct {
	*UpstreamState
	endpoint *Endpoint
}

// within returns the claim's head. If it is beyond the limit, within marks the upstream as
// implausibly ahead and returns false.
func (u claim) within(limit uint64) (head uint64, ok bool) {
	if u.Head > limit {
		u.Reason = ReasonAhead
		return 0, false
	}
	return u.Head, true
}

// noLimit applies before the first head.
const noLimit = 1<<63 - 1

// limit returns the highest head that a single upstream is believed for. Used slack recovers only
// with time, so that an upstream cannot lead the head away step by step.
func (c *Chain) limit(last Snapshot, now time.Time) uint64 {
	switch {
	case last.Head == 0:
		return noLimit
	case last.HeadAt.IsZero(): // published by a release without HeadAt
		return last.Head + heads.Reach(now.Sub(last.MeasuredAt), c.blockTime(&last)) + c.slack
	}
	return last.Head + heads.Reach(now.Sub(last.HeadAt), c.blockTime(&last)) + min(last.Slack, c.slack)
}

// advance takes a head over. The head goes back only after doubtRounds.
func (c *Chain) advance(s *Snapshot, last Snapshot, f finding) (fell bool) {
	switch {
	case !f.known:
		return false
	case last.Head == 0:
		s.Slack = c.slack
	case f.head+c.toleratedLag() < last.Head:
		if !f.vouched {
			return false
		}
		if s.Doubts++; s.Doubts < doubtRounds {
			return false
		}
		s.Slack, s.BlockMicros, fell = c.slack, 0, true
	case f.head <= last.Head:
		s.Doubts = 0
		s.BlockMicros = c.pace(&last, s.MeasuredAt, f)
		return false
	default:
		limit := c.limit(last, s.MeasuredAt)
		s.Slack = min(c.slack, limit-min(limit, f.head))
		s.BlockMicros = c.pace(&last, s.MeasuredAt, f)
	}
	s.Head, s.HeadAt, s.Doubts = f.head, s.MeasuredAt, 0
	return fell
}

// pace learns the time between two blocks from the progress of the head. It falls at most by half
// per round, and only by heads that were shown: otherwise an upstream could raise by its claims how
// much it is believed for. It grows by at most an eighth.
func (c *Chain) pace(last *Snapshot, now time.Time, f finding) (micros int64) {
	known, since := c.blockTime(last), now.Sub(last.HeadAt)
	if last.HeadAt.IsZero() || since <= 0 {
		return last.BlockMicros
	}
	if seen := between(since, last.Head, f.head); seen > known {
		known = min(seen, known+known/8)
	} else if f.shown > last.Head {
		known = min(known, max(between(since, last.Head, f.shown), known/2, heads.FastestBlocks))
	}
	if known >= c.BlockTime {
		return 0
	}
	return known.Microseconds()
}

// between returns the time between two blocks when the head moved from one to another in this time.
func between(since time.Duration, from, to uint64) time.Duration {
	return since / time.Duration(max(to, from+1)-from) //nolint:gosec // heads have 63 bits
}

// trust takes the head of the only upstream that could vote.
func (c *Chain) trust(ctx context.Context, only claim, limit uint64) finding {
	if only.Head <= limit {
		return finding{head: only.Head, known: true, vouched: true}
	}
	if _, ok := c.blockAt(ctx, only.endpoint, only.Head); !ok {
		only.Reason = ReasonAhead
		return finding{}
	}
	return finding{head: only.Head, known: true, vouched: true, shown: only.Head}
}

// believe judges the head of the only one of several upstreams that answers.
func (c *Chain) believe(ctx context.Context, s *Snapshot, only claim, limit uint64) (f finding) {
	if limit != noLimit {
		f.head, f.known = only.within(limit)
		return f
	}
	if s.Doubts++; s.Doubts < aloneRounds {
		return f
	}
	if fresh := c.fresh(ctx, s.MeasuredAt, only); !fresh[0] && s.Doubts < doubtRounds {
		return f
	}
	return finding{head: only.Head, known: true}
}

// outvote returns the head of three or more upstreams: the second highest, which two vouch for. If
// that is beyond the limit, or on the first round far from another, the times of blocks must not
// contradict it.
func (c *Chain) outvote(ctx context.Context, claims []claim, limit uint64, now time.Time) finding {
	others := claims[:len(claims)-1]
	second := others[len(others)-1]
	other := second // the highest head that contradicts it
	for _, u := range others {
		if u.Head+c.toleratedLag() < second.Head && u.Head <= limit {
			other = u
		}
	}
	if (second.Head > limit || limit == noLimit) && other.Head < second.Head {
		if fresh := c.fresh(ctx, now, other, second); fresh[0] && !fresh[1] {
			second = other
		}
	}
	for _, u := range claims {
		if u.Head > second.Head+c.toleratedLag()+c.slack {
			u.Reason = ReasonAhead
		}
	}
	return finding{head: second.Head, known: true, vouched: true, shown: second.Head}
}

// settle returns the head of two upstreams.
func (c *Chain) settle(ctx context.Context, lower, upper claim, limit uint64, now time.Time) finding {
	first := limit == noLimit
	vouched := func(head, shown uint64) finding { return finding{head: head, known: true, vouched: true, shown: shown} }
	if upper.Head-lower.Head <= c.toleratedLag() {
		if first || lower.Head > limit { // both vouch for the lower, however far it is
			return vouched(lower.Head, lower.Head)
		}
		return vouched(min(upper.Head, limit), lower.Head)
	}
	fresh := c.fresh(ctx, now, lower, upper)
	lowerFresh, upperFresh := fresh[0], fresh[1]
	switch {
	case upperFresh && !lowerFresh:
		if _, ok := upper.within(limit); ok {
			return vouched(upper.Head, upper.Head) // the lower one lags
		}
	case lowerFresh && !upperFresh:
		upper.Reason = ReasonAhead
		return vouched(lower.Head, lower.Head)
	case lowerFresh: // one of them fakes more than a number, and nothing shows which
		return finding{head: lower.Head, known: true, undecided: true}
	case !first: // a halted chain, or nodes without block times: the limit alone decides
		if _, ok := upper.within(limit); ok {
			return vouched(upper.Head, 0)
		}
	}
	return finding{head: lower.Head, known: true}
}

// fresh reports for each head whether its block exists and is young enough to be the newest of a
// chain.
func (c *Chain) fresh(ctx context.Context, now time.Time, claims ...claim) []bool {
	oldest := time.Duration(c.toleratedLag()+1)*c.BlockTime + clockError //nolint:gosec // a few thousand at most
	fresh := make([]bool, len(claims))
	var asking parallel.Group
	for i, u := range claims {
		asking.Go(func() error {
			b, ok := c.blockAt(ctx, u.endpoint, u.Head)
			age := now.Sub(b.at)
			fresh[i] = ok && age <= oldest && age >= -clockError
			return nil
		})
	}
	_ = asking.Wait() // none fails
	return fresh
}

// clockError is the maximum difference between this machine's clock and a block producer's.
const clockError = 10 * time.Second
