package chain

// FinalDepth is how many blocks below the head a block must lie before an answer about it is stored
// under the Final rule (docs/interface.md, 1.8, cache rules).
const FinalDepth = 64

// Deep reports whether a block lies at least FinalDepth below the head.
func Deep(block, head uint64) bool { return head >= FinalDepth && block <= head-FinalDepth }

// Proof names the members of an answer that show which block it is about.
type Proof struct {
	// Number is the member with the block's number. Empty when answers hold none, a count for
	// instance: then only the block's hash, the first parameter, shows the depth, where that block
	// is already known to be deep.
	Number string
	// Above is how far the block may lie above Number.
	Above uint64
	// Echo is the member that repeats the hash that was asked for; empty when none does.
	Echo string
	// Block is the member with the block's hash; empty when answers hold none.
	Block string
}

// uncleAge is how many blocks later than itself an uncle may be included at most (Ethereum's yellow
// paper, section 11.1).
const uncleAge = 6
