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
	tag      Tag
	raw      []byte // of a tag or null, a slice of the parameters; nil if omitted
}

// resolve returns the bound's number. An omitted bound and every tag except earliest are a head;
// safe and finalized are the latest while they are not known.
func (b *bound) resolve(h *Heads) uint64 {
	if b.absolute {
		return b.number
	}
	number, _ := h.resolve(b.tag)
	return number
}

// logFilter is the part of an eth_getLogs filter that decides its range.
type logFilter struct {
	from, to bound
	byHash   bool   // one block, named by its hash
	inside   []byte // of the object, after its brace; nil without a filter
}

func (f *logFilter) needsHead() bool { return !f.byHash && f.from.absolute != f.to.absolute }

// measureLogs enforces the cap on the range of eth_getLogs. A range that ends before it begins is
// left to the node.
func measureLogs(params []byte, h *Heads, most uint64) (Measured, *fault.Error) {
	out := Measured{Weight: standardWeight}
	filter, refusal := readLogFilter(params)
	if refusal != nil || filter.byHash {
		return out, refusal
	}
	from, to := filter.from.resolve(h), filter.to.resolve(h)
	filter.place(&out, params, from, to, h)
	if from > to {
		return out, nil
	}
	last := to - from // one less than the count of blocks, so that it cannot overflow
	switch {
	case last >= most:
		return out, logRangeTooLarge(from, to, most)
	case last >= WideLogBlocks:
		out.Weight = heavyWeight
	}
	return out, nil
}

// place takes over the end of the range, and pins both bounds.
func (f *logFilter) place(out *Measured, params []byte, from, to uint64, h *Heads) {
	out.Head = !f.from.absolute || !f.to.absolute
	out.Floats = out.Head
	if f.to.absolute {
		out.Named = to
	}
	if from > to || f.inside == nil {
		return
	}
	out.Block = to
	if h.Latest > 0 {
		out.Block = min(to, h.Latest)
	}
	f.from.pin(&out.Pins, params, f.inside, leadFrom, h)
	f.to.pin(&out.Pins, params, f.inside, leadTo, h)
	out.Floats = out.Floats && !f.pinned(h)
}

// pinned reports whether the number of either bound is known, and the same for every node.
func (f *logFilter) pinned(h *Heads) bool {
	_, from := h.resolve(f.from.tag)
	_, to := h.resolve(f.to.tag)
	return (from || f.from.absolute) && (to || f.to.absolute)
}

// pin puts a number in the place of a tag, or of nothing.
func (b *bound) pin(pins *Pins, params, inside []byte, before lead, h *Heads) {
	if b.absolute {
		return
	}
	number, ok := h.resolve(b.tag)
	switch {
	case !ok:
	case b.raw != nil:
		pins.replace(params, b.raw, number)
	default:
		after := byte(',')
		if rest := skipSpace(inside); len(rest) > 0 && rest[0] == '}' && pins.Any() {
			after = 0 // the object was empty, and has the other bound by now
		}
		pins.insert(params, inside, pin{before: before, after: after, number: number})
	}
}

func logRangeTooLarge(from, to, most uint64) *fault.Error {
	last := from + most - 1
	return WithWorkingRange(fault.New(fault.RangeTooLarge,
		"eth_getLogs answers for at most %d blocks per call; %d to %d are more. Paginate: ask for fromBlock %#x "+
			"toBlock %#x (%s), then go on from %#x, up to %d blocks at a time, until %#x.",
		most, from, to, from, last, WorkingRange(from, last), last+1, most, to).
		With("from_block", from).With("to_block", to).With("max_blocks", int(most)), from, last)
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
		// no filter: the node reads the head block or asks for the parameter
		return logFilter{from: bound{tag: latestTag}, to: bound{tag: latestTag}}, nil
	}
	walk, ok := membersOf(raw)
	if !ok {
		return logFilter{}, fault.New(fault.ParameterRefused,
			"The filter of eth_getLogs (first parameter) is %s. Send an object with fromBlock and toBlock, or with "+
				"blockHash.", shown(raw))
	}
	var values [len(rangeMembers)][]byte
	inside := walk.rest
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
	filter, refusal := rangeOf(values)
	filter.inside = inside
	return filter, refusal
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
	filter.from = bound{tag: latestTag, raw: values[memberFrom]}
	filter.to = bound{tag: latestTag, raw: values[memberTo]}
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
		if t := readTag(content); t != NoTag {
			return bound{tag: t, raw: raw}, nil
		}
		if string(content) == "earliest" {
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
