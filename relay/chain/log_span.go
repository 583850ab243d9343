package chain

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/chainaccess/gateway/internal/fault"
)

// LogSpan is the range of blocks of an eth_getLogs call, both ends included.
type LogSpan struct {
	From, To uint64
	// FromTag and ToTag report that the end is a tag. Upstreams resolve it with heads of their own,
	// so their logs may be of blocks beyond it.
	FromTag, ToTag bool
	// Divisible reports that the call can be split into calls by number. That needs numbers, or the
	// tag latest, for which To is the head: a part ends at a number. It is false for safe and
	// finalized, whose numbers differ from upstream to upstream.
	Divisible bool
}

// LogSpan returns the range of an eth_getLogs call, with tags resolved as Weigh does; false for
// another method, a filter with blockHash, one that Weigh refuses, a range that ends before it
// begins, and one with pending, because pending logs have no block.
func (m *Method) LogSpan(params []byte, heads Heads) (LogSpan, bool) {
	if m.rule != weighLogRange {
		return LogSpan{}, false
	}
	filter, refusal := readLogFilter(params)
	if refusal != nil || filter.byHash {
		return LogSpan{}, false
	}
	s := LogSpan{
		From: filter.from.resolve(&heads), To: filter.to.resolve(&heads),
		FromTag: !filter.from.absolute, ToTag: !filter.to.absolute,
	}
	if s.From > s.To {
		return LogSpan{}, false
	}
	if filter.from.tag == pendingTag || filter.to.tag == pendingTag {
		return LogSpan{}, false
	}
	s.Divisible = filter.from.divisible() && filter.to.divisible()
	return s, true
}

// divisible reports whether the bound is a number, or latest.
func (b *bound) divisible() bool { return b.absolute || b.tag == latestTag }

// WithLogRange returns the parameters of an eth_getLogs call with other bounds. Everything else is
// copied byte for byte. params are those of a call that LogSpan accepts.
func WithLogRange(params []byte, from, to uint64) []byte {
	out := make([]byte, 0, len(params)+len(`{"fromBlock":"0x","toBlock":"0x"}`)+2*16)
	out = append(out, `[{"fromBlock":"0x`...)
	out = strconv.AppendUint(out, from, 16)
	out = append(out, `","toBlock":"0x`...)
	out = strconv.AppendUint(out, to, 16)
	out = append(out, '"')
	walk, ok := elementsOf(params)
	first := true
	for ok {
		var raw []byte
		if raw, ok = walk.next(); !ok {
			break
		}
		if !first {
			out = append(append(out, ','), raw...)
			continue
		}
		out, first = appendOtherMembers(out, raw), false
	}
	if first { // no filter: the head block
		out = append(out, '}')
	}
	return append(out, ']')
}

// appendOtherMembers appends the members of a filter, except its range, and the end of the object.
func appendOtherMembers(out, filter []byte) []byte {
	walk, _ := membersOf(filter)
	for {
		name, value, ok := walk.next()
		if !ok {
			return append(out, '}')
		}
		key, _ := text(name)
		if bytes.Equal(key, rangeMembers[memberFrom]) || bytes.Equal(key, rangeMembers[memberTo]) ||
			bytes.Equal(key, rangeMembers[memberHash]) { // it is null
			continue
		}
		out = append(append(append(append(out, ','), name...), ':'), value...)
	}
}

// WorkingRange returns the words in which providers propose a shorter range. Indexers parse them.
func WorkingRange(from, to uint64) string {
	return fmt.Sprintf("this block range should work: [%#x, %#x]", from, to)
}

// BlockRange is a range of blocks, both ends included, in the data of a refusal.
type BlockRange struct {
	FromBlock uint64 `json:"from_block"`
	ToBlock   uint64 `json:"to_block"`
}

// WithWorkingRange adds a range that would have worked as data.working_range.
func WithWorkingRange(f *fault.Error, from, to uint64) *fault.Error {
	return f.With("working_range", BlockRange{from, to})
}
