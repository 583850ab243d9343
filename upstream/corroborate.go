package upstream

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// corroborateFrom is from how many upstreams on the second highest head counts, whatever any single one says.
const corroborateFrom = 3

// judge compares the upstreams with each other, finds the head that more than one vouches for, and says who is usable. One upstream that
// lies neither moves the head nor has an honest one excluded:
//
//   - Of three or more, the second highest head counts.
//   - Of two that agree, the higher counts, unless it is implausible. Of two that do not, the times of their newest blocks tell which
//     one is behind or makes its head up; when they do not tell, the lower counts and nobody is excluded.
//   - Of one, its head counts as far as the chain can have come since the last one.
//
// Cordoned upstreams are judged and not asked for their opinion.
func (c *Chain) judge(ctx context.Context, s *Snapshot) {
	last := c.prober.last
	s.Head, s.HeadAt, s.Slack = last.Head, last.HeadAt, last.Slack
	var claims []claim
	for i := range s.Upstreams {
		if _, cordoned := c.prober.cordons[s.Upstreams[i].Name]; !cordoned && s.Upstreams[i].Reason == "" {
			claims = append(claims, claim{&s.Upstreams[i], c.endpoints[i]})
		}
	}
	slices.SortFunc(claims, func(a, b claim) int { return cmp.Compare(a.Head, b.Head) })
	head, known := uint64(0), len(claims) > 0
	switch limit := c.limit(last, s.MeasuredAt); {
	case len(claims) == 0:
	case len(claims) >= corroborateFrom:
		head = claims[len(claims)-2].Head
		if top := claims[len(claims)-1]; top.Head > head+c.toleratedLag()+headSlack {
			top.Reason = ReasonAhead
		}
	case len(claims) == 1:
		head, known = claims[0].within(limit)
	default:
		head = c.settle(ctx, claims[0], claims[1], limit, s.MeasuredAt)
	}
	s.HeadKnown = known
	c.advance(s, last, head)
	for i := range s.Upstreams {
		u := &s.Upstreams[i]
		if u.Reason != "" {
			continue
		}
		if u.Head < s.Head {
			u.Lag = s.Head - u.Head
		}
		if u.Lag > c.toleratedLag() {
			u.Reason = ReasonLagging
		}
		u.Usable = u.Reason == ""
	}
}

// claim is the head that one upstream gives.
type claim struct {
	*UpstreamState
	endpoint *Endpoint
}

// within gives the claim's head, unless it is beyond the limit: then the upstream is not believed.
func (u claim) within(limit uint64) (head uint64, ok bool) {
	if u.Head > limit {
		u.Reason = ReasonAhead
		return 0, false
	}
	return u.Head, true
}

// noLimit is before the first head.
const noLimit = 1<<63 - 1

// limit is the highest head that the word of one upstream is enough for. Slack that was used up comes back as time passes, so that an
// upstream cannot lead the head away step by step.
func (c *Chain) limit(last Snapshot, now time.Time) uint64 {
	switch {
	case last.Head == 0:
		return noLimit
	case last.HeadAt.IsZero(): // published by a release that did not tell
		return c.plausible(last.Head, now.Sub(last.MeasuredAt).Nanoseconds())
	}
	return c.plausible(last.Head, now.Sub(last.HeadAt).Nanoseconds()) - headSlack + last.Slack
}

// advance takes a head over, which never goes back.
func (c *Chain) advance(s *Snapshot, last Snapshot, head uint64) {
	switch {
	case head <= last.Head:
		return
	case last.Head == 0:
		s.Slack = headSlack
	default:
		limit := c.limit(last, s.MeasuredAt)
		s.Slack = min(headSlack, limit-min(limit, head))
	}
	s.Head, s.HeadAt = head, s.MeasuredAt
}

// settle finds the head when two upstreams give one each.
func (c *Chain) settle(ctx context.Context, lower, upper claim, limit uint64, now time.Time) uint64 {
	first := limit == noLimit
	if upper.Head-lower.Head <= c.toleratedLag() {
		if first || lower.Head > limit { // two vouch for the lower, however far it is
			return lower.Head
		}
		return min(upper.Head, limit)
	}
	lowerFresh, upperFresh := c.fresh(ctx, lower, upper, now)
	switch {
	case upperFresh && !lowerFresh:
		if _, ok := upper.within(limit); ok {
			return upper.Head // the lower one lags
		}
	case lowerFresh && !upperFresh:
		upper.Reason = ReasonAhead
	case lowerFresh: // one of them makes up more than a number, and nothing tells which
	case !first: // a chain that stands still, or nodes that do not tell: the bound alone decides
		if _, ok := upper.within(limit); ok {
			return upper.Head
		}
	}
	return lower.Head
}

// fresh tells which of two heads is of a block that exists and is no older than the newest one of a chain may be.
func (c *Chain) fresh(ctx context.Context, lower, upper claim, now time.Time) (lowerFresh, upperFresh bool) {
	oldest := time.Duration(c.toleratedLag()+1)*c.BlockTime + clockError //nolint:gosec // a few thousand at most
	ask := func(u claim) bool {
		b, ok := c.blockAt(ctx, u.endpoint, u.Head)
		age := now.Sub(b.at)
		return ok && age <= oldest && age >= -clockError
	}
	var wg sync.WaitGroup
	wg.Go(func() { lowerFresh = ask(lower) })
	wg.Go(func() { upperFresh = ask(upper) })
	wg.Wait()
	return lowerFresh, upperFresh
}

// clockError is how much this machine's clock and a block producer's may differ.
const clockError = 10 * time.Second
