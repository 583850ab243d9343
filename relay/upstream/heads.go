package upstream

import (
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/relay/chain"
)

// HeadKind is which of a chain's heads a call asks for.
type HeadKind uint8

// The heads. EVM chains have only Latest. On Solana, Latest is the default commitment, finalized.
const (
	NoHead HeadKind = iota
	Latest
	Confirmed
	Processed
)

// heads are a chain's heads as this process knows them. They never go back.
type heads struct {
	known [Processed + 1]atomic.Uint64 // by kind; zero before the first

	// The last head from probes, with its time in unix nanoseconds: the base of the plausibility
	// limit. Answers do not move it, or an upstream could raise the limit step by step.
	base      atomic.Uint64
	baseAt    atomic.Int64
	blockTime atomic.Int64 // nanoseconds; zero before the first

	safe, finalized atomic.Uint64 // from probes; zero if not known
}

func (h *heads) measured(s *Snapshot, blockTime time.Duration) {
	h.base.Store(s.Head)
	h.baseAt.Store(s.MeasuredAt.UnixNano())
	h.blockTime.Store(int64(blockTime))
	h.safe.Store(s.Safe.at(s.MeasuredAt))
	h.finalized.Store(s.Finalized.at(s.MeasuredAt))
	h.raise(Latest, s.Head)
}

func (h *heads) raise(kind HeadKind, n uint64) uint64 {
	for {
		known := h.known[kind].Load()
		if n <= known {
			return known
		}
		if h.known[kind].CompareAndSwap(known, n) {
			return n
		}
	}
}

// Head returns the chain's head as this process knows it; it never goes back. known is false before
// the first snapshot that has a head.
func (c *Chain) Head() (head uint64, known bool) {
	head = c.heads.known[Latest].Load()
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
	age := time.Duration(c.now().UnixNano() - c.heads.baseAt.Load())
	if age < oldHead {
		return "ok", true
	}
	return "head is " + age.Truncate(time.Second).String() +
		" old: look whether a worker runs and reaches Temporal", true
}

// CorroboratedHead returns the last head from probes, which no single upstream's answer can raise.
// It goes back if the chain does. known is false before the first snapshot that has a head.
func (c *Chain) CorroboratedHead() (head uint64, known bool) {
	head = c.heads.base.Load()
	return head, head > 0
}

// CorroboratedHeads returns the last heads from probes: that of CorroboratedHead, and the safe and
// the finalized one as far as upstreams vouch for them.
func (c *Chain) CorroboratedHeads() (heads chain.Heads, known bool) {
	heads.Latest, known = c.CorroboratedHead()
	heads.Safe, heads.Finalized = c.heads.safe.Load(), c.heads.finalized.Load()
	return heads, known
}

// ObserveHead records the head that an upstream answered and returns the one for the client, which
// is never lower than one returned before. ok is false if n is further ahead than the chain can
// have come since the last measurement.
func (c *Chain) ObserveHead(kind HeadKind, n uint64) (head uint64, ok bool) {
	known := c.heads.known[kind].Load()
	if n <= known {
		return known, true
	}
	passed := time.Duration(c.now().UnixNano() - c.heads.baseAt.Load())
	limit := c.heads.base.Load() + reach(passed, time.Duration(c.heads.blockTime.Load())) + c.slack
	if kind != Latest {
		limit += commitmentSlack
	}
	if n > limit {
		return known, false
	}
	return c.heads.raise(kind, n), true
}

const (
	maxSlack        = 64               // blocks
	commitmentSlack = 4096             // slots that Solana may be without finality, half an hour
	fastestBlocks   = time.Millisecond // the shortest block time that is learned
)

// slackOf returns how many blocks beyond its block time the chain's head may be: as many as an
// upstream may lag. It is maxSlack for a chain with a single upstream or another id than the
// catalog's, whose block time may also differ from the catalog's.
func (c *Chain) slackOf() uint64 {
	known, ok := chain.Lookup(string(c.ID))
	if len(c.endpoints) == 1 || !ok || known.ChainID != c.ChainID {
		return maxSlack
	}
	return min(maxSlack, c.toleratedLag())
}

// reach returns how many blocks a chain can plausibly produce in this time: twice the usual number.
func reach(passed, blockTime time.Duration) uint64 {
	return uint64(2 * max(passed, 0) / max(blockTime, fastestBlocks)) //nolint:gosec // not negative
}

// blockTime returns the time between two blocks: the catalog's, or a shorter one that probes
// measured.
func (c *Chain) blockTime(last *Snapshot) time.Duration {
	seen := time.Duration(last.BlockMicros) * time.Microsecond
	if seen <= 0 || seen > c.BlockTime {
		return c.BlockTime
	}
	return max(seen, fastestBlocks)
}

var errImplausibleHead = errors.New("the upstream's head is not a number, or further ahead than the chain can be")

// checkHead checks an upstream's answer about a head and returns the one for the client.
func (c *Chain) checkHead(kind HeadKind, result []byte) ([]byte, error) {
	n, ok := parseHead(result)
	if !ok {
		return nil, errImplausibleHead
	}
	head, ok := c.ObserveHead(kind, n)
	if !ok {
		return nil, errImplausibleHead
	}
	if head == n {
		return result, nil
	}
	return c.formatHead(head), nil
}

// HeadResult returns a cached result about a head, or the newer head if one is known since.
func (c *Chain) HeadResult(kind HeadKind, stored []byte) []byte {
	if n, ok := parseHead(stored); ok {
		if head := c.heads.known[kind].Load(); head > n {
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
