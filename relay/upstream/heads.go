package upstream

import (
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/relay/chain"
)

// HeadKind says which of a chain's heads a call asks for.
type HeadKind uint8

// The heads. EVM chains have Latest alone; on Solana it is the default commitment, finalized.
const (
	NoHead HeadKind = iota
	Latest
	Confirmed
	Processed
)

// heads are a chain's heads as this process knows them. They never go back.
type heads struct {
	known [Processed + 1]atomic.Uint64 // by kind; zero before the first

	// What the probes found last, with its time in unix nanoseconds: the base of what is plausible.
	// Answers do not move it, or an upstream could raise the bound step by step.
	base      atomic.Uint64
	baseAt    atomic.Int64
	blockTime atomic.Int64 // nanoseconds; zero before the first
}

func (h *heads) measured(n uint64, at time.Time, blockTime time.Duration) {
	h.base.Store(n)
	h.baseAt.Store(at.UnixNano())
	h.blockTime.Store(int64(blockTime))
	h.raise(Latest, n)
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

// Head is the chain's head as this process knows it; it never goes back. known is false before the
// first snapshot that has one.
func (c *Chain) Head() (head uint64, known bool) {
	head = c.heads.known[Latest].Load()
	return head, head > 0
}

// oldHead is the age from which on a head counts as old: rounds of probes are a minute apart at
// most.
const oldHead = 90 * time.Second

// Heads says how a chain's head stands, for readiness: "ok", that none is known yet, or how old the
// probes' last one is.
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

// CorroboratedHead is the head that the probes found last, which no single upstream's answer has
// raised. It goes back when the chain does. known is false before the first snapshot that has one.
func (c *Chain) CorroboratedHead() (head uint64, known bool) {
	head = c.heads.base.Load()
	return head, head > 0
}

// ObserveHead takes the head that an upstream has just answered with and gives the one to answer:
// never lower than one answered before. It is not ok when the head is further ahead than the chain
// can have come since the last measurement.
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

// slackOf is how many blocks the chain may be further than its block time says: those of a minute,
// as far as an upstream may lag. Of a chain with one upstream, and of one with another id than the
// catalog's, the block time may be another than the catalog's as well.
func (c *Chain) slackOf() uint64 {
	known, ok := chain.Lookup(string(c.ID))
	if len(c.endpoints) == 1 || !ok || known.ChainID != c.ChainID {
		return maxSlack
	}
	return min(maxSlack, c.toleratedLag())
}

// reach is how many blocks a chain may plausibly come in a time: twice as many as usual.
func reach(passed, blockTime time.Duration) uint64 {
	return uint64(2 * max(passed, 0) / max(blockTime, fastestBlocks)) //nolint:gosec // not negative
}

// blockTime is the time between two blocks: the catalog's, or a shorter one that the probes saw.
func (c *Chain) blockTime(last *Snapshot) time.Duration {
	seen := time.Duration(last.BlockMicros) * time.Microsecond
	if seen <= 0 || seen > c.BlockTime {
		return c.BlockTime
	}
	return max(seen, fastestBlocks)
}

var errImplausibleHead = errors.New("the upstream's head is not a number, or further ahead than the chain can be")

// checkHead takes an upstream's answer about a head and gives the one for the client.
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

// HeadResult returns a stored result about a head, or the newer head when one is known since.
func (c *Chain) HeadResult(kind HeadKind, stored []byte) []byte {
	if n, ok := parseHead(stored); ok {
		if head := c.heads.known[kind].Load(); head > n {
			return c.formatHead(head)
		}
	}
	return stored
}

// formatHead writes a head as the chain's nodes do: a hex quantity, or a number on Solana.
func (c *Chain) formatHead(n uint64) []byte {
	if c.Family == chain.Solana {
		return strconv.AppendUint(nil, n, 10)
	}
	return strconv.AppendQuote(nil, "0x"+strconv.FormatUint(n, 16))
}
