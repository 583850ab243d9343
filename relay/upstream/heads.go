package upstream

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream/internal/heads"
)

// HeadKind is which of a chain's heads a call asks for.
type HeadKind = heads.Kind

// The heads. EVM chains have Latest, and next to it Safe and Finalized. On Solana, Latest is the
// default commitment, finalized.
const (
	NoHead    = heads.None
	Latest    = heads.Latest
	Confirmed = heads.Confirmed
	Processed = heads.Processed
)

// chainHeads are a chain's heads as this process knows them. What clients are told never goes back,
// unless the chain did.
type chainHeads struct {
	heads.Told

	base      heads.Base
	floor     heads.Floor
	refreshes atomic.Bool // whether upstreams are asked for the head while calls come
	pace      heads.Pace
	turn      atomic.Uint32
}

// measured takes over the heads of a round of probes.
func (c *Chain) measured(s *Snapshot) {
	h, base := &c.heads, chain.Heads{
		Latest: s.Head, Safe: s.Safe.at(s.MeasuredAt), Finalized: s.Finalized.at(s.MeasuredAt),
	}
	h.base.Set(base, s.MeasuredAt, c.blockTime(s))
	h.Want(Latest, c.heldHead(s))
	h.Want(heads.Safe, base.Safe)
	h.Want(heads.Finalized, base.Finalized)
}

// heldHead returns the head of a round of probes, or the highest that upstreams have now. Clients
// were told more only if the chain went back: that is lowered after a minute in which all upstreams
// that could answer agreed, and at least two did where there are as many.
func (c *Chain) heldHead(s *Snapshot) uint64 {
	var have []uint64
	for i := range s.Upstreams {
		u := &s.Upstreams[i]
		if u.Head > 0 && u.ChainIDOK && (u.Reason == "" || u.Reason == ReasonLagging) {
			have = append(have, u.Head)
		}
	}
	if len(have) == 0 || len(have) < min(2, len(c.endpoints)) {
		return s.Head
	}
	slices.Sort(have)
	highest, vouched := have[len(have)-1], have[max(0, len(have)-2)]
	told, _ := c.Head()
	if c.heads.floor.Below(highest, told, s.MeasuredAt) {
		c.heads.Fall(generationAt(s.MeasuredAt), vouched)
	}
	return min(s.Head, highest)
}

// Head returns the head that clients may be told now; it goes back only if the chain does. known is
// false before the first snapshot that has a head.
func (c *Chain) Head() (head uint64, known bool) {
	head = c.heads.Head(Latest, c.now())
	return head, head > 0
}

// oldHead is the age at which a head counts as old. Rounds of probes are at most a minute apart.
const oldHead = 90 * time.Second

// Heads returns the state of a chain's head for readiness: "ok", that none is known yet, or how old
// the probes' last one is.
func (c *Chain) Heads() (standing string, known bool) {
	if _, known := c.Head(); !known {
		return "head not known yet", false
	}
	age := c.heads.base.Age(c.now())
	if age < oldHead {
		return "ok", true
	}
	return "head is " + age.Truncate(time.Second).String() +
		" old: look whether a worker runs and reaches Temporal", true
}

// CorroboratedHead returns the last head from probes, which no single upstream's answer can raise.
// It goes back if the chain does. known is false before the first snapshot that has a head.
func (c *Chain) CorroboratedHead() (head uint64, known bool) {
	head = c.heads.base.Heads().Latest
	return head, head > 0
}

// CorroboratedHeads returns the last heads from probes: that of CorroboratedHead, and the safe and
// the finalized one as far as upstreams vouch for them.
func (c *Chain) CorroboratedHeads() (heads chain.Heads, known bool) {
	heads = c.heads.base.Heads()
	return heads, heads.Latest > 0
}

// ObserveHead records the head that an upstream answered and returns the one for the client, which
// is never lower than one returned before. ok is false if n is further ahead than the chain can
// have come since the last measurement.
func (c *Chain) ObserveHead(kind HeadKind, n uint64) (head uint64, ok bool) {
	if ok = c.plausible(kind, n); ok {
		c.heads.Want(kind, n)
	}
	return c.heads.Head(kind, c.now()), ok
}

