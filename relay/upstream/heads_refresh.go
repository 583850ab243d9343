package upstream

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/heads"
	"github.com/chainaccess/gateway/relay/upstream/internal/rules"
)

// holdTime is the longest that an answer waits until its block may be told.
const holdTime = time.Second

// holdLooks is how many times upstreams may be asked for the head while an answer waits.
const holdLooks = 4

// Hold waits until clients may be told of a block that an upstream's answer shows, so that no
// client sees the block before the gateway stands for it. told is false if nobody else vouched for
// the block in time, or it is further ahead than the chain can be.
func (c *Chain) Hold(ctx context.Context, by string, block uint64) (told bool) {
	if !c.heads.refreshes.Load() {
		return true
	}
	if !c.plausible(Latest, block) {
		return false
	}
	now := c.now()
	for _, e := range c.eligible() {
		if e.Name == by {
			e.reported.Showed(block)
		}
	}
	if !c.corroborate(block) {
		c.heads.Want(Latest, block)
	}
	for until := now.Add(holdTime); now.Before(until) && ctx.Err() == nil; now = c.now() {
		c.refreshHead(ctx, now, true)
		if c.heads.Hold(ctx, Latest, block, c.now, now.Add(holdTime/holdLooks)) {
			return true
		}
	}
	return false
}

// ConfirmTag reports whether clients may be told that block n is the safe or the finalized one, as
// the answer of an upstream shows: it is no older than the one that they were told, and if there
// are other upstreams, one of them is as far. It waits until all processes know, at most a second.
func (c *Chain) ConfirmTag(ctx context.Context, tag chain.Tag, by string, n uint64) bool {
	kind := heads.Safe
	if tag == chain.FinalizedTag {
		kind = heads.Finalized
	}
	if told := c.heads.Head(kind, c.now()); n <= told {
		return n == told
	}
	if n > c.heads.Wanted(kind) && (!c.plausible(Latest, n) || !c.seconded(ctx, tag, by, n)) {
		return false
	}
	until := c.now().Add(holdTime)
	c.heads.Want(Latest, n) // two upstreams have it
	c.heads.Want(kind, n)
	return c.heads.Hold(ctx, Latest, n, c.now, until) && c.heads.Hold(ctx, kind, n, c.now, until)
}

// seconded reports whether a second upstream's block of a tag is not below n, or there is no
// second. It asks all of them at once and waits for the first that has it, for at most holdTime.
func (c *Chain) seconded(ctx context.Context, tag chain.Tag, by string, n uint64) bool {
	name := "safe"
	if tag == chain.FinalizedTag {
		name = "finalized"
	}
	others := slices.DeleteFunc(c.serving(), func(e *Endpoint) bool { return e.Name == by })
	if len(others) == 0 {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, holdTime)
	defer cancel()
	answers := make(chan uint64, len(others))
	for _, e := range others {
		c.hedges.racing.Go(func() { answers <- e.tagged(ctx, name) })
	}
	for range others {
		if <-answers >= n {
			return true
		}
	}
	return false
}

// refreshHead has upstreams asked for the head in the background, if that is due. The call in which
// it is due does not wait for that, and may end before.
func (c *Chain) refreshHead(ctx context.Context, now time.Time, news bool) {
	if !c.heads.refreshes.Load() || !c.heads.pace.Due(now, c.livePace(), news) {
		return
	}
	c.hedges.racing.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
		defer cancel()
		c.askHead(ctx)
	})
}

// askHead asks the next upstream for its head, and others if it is new.
func (c *Chain) askHead(ctx context.Context) {
	serving := c.serving()
	if len(serving) == 0 {
		return
	}
	turn := int(c.heads.turn.Add(1))
	var highest uint64
	var by *Endpoint
	for i := range serving {
		e := serving[(turn+i)%len(serving)]
		n, reason := c.askOne(ctx, e)
		if reason != "" {
			continue
		}
		if n > highest {
			highest, by = n, e
		}
		if !c.corroborate(highest) { // nobody else counts
			c.heads.Want(Latest, highest)
		}
		if highest <= c.heads.Wanted(Latest) {
			break
		}
	}
	// Of two upstreams, the one that is ahead must show its block.
	if by != nil && len(serving) == 2 && highest > c.heads.Wanted(Latest) {
		if _, ok := c.blockAt(ctx, by, highest); ok {
			c.heads.Want(Latest, highest)
		}
	}
	c.heads.pace.Grew(c.heads.Wanted(Latest), c.now())
}

// askOne asks one upstream for its head. reason is why there is none; empty on success.
func (c *Chain) askOne(ctx context.Context, e *Endpoint) (head uint64, reason string) {
	method := "eth_blockNumber"
	if c.Family == chain.Solana {
		method = "getSlot"
	}
	result, reason := e.ask(ctx, method, "[]")
	if reason != "" {
		return 0, reason
	}
	head, ok := parseHead(result)
	if !ok {
		return 0, ReasonBadAnswer
	}
	if !c.plausible(Latest, head) {
		return 0, ReasonAhead
	}
	e.reported.Saw(Latest, head, c.now())
	return head, ""
}

// serving returns the upstreams that get calls.
func (c *Chain) serving() []*Endpoint {
	now := c.now()
	var list []*Endpoint
	for _, e := range c.eligible() {
		if e.serves(e.state.Load(), now) {
			list = append(list, e)
		}
	}
	return list
}

// corroborate stands for the highest head up to n that two of several upstreams have, so that no
// single one can make up a head. It returns false if only one could have it.
func (c *Chain) corroborate(n uint64) bool {
	var seen []uint64
	for _, e := range c.serving() {
		seen = append(seen, e.reported.Head(Latest))
	}
	if len(seen) < 2 {
		return false
	}
	slices.Sort(seen)
	c.heads.Want(Latest, min(n, seen[len(seen)-2]))
	return true
}

// covers returns an error, and what it means, unless the upstream said that it has a block. It asks
// for the upstream's head if it has not said so yet, and blames one that does not answer until the
// attempt's deadline.
func (c *Chain) covers(ctx context.Context, e *Endpoint, block uint64, until time.Time) (verdict, error) {
	if e.reported.Head(Latest) >= block {
		return verdict{}, nil
	}
	asked := c.now()
	asking := ctx
	if !until.IsZero() {
		asking = WithDeadline(ctx, until, c.now)
	}
	n, reason := c.askOne(asking, e)
	switch {
	case reason == "" && n >= block:
		return verdict{}, nil
	case reason != ReasonUnreachable || errors.Is(ctx.Err(), context.Canceled):
		return verdicts[rules.MissingData], errBehind
	}
	silent := verdicts[rules.Unreachable]
	e.observe(observation{verdict: silent, took: c.now().Sub(asked)})
	return silent, errNoHead
}

var errNoHead = errors.New("the upstream does not answer for its head")
