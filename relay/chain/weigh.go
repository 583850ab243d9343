package chain

import (
	"bytes"
	"math"
	"strconv"

	"github.com/chainaccess/gateway/internal/fault"
)

// Caps and thresholds of the relay (docs/interface.md, 1.8). They are the same on every
// plan.
const (
	// MaxLogBlocks is the most blocks one eth_getLogs may span, both bounds counted.
	MaxLogBlocks = 1000
	// WideLogBlocks is the most blocks an eth_getLogs may span and still weigh 1.
	WideLogBlocks = 128
	// MaxFeeBlocks is the most blocks one eth_feeHistory may ask for.
	MaxFeeBlocks = 1024
	// StateDepth is how many blocks below the head a state read may be and still weigh 1.
	StateDepth = 128
)

// Weight is the weight of one call: whole units before the tier's multiplier, and the class under
// which it is recorded.
type Weight struct {
	Units int
	Class Class
}

var (
	standardWeight = Weight{Units: 1, Class: Standard}
	heavyWeight    = Weight{Units: 2, Class: Heavy}
)

// NeedsHead reports whether Weigh needs the chain's latest head for these parameters. It is false
// for parameters that Weigh refuses at any head, and for tags alone: they weigh 1 while no head is
// known.
func (m *Method) NeedsHead(params []byte) bool {
	switch m.rule {
	case weighLogRange:
		filter, refusal := readLogFilter(params)
		return refusal == nil && filter.needsHead()
	case weighStateDepth:
		block := m.block(params, &Heads{})
		return block.kind == blockNumber
	default:
		return false
	}
}

// Weigh computes the weight of a call from its parameters and the chain's heads alone. params is
// the raw JSON array, or empty. Weigh returns fault.RangeTooLarge for what a cap forbids, and
// fault.ParameterRefused for what would bypass a cap. Other malformed parameters weigh 1 and are
// left to the node. Links.On adds the operator's links to a range refusal. Measure does the same,
// and returns more.
func (m *Method) Weigh(params []byte, heads Heads) (Weight, *fault.Error) {
	measured, refusal := m.Measure(params, &heads, 0)
	if refusal != nil {
		return Weight{}, refusal
	}
	return measured.Weight, nil
}

// weighFeeHistory enforces MaxFeeBlocks on the block count. Nodes accept a hex quantity or a
// decimal number, quoted or not.
func weighFeeHistory(params []byte) (Weight, *fault.Error) {
	raw, ok := param(params, 0)
	if !ok || isNull(raw) {
		return standardWeight, nil
	}
	digits := raw
	if quoted, isString := text(raw); isString {
		digits = quoted
	}
	count, form := parseQuantity(digits)
	if form == decimalDigits || form == hexDigits {
		if count <= MaxFeeBlocks {
			return standardWeight, nil
		}
		return Weight{}, fault.New(fault.RangeTooLarge,
			"eth_feeHistory answers for at most %d blocks per call and %s were asked for. Paginate: ask for %d "+
				"blocks at a time, each call with a newestBlock %d lower than the last.",
			MaxFeeBlocks, excerpt(digits), MaxFeeBlocks, MaxFeeBlocks).
			With("max_blocks", MaxFeeBlocks)
	}
	if len(digits) == 0 {
		return standardWeight, nil // nodes treat an empty count as absent
	}
	return Weight{}, fault.New(fault.ParameterRefused,
		"The block count of eth_feeHistory (first parameter) is %s. Send a hex quantity such as \"0x14\" or a whole "+
			"number, at most %d.",
		shown(raw), MaxFeeBlocks)
}

// The kinds of block that a call may name.
const (
	blockOther    = iota // a hash, or nothing that a node would read as a number
	blockOmitted         // no value, or null
	blockTag             // a head
	blockNumber          // a number, to be compared with the head
	blockEarliest        // the genesis block, deep at any head
)

type blockRef struct {
	kind   int
	number uint64 // of a tag, zero if its head is not known
	tag    Tag
	raw    []byte // the value that names it, a slice of the parameters; nil if it must stay
	end    []byte // where an omitted value may be filled in, a slice of the parameters; nil if it may not
}

// deep reports whether a state read is more than StateDepth below the head.
func (b *blockRef) deep(head uint64) bool {
	switch {
	case b.kind == blockEarliest:
		return true
	case !b.numbered():
		return false
	}
	return head > StateDepth && b.number < head-StateDepth
}

// numbered reports whether the block's number is known.
func (b *blockRef) numbered() bool {
	return b.kind == blockNumber || b.kind == blockTag && b.number > 0
}