func (c *Chain) plausible(kind HeadKind, n uint64) bool {
	return n <= c.heads.Wanted(kind) || n <= c.heads.base.Limit(kind, c.now(), c.slack)
}

const maxSlack = 64 // blocks

// slackOf returns how many blocks beyond its block time the chain's head may be: as many as an
// upstream may lag. It is maxSlack for a chain with a single upstream or another id than the
// catalog's, whose block time may also differ from the catalog's.
func (c *Chain) slackOf() uint64 {
	if len(c.endpoints) == 1 || c.Private() {
		return maxSlack
	}
	return min(maxSlack, c.toleratedLag())
}

// blockTime returns the time between two blocks: the catalog's, or a shorter one that probes
// measured.
func (c *Chain) blockTime(last *Snapshot) time.Duration {
	seen := time.Duration(last.BlockMicros) * time.Microsecond
	if seen <= 0 || seen > c.BlockTime {
		return c.BlockTime
	}
	return max(seen, heads.FastestBlocks)
}

var errImplausibleHead = errors.New("the upstream's head is not a number, or further ahead than the chain can be")

// checkHead checks an upstream's answer about a head and returns the one for the client.
func (c *Chain) checkHead(e *Endpoint, kind HeadKind, result []byte) ([]byte, error) {
	n, ok := parseHead(result)
	if !ok || !c.plausible(kind, n) {
		return nil, errImplausibleHead
	}
	now := c.now()
	e.reported.Saw(kind, n, now)
	if kind != Latest || !c.heads.refreshes.Load() || !c.corroborate(n) {
		c.heads.Want(kind, n)
	}
	head := c.heads.Head(kind, now)
	if head == 0 { // of a commitment of which nothing was told yet
		head = n
	}
	if head == n {
		return result, nil
	}
	return c.formatHead(head), nil
}

// HeadResult returns a cached result about a head, or the newer head if one is known since.
func (c *Chain) HeadResult(kind HeadKind, stored []byte) []byte {
	if n, ok := parseHead(stored); ok {
		if head := c.heads.Head(kind, c.now()); head > n {
			return c.formatHead(head)
		}
	}
	return stored
}

// formatHead formats a head as the chain's nodes do: a hex quantity, or a number on Solana.
func (c *Chain) formatHead(n uint64) []byte {
	if c.Family == chain.Solana {
		return strconv.AppendUint(nil, n, 10)
	}
	return strconv.AppendQuote(nil, "0x"+strconv.FormatUint(n, 16))
}

// Told returns the heads that the gateway stands for in a call that came at this moment. fresh is
// false if another process may have told of a higher one; then FreshHeads returns it. While calls
// come, Told also has an upstream asked for a newer head.
func (c *Chain) Told(ctx context.Context, arrived time.Time) (h chain.Heads, fresh bool) {
	c.refreshHead(ctx, arrived, false)
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
	base := c.heads.base.Heads()
	if base.Safe == 0 {
		h.Safe = 0
	}
	if base.Finalized == 0 {
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

// livePace returns the time between two blocks: the shortest that the catalog, the probes or this
// process knows.
func (c *Chain) livePace() time.Duration {
	pace := c.BlockTime
	for _, seen := range [...]time.Duration{c.heads.base.BlockTime(), c.heads.pace.BlockTime()} {
		if seen > 0 {
			pace = min(pace, seen)
		}
	}
	return max(pace, heads.FastestBlocks)
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
		c.heads.Share(heads.Redis(b.rdb, toldKey(c.Chain)), p.now)
		c.heads.refreshes.Store(true)
	}
	p.reloading.Lock()
	defer p.reloading.Unlock()
	p.share = share
	for _, c := range p.set.Load().chains {
		share(c)
	}
	current := func() (list []*heads.Told) {
		for _, c := range p.set.Load().chains {
			list = append(list, &c.memory.heads.Told)
		}
		return list
	}
	return func(ctx context.Context) { heads.FollowAll(ctx, current) }
}
