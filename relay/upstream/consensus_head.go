package upstream

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/chainaccess/gateway/internal/parallel"
)

// corroborateFrom is from how many upstreams on the second highest head counts, whatever any single
// one says.
const corroborateFrom = 3

// Rounds of probes for which a head is doubted.
const (
	doubtRounds = 12 // one far below the last, which more than one upstream or the only one vouches for: a minute
	// the first head, while one upstream of several answers and its block has a fresh time;
	// doubtRounds when it has not
	aloneRounds = 3
)

// judge compares the upstreams with each other, finds the head that more than one vouches for, and
// says who is usable. One upstream that lies neither moves the head nor has an honest one excluded:
//
//   - Of three or more, the second highest head counts, unless the times of blocks show that it is
//     made up.
//   - Of two that agree, the higher counts, unless it is implausible. Of two that do not, the times
//     of their newest blocks tell which one is behind or makes its head up; when they do not tell,
//     the lower counts and nobody is excluded.
//   - Of one, its head counts as far as the chain can have come since the last one. The very first
//     head of one counts at once when no other could have a say, and else after a few rounds. When
//     no other could, one that is further counts as well if the upstream has the block: its word is
//     all there is, and a chain that is faster than the catalog says, or was out of sight, must not
//     be refused.
//
// A head that was wrong goes away: fell is when what more than one upstream, or the only one,
// vouched for was far below the last head for doubtRounds in a row. Cordoned upstreams are judged
// and not asked for their opinion.
func (c *Chain) judge(ctx context.Context, s *Snapshot) (fell bool) {
	last := c.prober.last
	s.Head, s.HeadAt, s.Slack, s.Doubts, s.BlockMicros = last.Head, last.HeadAt, last.Slack, last.Doubts,
		last.BlockMicros
	claims := c.claims(s)
	limit := c.limit(last, s.MeasuredAt)
	var f finding
	switch {
	case len(claims) == 0:
		f.head = last.Head // nobody answers, which says nothing about the last head
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
	return fell
}

// finding is what the upstreams of one round come to.
type finding struct {
	head      uint64
	known     bool // somebody answered who is believed
	vouched   bool // by more than one upstream, by the only one, or by the time of its block against another's
	undecided bool // two upstreams contradict each other, and nothing tells which is wrong
	// shown is the head that more than one upstream or a block stands for, from which the pace of
	// the chain is learned; zero for none.
	shown uint64
}

// claims are the heads that count, the lowest first.
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

// countable is how many upstreams could have a say, whether or not they answer: those that are
// neither cordoned nor of another chain.
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

// claim is the head that one upstream gives.
type claim struct {
	*UpstreamState
	endpoint *Endpoint
}

// within returns the claim's head, unless it is beyond the limit: then the upstream is not
// believed.
func (u claim) within(limit uint64) (head uint64, ok bool) {
	if u.Head > limit {
		u.Reason = ReasonAhead
		return 0, false
	}
	return u.Head, true
}

// noLimit is before the first head.
const noLimit = 1<<63 - 1

// limit is the highest head that the word of one upstream is enough for. Slack that was used up
// comes back as time passes, so that an upstream cannot lead the head away step by step.
func (c *Chain) limit(last Snapshot, now time.Time) uint64 {
	switch {
	case last.Head == 0:
		return noLimit
	case last.HeadAt.IsZero(): // published by a release that did not tell
		return last.Head + reach(now.Sub(last.MeasuredAt), c.blockTime(&last)) + c.slack
	}
	return last.Head + reach(now.Sub(last.HeadAt), c.blockTime(&last)) + min(last.Slack, c.slack)
}

// advance takes a head over. It goes back only when that was vouched for again and again.
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

// pace learns the time between two blocks from how far the head came. It falls by half at most at a
// time, and only by heads that were shown, or an upstream could raise by its word alone how much
// its word is enough for. It grows by an eighth.
func (c *Chain) pace(last *Snapshot, now time.Time, f finding) (micros int64) {
	known, since := c.blockTime(last), now.Sub(last.HeadAt)
	if last.HeadAt.IsZero() || since <= 0 {
		return last.BlockMicros
	}
	if seen := between(since, last.Head, f.head); seen > known {
		known = min(seen, known+known/8)
	} else if f.shown > last.Head {
		known = min(known, max(between(since, last.Head, f.shown), known/2, fastestBlocks))
	}
	if known >= c.BlockTime {
		return 0
	}
	return known.Microseconds()
}

// between is the time between two blocks when the head came from one to another since then.
func between(since time.Duration, from, to uint64) time.Duration {
	return since / time.Duration(max(to, from+1)-from) //nolint:gosec // heads have 63 bits
}

// trust takes the head of the only upstream that could have a say.
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

// believe weighs the word of the only one of several upstreams that answers.
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

// outvote finds the head when three or more upstreams give one each: the second highest, which two
// vouch for. When that is further than the chain can have come, or in the beginning far from
// another, the times of blocks must not speak against it.
func (c *Chain) outvote(ctx context.Context, claims []claim, limit uint64, now time.Time) finding {
	others := claims[:len(claims)-1]
	second := others[len(others)-1]
	other := second // the highest that contradicts it
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

// settle finds the head when two upstreams give one each.
func (c *Chain) settle(ctx context.Context, lower, upper claim, limit uint64, now time.Time) finding {
	first := limit == noLimit
	vouched := func(head, shown uint64) finding { return finding{head: head, known: true, vouched: true, shown: shown} }
	if upper.Head-lower.Head <= c.toleratedLag() {
		if first || lower.Head > limit { // two vouch for the lower, however far it is
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
	case lowerFresh: // one of them makes up more than a number, and nothing tells which
		return finding{head: lower.Head, known: true, undecided: true}
	case !first: // a chain that stands still, or nodes that do not tell: the bound alone decides
		if _, ok := upper.within(limit); ok {
			return vouched(upper.Head, 0)
		}
	}
	return finding{head: lower.Head, known: true}
}

// fresh tells which of these heads are of a block that exists and is no older than the newest one
// of a chain may be.
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

// clockError is how much this machine's clock and a block producer's may differ.
const clockError = 10 * time.Second
