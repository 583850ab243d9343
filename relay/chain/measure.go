package chain

import "github.com/chainaccess/gateway/internal/fault"

// Measured is what the parameters of a call mean at the heads that the gateway stands for.
type Measured struct {
	Weight

	// Block is the highest block that the answer depends on: the number in the call, that of its
	// tag, or the end of its range up to the head. It is zero for a call that names none.
	Block uint64
	// Named is the highest number in the call itself.
	Named uint64
	// Head reports whether the call names a head, or omits a block that then is the head.
	Head bool
	// Pins put numbers in the place of tags, so that every upstream answers for the same block.
	Pins Pins
	// Floats reports that every node chooses the block: it is pending, or a tag whose head is not
	// known.
	Floats bool
	// Own is safe or finalized, if the answer shows which block that is. Then a node may choose the
	// block, and the pins are for an answer that is older than what clients were told.
	Own Tag
}

// Measure computes what Weigh does, and which block the call is about. It reads the parameters
// once. logBlocks is how many blocks an eth_getLogs of the caller may span, if that is more than
// the chain's cap; 0 for no more.
func (m *Method) Measure(params []byte, h *Heads, logBlocks uint64) (Measured, *fault.Error) {
	if m.BlockParam < 0 && m.rule != weighLogRange && !m.ranged && m.contextParam < 0 {
		return Measured{Weight: Weight{Units: m.Weight, Class: m.Class}}, nil
	}
	return m.measure(params, h, logBlocks)
}

func (m *Method) measure(params []byte, h *Heads, logBlocks uint64) (Measured, *fault.Error) {
	out := Measured{Weight: Weight{Units: m.Weight, Class: m.Class}}
	switch {
	case m.rule == weighLogRange:
		return measureLogs(params, h, max(logBlocks, m.maxLogBlocks()))
	case m.rule == weighFeeWindow:
		w, refusal := weighFeeHistory(params)
		if refusal != nil {
			return out, refusal
		}
		out.Weight = w
	case m.ranged:
		out.placeRange(params, h)
		return out, nil
	case m.contextParam >= 0:
		out.placeContext(params, m.contextParam, h)
		return out, nil
	}
	block := m.block(params, h)
	out.place(params, &block, h)
	if m.Shows && out.Pins.Any() && (block.tag == SafeTag || block.tag == FinalizedTag) {
		out.Own = block.tag
	}
	if m.rule == weighStateDepth {
		out.Weight = standardWeight
		if block.deep(h.Latest) {
			out.Weight = heavyWeight
		}
	}
	return out, nil
}

// place takes over the block that a call names, and returns its number.
func (out *Measured) place(params []byte, block *blockRef, h *Heads) (number uint64) {
	switch block.kind {
	case blockNumber:
		out.Block, out.Named = block.number, block.number
		return block.number
	case blockTag, blockOmitted:
		number, known := h.resolve(block.tag)
		out.Block, out.Head = number, true
		out.Floats = true
		switch {
		case !known:
		case block.kind == blockTag && block.raw != nil:
			out.Pins.replace(params, block.raw, number)
			out.Floats = false
		case block.kind == blockOmitted && block.end != nil:
			out.Pins.insert(params, block.end, pin{before: leadComma, number: number})
			out.Floats = false
		}
		return number
	}
	return 0
}

// placeRange takes over the range of a filter that is not measured, for example trace_filter's.
func (out *Measured) placeRange(params []byte, h *Heads) {
	raw, ok := param(params, 0)
	if !ok {
		return
	}
	walk, _ := membersOf(raw)
	out.Block, out.Head = h.Latest, true // an omitted end is the head
	for {
		name, value, ok := walk.next()
		if !ok {
			return
		}
		isEnd := string(name) == `"toBlock"`
		if !isEnd && string(name) != `"fromBlock"` {
			continue
		}
		var place Measured
		block := readBlock(value, h)
		number := place.place(params, &block, h)
		if isEnd && number > 0 {
			out.Block, out.Named = number, place.Named
			if h.Latest > 0 {
				out.Block = min(number, h.Latest)
			}
		}
		if place.Pins.Any() && int(out.Pins.n) < len(out.Pins.list) {
			out.Pins.add(place.Pins.list[0])
		}
	}
}

// placeContext fills in minContextSlot on Solana, unless the client did: the slot that the gateway
// stands for at the call's commitment.
func (out *Measured) placeContext(params []byte, index int, h *Heads) {
	if len(params) == 0 {
		params = noParams
	}
	raw, rest, ok := paramOrEnd(params, index)
	out.Head = true
	switch {
	case !ok && rest == nil:
	case !ok || isNull(raw):
		out.Block = h.Latest
		if h.Latest == 0 {
			return
		}
		added := pin{before: leadOptions, after: '}', number: h.Latest, decimal: true}
		if ok {
			added.at = offset(params, raw)
			added.end = added.at + uint32(len(raw)) //nolint:gosec // shorter than 4 GiB
			out.Pins.add(added)
			return
		}
		if index > 0 {
			added.before = leadMoreOptions
		}
		out.Pins.insert(params, rest, added)
	default:
		out.placeOptions(params, raw, h)
	}
}

// noParams are the parameters of a call that has none.
var noParams = []byte("[]")

func (out *Measured) placeOptions(params, raw []byte, h *Heads) {
	walk, ok := membersOf(raw)
	if !ok {
		return
	}
	inside, slot, after := walk.rest, h.Latest, byte(0)
	for {
		name, value, ok := walk.next()
		if !ok {
			break
		}
		after = ','
		switch string(name) {
		case `"minContextSlot"`:
			return
		case `"commitment"`:
			slot = h.at(value)
		}
	}
	if walk.broken {
		return
	}
	if slot == h.Latest {
		out.Block = slot
	}
	if slot > 0 {
		out.Pins.insert(params, inside, pin{before: leadSlot, after: after, number: slot, decimal: true})
	}
}

// at returns the slot of a commitment; zero for one that is not known.
func (h *Heads) at(commitment []byte) uint64 {
	switch string(commitment) {
	case `"finalized"`, "null":
		return h.Latest
	case `"confirmed"`:
		return h.Confirmed
	case `"processed"`:
		return h.Processed
	}
	return 0
}
