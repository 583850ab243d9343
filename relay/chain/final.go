package chain

import "cmp"

// FinalDepth is how many blocks below the head a block must be before an answer about it is cached
// under the Final rule (docs/interface.md, 1.8.4).
const FinalDepth = 64

// FinalDepth returns how many blocks below the head a block of this chain must be before an answer
// about it is cached: the constant of this name, unless the chain's definition has its own.
func (c *Chain) FinalDepth() uint64 { return cmp.Or(c.finalDepth, FinalDepth) }

// Deep reports whether a block is at least FinalDepth below the head.
func (c *Chain) Deep(block, head uint64) bool {
	depth := c.FinalDepth()
	return head >= depth && block <= head-depth
}

// Proof names the members of an answer that identify its block.
type Proof struct {
	// Number is the member with the block's number. It is empty when answers hold none, for example
	// a count. Then the block is known only by its hash, the first parameter, and the answer is
	// cached only if that block is already known to be deep.
	Number string
	// Above is the maximum distance of the block above Number.
	Above uint64
	// Echo is the member that repeats the requested hash; empty when no member does.
	Echo string
	// Block is the member with the block's hash; empty when answers hold none.
	Block string
}

// uncleAge is the maximum number of blocks between an uncle and the block that includes it
// (Ethereum yellow paper, section 11.1).
const uncleAge = 6
