package upstream

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/heads"
)

// Told returns the heads that the gateway stands for in a call that came at this moment. fresh is
// false if another process may have told of a higher one; then FreshHeads returns it. While calls
// come, Told also has an upstream asked for a newer head.
func (c *Chain) Told(arrived time.Time) (h chain.Heads, fresh bool) {
	c.refreshHead(arrived, false)
	h, fresh = c.heads.At(arrived)
	c.vouch(&h)
	return h, fresh
}

// FreshHeads returns the heads that the gateway stands for in a call that came at this moment, also
// those that only other processes have told. It may read Redis.
func (c *Chain) FreshHeads(ctx context.Context, arrived time.Time) chain.Heads {
	h := c.heads.Fresh(ctx, arrived)
	c.vouch(&h)
	return h
}

// vouch leaves out what no longer holds: a safe or finalized head that nobody has vouched for in a
// while, and slots at other commitments that one of several upstreams made up.
func (c *Chain) vouch(h *chain.Heads) {
	if c.Family == chain.Solana {
		h.Confirmed = max(h.Latest, min(h.Confirmed, c.vouched(Confirmed)))
		h.Processed = max(h.Latest, min(h.Processed, c.vouched(Processed)))
		return
	}
	if c.heads.safe.Load() == 0 {
		h.Safe = 0
	}
	if c.heads.finalized.Load() == 0 {
		h.Finalized = 0
	}
}

// vouched returns the second highest head that upstreams said they have, or that of the only one.
func (c *Chain) vouched(kind HeadKind) uint64 {
	var highest, second uint64
	for _, e := range c.endpoints {
		if n := e.reported.Head(kind); n > highest {
			highest, second = n, highest
		} else {
			second = max(second, n)
		}
	}
	if len(c.endpoints) == 1 {
		return highest
	}
	return second
}

// holdTime is the longest that an answer waits until its block may be told.
const holdTime = time.Second

// Hold waits until clients may be told of a block that an upstream's answer shows, so that no
// client sees the block before the gateway stands for it. An answer that shows a block further
// ahead than the chain can be does not wait.
func (c *Chain) Hold(ctx context.Context, by string, block uint64) {
	if !c.heads.refreshes.Load() || !c.plausible(Latest, block) {
		return
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
	c.refreshHead(now, true)
	c.heads.Hold(ctx, Latest, block, c.now, now.Add(holdTime))
}

// refreshHead has upstreams asked for the head in the background, if that is due.
func (c *Chain) refreshHead(now time.Time, news bool) {
	if !c.heads.refreshes.Load() || !c.heads.pace.Due(now, c.livePace(), news) {
		return
	}
	c.hedges.racing.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
		defer cancel()
		c.askHead(ctx)
	})
}

// livePace returns the time between two blocks: the shortest that the catalog, the probes or this
// process knows.
func (c *Chain) livePace() time.Duration {
	pace := c.BlockTime
	for _, seen := range [...]time.Duration{time.Duration(c.heads.blockTime.Load()), c.heads.pace.BlockTime()} {
		if seen > 0 {
			pace = min(pace, seen)
		}
	}
	return max(pace, fastestBlocks)
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
		n, ok := c.askOne(ctx, e)
		if !ok {
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

// askOne asks one upstream for its head; false if the answer is not plausible.
func (c *Chain) askOne(ctx context.Context, e *Endpoint) (head uint64, ok bool) {
	method := "eth_blockNumber"
	if c.Family == chain.Solana {
		method = "getSlot"
	}
	result, reason := e.ask(ctx, method, "[]")
	if reason != "" {
		return 0, false
	}
	if head, ok = parseHead(result); !ok || !c.plausible(Latest, head) {
		return 0, false
	}
	e.reported.Saw(Latest, head, c.now())
	return head, true
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

// covers reports whether an upstream said that it has a block, and asks for its head if it has not
// said so yet.
func (c *Chain) covers(ctx context.Context, e *Endpoint, block uint64) bool {
	if e.reported.Head(Latest) >= block {
		return true
	}
	n, ok := c.askOne(ctx, e)
	return ok && n >= block
}

// nearTime is how far the head of an upstream may be behind, in time, for calls that depend on the
// head without naming it.
const nearTime = 3 * time.Second

// NearHead returns the block that an upstream should have for a call that depends on the head
// without naming it.
func (c *Chain) NearHead(head uint64) uint64 {
	lag := max(1, uint64(nearTime/c.livePace())) //nolint:gosec // positive
	return head - min(head, lag)
}

// ShareHeads makes the heads that clients are told the same in all processes, and fresh while calls
// come. follow keeps them so until its context ends.
func (b *Board) ShareHeads(p *Pool) (follow func(ctx context.Context)) {
	share := func(c *Chain) {
		c.heads.Share(heads.Redis(b.rdb, toldKey(c.ID)), p.now)
		c.heads.refreshes.Store(true)
	}
	p.reloading.Lock()
	defer p.reloading.Unlock()
	p.share = share
	for _, c := range p.set.Load().chains {
		share(c)
	}
	return func(ctx context.Context) { followHeads(ctx, p) }
}

// followHeads follows the heads of every chain, also of those that a reload adds.
func followHeads(ctx context.Context, p *Pool) {
	var following sync.WaitGroup
	defer following.Wait()
	followed := make(map[*memory]context.CancelFunc)
	tick := time.NewTicker(followNewEvery)
	defer tick.Stop()
	for {
		current := make(map[*memory]bool)
		for _, c := range p.set.Load().chains {
			m := c.memory
			if current[m] = true; followed[m] != nil {
				continue
			}
			chainCtx, cancel := context.WithCancel(ctx)
			followed[m] = cancel
			following.Go(func() { _ = m.heads.Follow(chainCtx) }) // it is shared
		}
		for m, cancel := range followed {
			if !current[m] {
				cancel()
				delete(followed, m)
			}
		}
		select {
		case <-ctx.Done():
			for _, cancel := range followed {
				cancel()
			}
			return
		case <-tick.C:
		}
	}
}

// followNewEvery is how soon the heads of a chain that a reload added are followed.
const followNewEvery = 500 * time.Millisecond
