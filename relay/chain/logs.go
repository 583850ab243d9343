package chain

import (
	"bytes"
	"math"

	"github.com/chainaccess/gateway/internal/fault"
)

// bound is one end of a log range: a number, or one of the heads (omitted, or a tag).
type bound struct {
	number   uint64
	absolute bool
	tag      tag
}

// resolve returns the bound's number. Earliest is 0, every other tag and an omitted bound a head.
func (b bound) resolve(h *Heads) uint64 {
	if b.absolute {
		return b.number
	}
	return h.of(b.tag)
}

// logFilter is the part of an eth_getLogs filter that decides its range.
type logFilter struct {
	from, to bound
	byHash   bool // one block, named by its hash
}

func (f logFilter) needsHead() bool { return !f.byHash && f.from.absolute != f.to.absolute }

// weighLogs enforces MaxLogBlocks on eth_getLogs. A range that ends before it begins is left to the
// node.
func weighLogs(params []byte, h *Heads) (Weight, *fault.Error) {
	filter, refusal := readLogFilter(params)
	if refusal != nil {
		return Weight{}, refusal
	}
	from, to := filter.from.resolve(h), filter.to.resolve(h)
	if filter.byHash || from > to {
		return standardWeight, nil
	}
	last := to - from // one less than the count of blocks, so that it cannot overflow
	switch {
	case last >= MaxLogBlocks:
		return Weight{}, logRangeTooLarge(from, to)
	case last >= WideLogBlocks:
		return heavyWeight, nil
	default:
		return standardWeight, nil
	}
}

func logRangeTooLarge(from, to uint64) *fault.Error {
	last := from + MaxLogBlocks - 1
	return WithWorkingRange(fault.New(fault.RangeTooLarge,
		"eth_getLogs answers for at most %d blocks per call; %d to %d are more. Paginate: ask for fromBlock %#x "+
			"toBlock %#x (%s), then go on from %#x, up to %d blocks at a time, until %#x.",
		MaxLogBlocks, from, to, from, last, WorkingRange(from, last), last+1, MaxLogBlocks, to).
		With("from_block", from).With("to_block", to).With("max_blocks", MaxLogBlocks), from, last)
}

// The members of a filter that decide its range.
var rangeMembers = [...][]byte{[]byte("fromBlock"), []byte("toBlock"), []byte("blockHash")}

const (
	memberFrom = iota
	memberTo
	memberHash
)

// readLogFilter reads the range of an eth_getLogs filter as every node would. It refuses what nodes
// read differently and what cannot be measured, because that could bypass the cap: repeated
// members, members in another case (some nodes fold it), bounds that are neither a tag nor a
// quantity, and a hash next to a range.
func readLogFilter(params []byte) (logFilter, *fault.Error) {
	raw, ok := param(params, 0)
	if !ok || isNull(raw) {
		return logFilter{}, nil // no filter: the node reads the head block or asks for the parameter
	}
	walk, ok := membersOf(raw)
	if !ok {
		return logFilter{}, fault.New(fault.ParameterRefused,
			"The filter of eth_getLogs (first parameter) is %s. Send an object with fromBlock and toBlock, or with "+
				"blockHash.", shown(raw))
	}
	var values [len(rangeMembers)][]byte
	for {
		name, value, ok := walk.next()
		if !ok {
			break
		}
		if refusal := takeRangeMember(&values, name, value); refusal != nil {
			return logFilter{}, refusal
		}
	}
	if walk.broken {
		return logFilter{}, fault.New(fault.ParameterRefused,
			"The filter of eth_getLogs is not valid JSON. Send an object with fromBlock and toBlock, or with "+
				"blockHash.")
	}
	return rangeOf(values)
}

func takeRangeMember(values *[len(rangeMembers)][]byte, name, value []byte) *fault.Error {
	key, ok := text(name)
	if !ok {
		return fault.New(fault.ParameterRefused,
			"The filter of eth_getLogs has a member name that is not a string. Send valid JSON.")
	}
	for i, member := range rangeMembers {
		if !bytes.EqualFold(key, member) {
			continue
		}
		if !bytes.Equal(key, member) {
			return fault.New(fault.ParameterRefused,
				"The filter of eth_getLogs has a member %s. Spell it %s: names are case-sensitive.", excerpt(key),
				member)
		}
		if values[i] != nil {
			return fault.New(fault.ParameterRefused, "The filter of eth_getLogs has %s twice. Send it once.", member)
		}
		values[i] = value
	}
	return nil
}

func rangeOf(values [len(rangeMembers)][]byte) (filter logFilter, refusal *fault.Error) {
	given := func(i int) bool { return values[i] != nil && !isNull(values[i]) }
	if given(memberHash) {
		if given(memberFrom) || given(memberTo) {
			return logFilter{}, fault.New(fault.ParameterRefused,
				"The filter of eth_getLogs has blockHash beside fromBlock or toBlock. Send either the hash or the "+
					"range.")
		}
		return logFilter{byHash: true}, nil
	}
	if given(memberFrom) {
		if filter.from, refusal = readBound("fromBlock", values[memberFrom]); refusal != nil {
			return logFilter{}, refusal
		}
	}
	if given(memberTo) {
		if filter.to, refusal = readBound("toBlock", values[memberTo]); refusal != nil {
			return logFilter{}, refusal
		}
	}
	return filter, nil
}

func readBound(member string, raw []byte) (bound, *fault.Error) {
	content, isString := text(raw)
	if isString {
		switch string(content) {
		case "latest", "pending":
			return bound{}, nil
		case "safe":
			return bound{tag: safeTag}, nil
		case "finalized":
			return bound{tag: finalizedTag}, nil
		case "earliest":
			return bound{absolute: true}, nil
		}
		// Nodes hold block numbers in 63 bits. Some read a larger one as a negative number, which
		// means a tag.
		if n, form := parseQuantity(content); form == hexDigits && n <= math.MaxInt64 {
			return bound{number: n, absolute: true}, nil
		}
	}
	return bound{}, fault.New(fault.ParameterRefused,
		"%s of the eth_getLogs filter is %s. Send a block number as a hex quantity such as \"0x10\", or one of "+
			"latest, pending, safe, finalized, earliest.",
		member, shown(raw))
}
