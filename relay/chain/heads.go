package chain

import (
	"bytes"
	"strconv"
)

// Heads are the heads of a chain that the gateway stands for; zero for one that is not known. EVM
// chains have Latest, Safe and Finalized. On Solana, Latest is the slot at the default commitment,
// finalized.
type Heads struct{ Latest, Safe, Finalized, Confirmed, Processed uint64 }

// tag is a block's name that stands for one of the heads.
type tag uint8

const (
	noTag tag = iota
	latestTag
	safeTag
	finalizedTag
	pendingTag // resolved as latest, and never replaced
)

// readTag reads the tag of a head; noTag for anything else.
func readTag(content []byte) tag {
	switch string(content) {
	case "latest":
		return latestTag
	case "safe":
		return safeTag
	case "finalized":
		return finalizedTag
	case "pending":
		return pendingTag
	}
	return noTag
}

// foldTag is readTag as some nodes read safe and finalized, in any case.
func foldTag(content []byte) tag {
	switch {
	case bytes.EqualFold(content, []byte("safe")):
		return safeTag
	case bytes.EqualFold(content, []byte("finalized")):
		return finalizedTag
	}
	return noTag
}

// resolve returns the head that a tag stands for. ok reports whether its number may replace it:
// pending is more than a number, and an unknown head has none.
func (h *Heads) resolve(t tag) (number uint64, ok bool) {
	switch {
	case t == safeTag && h.Safe > 0:
		return h.Safe, true
	case t == finalizedTag && h.Finalized > 0:
		return h.Finalized, true
	}
	return h.Latest, t == latestTag && h.Latest > 0
}

// Pins are the places in a call's parameters where a block's number replaces a tag, or is filled in
// for an omitted block. The zero value changes nothing.
type Pins struct {
	list [2]pin
	n    int
}

// pin replaces the bytes from at to end by a quoted number, or with decimal set by a plain one.
type pin struct {
	at, end       int
	before, after string
	number        uint64
	decimal       bool
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
	p.add(pin{at: at, end: at + len(value), number: number})
}

// insert adds a value before rest, which must be a slice of params.
func (p *Pins) insert(params, rest []byte, added pin) {
	added.at = offset(params, rest)
	added.end = added.at
	p.add(added)
}

// offset returns where a slice of b begins in b.
func offset(b, part []byte) int { return cap(b) - cap(part) }

// Any reports whether anything is replaced.
func (p *Pins) Any() bool { return p.n > 0 }

// Append appends the parameters with the pins applied.
func (p *Pins) Append(b, params []byte) []byte {
	if len(params) == 0 {
		params = noParams
	}
	from := 0
	for i := range p.n {
		pin := &p.list[i]
		b = append(append(b, params[from:pin.at]...), pin.before...)
		if pin.decimal {
			b = strconv.AppendUint(b, pin.number, 10)
		} else {
			b = append(strconv.AppendUint(append(b, `"0x`...), pin.number, 16), '"')
		}
		b, from = append(b, pin.after...), pin.end
	}
	return append(b, params[from:]...)
}