// deeper reports whether a block is below another, as far as that is known.
func (b *blockRef) deeper(than *blockRef) bool {
	switch {
	case b.kind == blockEarliest:
		return true
	case !b.numbered():
		return than.kind == blockOther
	}
	return than.kind != blockEarliest && (!than.numbered() || b.number < than.number)
}

// block reads the block parameter. A hash counts as near the head, because its depth is not known
// from the request.
func (m *Method) block(params []byte, h *Heads) blockRef {
	raw, rest, ok := paramOrEnd(params, m.BlockParam)
	switch {
	case !ok && m.fills && rest != nil && callObject(params):
		return blockRef{kind: blockOmitted, tag: latestTag, end: rest}
	case !ok:
		return blockRef{kind: blockOmitted, tag: latestTag}
	case isNull(raw) && m.fills:
		return blockRef{kind: blockTag, tag: latestTag, raw: raw, number: h.Latest}
	case isNull(raw):
		return blockRef{kind: blockOmitted, tag: latestTag}
	}
	walk, isObject := membersOf(raw)
	if !isObject {
		if content, isString := text(raw); isString && len(content) == len("0x")+64 {
			return blockRef{}
		}
		return readBlock(raw, h)
	}
	// EIP-1898: {"blockNumber": …} or {"blockHash": …}. Nodes differ on repeated names and on case,
	// so the deepest block that any of them might read decides.
	var deepest blockRef
	for found := 0; ; found++ {
		name, value, ok := walk.next()
		if !ok {
			return deepest
		}
		key, ok := text(name)
		if ok && bytes.EqualFold(key, []byte("blockHash")) {
			continue
		}
		read := readBlock(value, h)
		if found > 0 || string(key) != "blockNumber" {
			read.raw, deepest.raw = nil, nil
		}
		if read.deeper(&deepest) {
			deepest = read
		}
	}
}

// callObject reports whether the first parameter is an object, so that a block may follow it.
func callObject(params []byte) bool {
	first, ok := param(params, 0)
	return ok && first[0] == '{'
}

func readBlock(raw []byte, h *Heads) blockRef {
	digits := raw
	if content, ok := text(raw); ok {
		if bytes.EqualFold(content, []byte("earliest")) {
			return blockRef{kind: blockEarliest}
		}
		if t := readTag(content); t != NoTag {
			number, _ := h.resolve(t)
			return blockRef{kind: blockTag, tag: t, raw: raw, number: number}
		}
		if t := foldTag(content); t != NoTag {
			number, _ := h.resolve(t)
			return blockRef{kind: blockTag, tag: t, number: number}
		}
		digits = content
	}
	if n, form := parseQuantity(digits); form != notDigits {
		return blockRef{kind: blockNumber, number: n}
	}
	return blockRef{}
}

// digitForm is the notation of a number.
type digitForm uint8

const (
	notDigits digitForm = iota
	decimalDigits
	hexDigits
)

// parseQuantity reads a hex quantity (0x, leading zeros allowed) or a whole decimal number. A
// number beyond 64 bits returns math.MaxUint64, which is above every cap and every head.
func parseQuantity(b []byte) (n uint64, form digitForm) {
	base, form := uint64(10), decimalDigits
	if len(b) > 1 && b[0] == '0' && (b[1] == 'x' || b[1] == 'X') {
		b, base, form = b[2:], 16, hexDigits
	}
	if len(b) == 0 {
		return 0, notDigits
	}
	overflow := false
	for _, c := range b {
		d := digitValue(c)
		if d >= base {
			return 0, notDigits
		}
		overflow = overflow || n > (math.MaxUint64-d)/base
		n = n*base + d
	}
	if overflow {
		n = math.MaxUint64
	}
	return n, form
}

func digitValue(c byte) uint64 {
	switch {
	case c >= '0' && c <= '9':
		return uint64(c - '0')
	case c >= 'a' && c <= 'f':
		return uint64(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return uint64(c-'A') + 10
	default:
		return math.MaxUint64
	}
}

// shown formats a raw JSON value for a message: a string's content quoted, anything else as it is.
func shown(raw []byte) string {
	if content, ok := text(raw); ok {
		return excerpt(content)
	}
	return excerpt(raw)
}

// excerpt quotes what the client sent, cut to fit a message.
func excerpt(b []byte) string {
	const maxBytes = 48
	if len(b) > maxBytes {
		return strconv.Quote(string(b[:maxBytes])) + "…"
	}
	return strconv.Quote(string(b))
}
