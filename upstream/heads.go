package upstream

import (
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/chain"
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

	// What the probes found last, with its time in unix nanoseconds: the base of what is plausible. Answers do not move it, or an
	// upstream could raise the bound step by step.
	base   atomic.Uint64
	baseAt atomic.Int64
}

func (h *heads) measured(n uint64, at time.Time) {
	h.base.Store(n)
	h.baseAt.Store(at.UnixNano())
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

// Head is the chain's head as this process knows it; it never goes back. known is false before the first snapshot that has one.
func (c *Chain) Head() (head uint64, known bool) {
	head = c.heads.known[Latest].Load()
	return head, head > 0
}

// CorroboratedHead is the head that the probes found last, which no single upstream's answer has raised. It goes back when the chain
// does. known is false before the first snapshot that has one.
func (c *Chain) CorroboratedHead() (head uint64, known bool) {
	head = c.heads.base.Load()
	return head, head > 0
}

// ObserveHead takes the head that an upstream has just answered with and gives the one to answer: never lower than one answered
// before. It is not ok when the head is further ahead than the chain can have come since the last measurement.
func (c *Chain) ObserveHead(kind HeadKind, n uint64) (head uint64, ok bool) {
	known := c.heads.known[kind].Load()
	if n <= known {
		return known, true
	}
	limit := c.plausible(c.heads.base.Load(), c.now().UnixNano()-c.heads.baseAt.Load())
	if kind != Latest {
		limit += commitmentSlack
	}
	if n > limit {
		return known, false
	}
	return c.heads.raise(kind, n), true
}

const (
	headSlack       = 64   // blocks a burst may come faster than the block time says
	commitmentSlack = 4096 // slots that Solana may be without finality, half an hour
)

// plausible is the highest head that a chain may have reached nanos after its head was known.
func (c *Chain) plausible(known uint64, nanos int64) uint64 {
	blocks := 2 * max(nanos, 0) / max(int64(c.BlockTime), 1)
	return known + uint64(blocks) + headSlack
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

// HeadResult gives a stored result about a head, or the newer head when one is known since.
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
