package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/relay/chain"
)

// Generation is part of the key under which answers of the chain are cached: read it before asking
// an upstream, and use it for look-up and storage. It grows when probes see a reorg deeper than
// chain.FinalDepth, or when the board was lost or stood for a wrong head. It never goes down.
func (c *Chain) Generation() uint64 { return c.generation.Load() }

func (c *Chain) raiseGeneration(n uint64) {
	for {
		known := c.generation.Load()
		if n <= known || c.generation.CompareAndSwap(known, n) {
			return
		}
	}
}

// maxWitnesses bounds how many upstreams are asked when one reports another past than the
// checkpoint.
const maxWitnesses = 8

// checkPast checks that final blocks have not changed, with one call per round. It learns the hash
// of a block below chain.FinalDepth from one upstream, has another confirm it, and then verifies
// the checkpoint before it. Every checkpoint is verified again after the next one was learned, so
// that no reorg below it can slip through between two rounds. Upstreams take turns. Solana needs
// none of this: its slots are asked for at the finalized commitment, and nothing that a fork could
// change is cached for longer than a second.
func (c *Chain) checkPast(ctx context.Context, s *Snapshot) {
	s.Checkpoints = c.prober.last.Checkpoints
	if s.Generation = max(c.prober.last.Generation, c.Generation()); s.Generation == 0 {
		// The board was lost, so nothing is known of reorgs since. A new generation keeps earlier
		// cached answers from being served.
		s.Generation = generationAt(s.MeasuredAt)
	}
	alone := c.countable(s) == 1
	witnesses := c.witnesses(s)
	if c.Family != chain.EVM || !s.HeadKnown || s.Head <= c.FinalDepth()+1 || len(witnesses) == 0 {
		return
	}
	c.prober.turn++
	asked := witnesses[c.prober.turn%len(witnesses)]
	known := slices.Clone(s.Checkpoints)
	switch n := len(known); {
	case n > 0 && !known[n-1].Confirmed:
		s.Checkpoints = c.confirm(ctx, known, witnesses, alone)
	case n > 1:
		c.verify(ctx, s, asked, witnesses, alone)
	default:
		height := s.Head - c.FinalDepth() - 1
		if n > 0 && height <= known[0].Height {
			return
		}
		if b, ok := c.blockAt(ctx, asked, height); ok {
			s.Checkpoints = slices.Concat(known, []Checkpoint{
				{Height: height, Hash: b.hash, By: asked.Name, Confirmed: alone},
			})
		}
	}
}

// forgetPast invalidates everything cached while the head was wrong, which may include blocks that
// were not final.
func (c *Chain) forgetPast(s *Snapshot) {
	s.Generation = max(c.prober.last.Generation+1, c.Generation()+1, generationAt(s.MeasuredAt))
	s.Checkpoints = nil
	c.raiseGeneration(s.Generation)
}

// witnesses returns the upstreams that may vote about the past.
func (c *Chain) witnesses(s *Snapshot) []*Endpoint {
	var found []*Endpoint
	for i, e := range c.endpoints {
		if _, cordoned := c.prober.cordons[e.Name]; !cordoned && s.Upstreams[i].Usable {
			found = append(found, e)
		}
	}
	return found
}

// confirm has the newest checkpoint confirmed by another upstream than its source. If they differ,
// the checkpoint is dropped: a made-up one must not look like a reorg later. While the others do
// not answer, it stays unconfirmed. Without others it is confirmed only if alone.
func (c *Chain) confirm(ctx context.Context, known []Checkpoint, witnesses []*Endpoint, alone bool) []Checkpoint {
	newest := &known[len(known)-1]
	others := slices.DeleteFunc(slices.Clone(witnesses), func(e *Endpoint) bool { return e.Name == newest.By })
	if len(others) == 0 {
		newest.Confirmed = alone
		return known
	}
	b, ok := c.blockAt(ctx, others[c.prober.turn%len(others)], newest.Height)
	switch {
	case !ok:
	case b.hash == newest.Hash:
		newest.Confirmed = true
	default:
		known = known[:len(known)-1]
	}
	return known
}

// verify checks the oldest checkpoint. If the asked upstream returns another hash, the others are
// asked too. The chain has reorganised if more of them confirm the new hash than the old one, or if
// alone. While the others do not answer, the question stays open.
func (c *Chain) verify(ctx context.Context, s *Snapshot, asked *Endpoint, witnesses []*Endpoint, alone bool) {
	old := s.Checkpoints[0]
	b, ok := c.blockAt(ctx, asked, old.Height)
	switch {
	case !ok:
		return
	case b.hash == old.Hash:
		s.Checkpoints = s.Checkpoints[1:]
		return
	}
	others := slices.DeleteFunc(slices.Clone(witnesses), func(e *Endpoint) bool { return e == asked })
	forNew, forOld := c.opinions(ctx, others, old, b.hash)
	if !alone && (forNew == 0 || forNew+1 <= forOld) {
		return
	}
	s.Generation = max(s.Generation+1, generationAt(s.MeasuredAt))
	s.Checkpoints = []Checkpoint{{Height: old.Height, Hash: b.hash, By: asked.Name, Confirmed: true}}
	c.raiseGeneration(s.Generation)
}

// generationAt returns a generation higher than any before, even if Redis lost its data in between.
func generationAt(now time.Time) uint64 { return uint64(now.UnixMilli()) } //nolint:gosec // after 1970

// opinions asks for the hash at a checkpoint's height and counts the votes for the new and the old
// hash.
func (c *Chain) opinions(ctx context.Context, others []*Endpoint, old Checkpoint, hash string) (forNew, forOld int) {
	said := make([]string, min(len(others), maxWitnesses))
	var asking parallel.Group
	for i := range said {
		asking.Go(func() error {
			if b, ok := c.blockAt(ctx, others[i], old.Height); ok {
				said[i] = b.hash
			}
			return nil
		})
	}
	_ = asking.Wait() // none fails
	for _, s := range said {
		switch s {
		case hash:
			forNew++
		case old.Hash:
			forOld++
		}
	}
	return forNew, forOld
}

// block is the part of a block that probes use.
type block struct {
	hash string // empty on Solana
	at   time.Time
}

// blockAt asks for the block at a height (slot on Solana); false if the upstream does not have it.
func (c *Chain) blockAt(ctx context.Context, e *Endpoint, height uint64) (block, bool) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if c.Family == chain.Solana {
		result, reason := e.ask(ctx, "getBlockTime", fmt.Sprintf("[%d]", height))
		seconds, err := strconv.ParseInt(string(result), 10, 64)
		return block{at: time.Unix(seconds, 0)}, reason == "" && err == nil
	}
	result, reason := e.ask(ctx, "eth_getBlockByNumber", fmt.Sprintf(`["0x%x",false]`, height))
	var b struct{ Hash, Number, Timestamp string }
	if reason != "" || json.Unmarshal(result, &b) != nil || b.Hash == "" {
		return block{}, false
	}
	number, ok := parseQuantity(b.Number)
	seconds, timed := parseQuantity(b.Timestamp)
	if !ok || !timed || number != height {
		return block{}, false
	}
	return block{hash: b.Hash, at: time.Unix(int64(seconds), 0)}, true //nolint:gosec // at most 63 bits
}
