package logrange

import (
	"cmp"
	"slices"
)

// Part is the checked answer to one part of a range.
type Part struct {
	body []byte
	logs []log // nil if they are in order; then only the bytes of the array matter
	from int   // of the first log in body
	to   int   // of the end of the last one; not after from if there is none
}

// ReadPart checks the whole answer to a part. It keeps body.
func ReadPart(body []byte, within Range) (Part, error) {
	p := Part{body: body}
	var last log
	sorted, n := true, 0
	c := NewChecker(within)
	c.each = func(l log) {
		if n++; n == 1 {
			p.from = l.from
		} else if compare(last, l) >= 0 {
			sorted = false
		}
		last, p.to = l, l.to
	}
	if err := c.Feed(body); err != nil {
		return Part{}, err
	}
	if err := c.End(); err != nil {
		return Part{}, err
	}
	if !sorted {
		p.logs = orderedLogs(body, within, n)
	}
	return p, nil
}

func compare(a, b log) int {
	return cmp.Or(cmp.Compare(a.block, b.block), cmp.Compare(a.index, b.index))
}

// orderedLogs returns the logs of a checked answer in order, each once.
func orderedLogs(body []byte, within Range, n int) []log {
	logs := make([]log, 0, n)
	c := NewChecker(within)
	c.each = func(l log) { logs = append(logs, l) }
	_ = c.Feed(body) // as before
	slices.SortStableFunc(logs, compare)
	return slices.CompactFunc(logs, func(a, b log) bool { return compare(a, b) == 0 })
}

// Merge returns the answer to a range from those to its parts, as pieces that follow each other.
// The parts are in the order of their blocks and do not overlap.
func Merge(parts []Part) [][]byte {
	pieces := [][]byte{[]byte("[")}
	comma := []byte(",")
	for _, p := range parts {
		if p.to <= p.from {
			continue
		}
		if len(pieces) > 1 {
			pieces = append(pieces, comma)
		}
		if p.logs == nil {
			pieces = append(pieces, p.body[p.from:p.to])
			continue
		}
		for i, l := range p.logs {
			if i > 0 {
				pieces = append(pieces, comma)
			}
			pieces = append(pieces, p.body[l.from:l.to])
		}
	}
	return append(pieces, []byte("]"))
}
