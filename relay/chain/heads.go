package chain

import "bytes"

// Heads are the heads of a chain that weights and caps depend on; zero for one that is not known.
// Safe and Finalized are known on EVM chains only.
type Heads struct{ Latest, Safe, Finalized uint64 }

// tag is a block's name that stands for one of the heads.
type tag uint8

// The tags. Pending counts as latest, and so does an omitted bound of a range.
const (
	latestTag tag = iota
	safeTag
	finalizedTag
)

// readDeepTag reads safe and finalized. Some nodes fold the case of a tag.
func readDeepTag(content []byte) (t tag, ok bool) {
	switch {
	case bytes.EqualFold(content, []byte("safe")):
		return safeTag, true
	case bytes.EqualFold(content, []byte("finalized")):
		return finalizedTag, true
	}
	return latestTag, false
}

// of returns the number of the block that a tag stands for. Safe and finalized count as the latest
// while they are not known.
func (h *Heads) of(t tag) uint64 {
	switch {
	case t == safeTag && h.Safe > 0:
		return h.Safe
	case t == finalizedTag && h.Finalized > 0:
		return h.Finalized
	}
	return h.Latest
}
