// Package logrange has the parts of eth_getLogs over a range that need no upstream: what a refused
// range says about an upstream's limit, splitting a range, checking that logs belong to it, and
// merging the answers to its parts.
package logrange

import "math"

// Range is a range of blocks, both ends included. To is at least From.
type Range struct{ From, To uint64 }

// Blocks returns the number of blocks, math.MaxUint64 if it is larger than any other.
func (r Range) Blocks() uint64 {
	if r.To-r.From == math.MaxUint64 {
		return math.MaxUint64
	}
	return r.To - r.From + 1
}

// Requests returns how many requests of at most limit blocks cover the range.
func (r Range) Requests(limit uint64) uint64 { return (r.Blocks()-1)/limit + 1 }

// Split returns the range in parts of limit blocks, in order; the last may be shorter. limit is at
// least 1. The caller bounds Requests.
func (r Range) Split(limit uint64) []Range {
	parts := make([]Range, 0, r.Requests(limit))
	for from := r.From; ; from += limit {
		if r.To-from < limit {
			return append(parts, Range{from, r.To})
		}
		parts = append(parts, Range{from, from + limit - 1})
	}
}

// Halves returns the range as two, of which the first is not the shorter one. It has at least two
// blocks.
func (r Range) Halves() []Range { return r.Split((r.Blocks()-1)/2 + 1) }
