package chain

import (
	"bytes"
	"strconv"
)

// Heads are the heads of a chain that the gateway stands for; zero for one that is not known. EVM
// chains have Latest, Safe and Finalized. On Solana, Latest is the slot at the default commitment,
// finalized.
type Heads struct{ Latest, Safe, Finalized, Confirmed, Processed uint64 }

// Tag is a block's name that stands for one of the heads.
type Tag uint8

// The tags that other packages need to know.
const (
	NoTag Tag = iota
	latestTag
	SafeTag
	FinalizedTag
	pendingTag // resolved as latest, and never replaced
)

// readTag reads the tag of a head; NoTag for anything else.
func readTag(content []byte) Tag {
	switch string(content) {
	case "latest":
		return latestTag
	case "safe":
		return SafeTag
	case "finalized":
		return FinalizedTag
	case "pending":
		return pendingTag
	}
	return NoTag
}

// foldTag is readTag as some nodes read safe and finalized, in any case.
func foldTag(content []byte) Tag {
	switch {
	case bytes.EqualFold(content, []byte("safe")):
		return SafeTag
	case bytes.EqualFold(content, []byte("finalized")):
		return FinalizedTag
	}
	return NoTag
}

// resolve returns the head that a tag stands for. ok reports whether its number may replace it:
// pending is more than a number, and an unknown head has none.
func (h *Heads) resolve(t Tag) (number uint64, ok bool) {
	switch {
	case t == SafeTag && h.Safe > 0:
		return h.Safe, true
	case t == FinalizedTag && h.Finalized > 0:
		return h.Finalized, true
	}
	return h.Latest, t == latestTag && h.Latest > 0
}

// Pins are the places in a call's parameters where a block's number replaces a tag, or is filled in
// for an omitted block. The zero value changes nothing.
type Pins struct {
	list [2]pin
	n    uint8
}

// pin replaces the bytes from at to end by a quoted number, or with decimal set by a plain one. It
// is small, because every call has room for two.
type pin struct {
	number  uint64
	at, end uint32 // parameters are shorter than 4 GiB
	before  lead
	after   byte // 0 for none
	decimal bool
}

// lead is what comes before the number of a pin.
type lead uint8

const (
	leadNone lead = iota
	leadComma
	leadFrom
	leadTo
	leadSlot
	leadOptions
	leadMoreOptions
)

var leads = [...]string{
	leadNone: "", leadComma: ",", leadFrom: `"fromBlock":`, leadTo: `"toBlock":`, leadSlot: `"minContextSlot":`,
	leadOptions: `{"minContextSlot":`, leadMoreOptions: `,{"minContextSlot":`,
}

// add keeps the pins in the order of their places.
func (p *Pins) add(added pin) {
	i := p.n
	if i > 0 && added.at < p.list[0].at {
		p.list[1], i = p.list[0], 0
	}
	p.list[i] = added
	p.n++
}

// replace pins a value, which must be a slice of params.
func (p *Pins) replace(params, value []byte, number uint64) {
	at := offset(params, value)
	p.add(pin{at: at, end: at + uint32(len(value)), number: number}) //nolint:gosec // shorter than 4 GiB
}

// insert adds a value before rest, which must be a slice of params.
func (p *Pins) insert(params, rest []byte, added pin) {
	added.at = offset(params, rest)
	added.end = added.at
	p.add(added)
}

// offset returns where a slice of b begins in b.
func offset(b, part []byte) uint32 { return uint32(cap(b) - cap(part)) } //nolint:gosec // shorter than 4 GiB

// Any reports whether anything is replaced. Nil pins replace nothing.
func (p *Pins) Any() bool { return p != nil && p.n > 0 }

// Append appends the parameters with the pins applied.
func (p *Pins) Append(b, params []byte) []byte {
	if len(params) == 0 {
		params = noParams
	}
	from := uint32(0)
	for i := range p.n {
		pin := &p.list[i]
		b = append(append(b, params[from:pin.at]...), leads[pin.before]...)
		if pin.decimal {
			b = strconv.AppendUint(b, pin.number, 10)
		} else {
			b = append(strconv.AppendUint(append(b, `"0x`...), pin.number, 16), '"')
		}
		if from = pin.end; pin.after != 0 {
			b = append(b, pin.after)
		}
	}
	return append(b, params[from:]...)
}
