package heads

import (
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/relay/chain"
)

// FastestBlocks is the shortest time between two blocks that is believed.
const FastestBlocks = time.Millisecond

const commitmentSlack = 4096 // slots that Solana may be without finality, half an hour

// Base is the last heads from probes: the base of the plausibility limit. Answers do not move it,
// or an upstream could raise the limit step by step.
type Base struct {
	latest, safe, finalized atomic.Uint64 // zero if not known
	at                      atomic.Int64  // unix nanoseconds of the probes
	blockTime               atomic.Int64  // nanoseconds; zero before the first
}

// Set takes over the heads of a round of probes.
func (b *Base) Set(h chain.Heads, at time.Time, blockTime time.Duration) {
	b.latest.Store(h.Latest)
	b.at.Store(at.UnixNano())
	b.blockTime.Store(int64(blockTime))
	b.safe.Store(h.Safe)
	b.finalized.Store(h.Finalized)
}

// Heads returns the latest, safe and finalized head; zero for one that nobody vouches for.
func (b *Base) Heads() chain.Heads {
	return chain.Heads{Latest: b.latest.Load(), Safe: b.safe.Load(), Finalized: b.finalized.Load()}
}

// Age returns how long ago the probes were.
func (b *Base) Age(now time.Time) time.Duration { return time.Duration(now.UnixNano() - b.at.Load()) }

// BlockTime returns the time between two blocks; zero before the first round.
func (b *Base) BlockTime() time.Duration { return time.Duration(b.blockTime.Load()) }

// Limit returns the highest head of a kind that an upstream is believed for: what the chain can
// have produced since the probes, and some slack.
func (b *Base) Limit(kind Kind, now time.Time, slack uint64) uint64 {
	limit := b.latest.Load() + Reach(b.Age(now), b.BlockTime()) + slack
	if kind != Latest {
		limit += commitmentSlack
	}
	return limit
}

// Reach returns how many blocks a chain can plausibly produce in this time: twice the usual number.
func Reach(passed, blockTime time.Duration) uint64 {
	return uint64(2 * max(passed, 0) / max(blockTime, FastestBlocks)) //nolint:gosec // not negative
}
