package chain

import (
	"bytes"
	"encoding/json"
)

// This file walks raw JSON without decoding it, because most calls need one short value from
// parameters that may be long. On invalid JSON it sets broken and never panics.

// elements iterates over the values of a JSON array.
type elements struct {
	rest   []byte
	first  bool
	broken bool
}

// elementsOf starts an iteration; ok reports whether b holds an array.
func elementsOf(b []byte) (e elements, ok bool) {
	b = skipSpace(b)
	if len(b) == 0 || b[0] != '[' {
		return elements{}, false
	}
	return elements{rest: b[1:], first: true}, true
}

// next returns the raw bytes of the next value.
func (e *elements) next() (value []byte, ok bool) {
	b, ok := e.advance(']')
	if !ok {
		return nil, false
	}
	if value, e.rest, ok = readValue(b); !ok {
		e.broken = true
	}
	return value, ok
}

// advance skips the comma before the next item; ok is false at the closing bracket and on invalid
// input.
func (e *elements) advance(closing byte) (b []byte, ok bool) {
	b = skipSpace(e.rest)
	if len(b) == 0 {
		e.broken = true
		return nil, false
	}
	if b[0] == closing {
		e.rest = b
		return nil, false
	}
	if !e.first {
		if b[0] != ',' {
			e.broken = true
			return nil, false
		}
		b = skipSpace(b[1:])
	}
	e.first = false
	return b, true
}

// members iterates over the members of a JSON object.
type members struct{ elements }

// membersOf starts an iteration; ok reports whether b holds an object.
func membersOf(b []byte) (m members, ok bool) {
	b = skipSpace(b)
	if len(b) == 0 || b[0] != '{' {
		return members{}, false
	}
	return members{elements{rest: b[1:], first: true}}, true
}

// next returns the raw bytes of the next name (a JSON string) and value.
func (m *members) next() (name, value []byte, ok bool) {
	b, ok := m.advance('}')
	if !ok {
		return nil, nil, false
	}
	name, b, ok = readValue(b)
	b = skipSpace(b)
	if !ok || len(b) == 0 || b[0] != ':' {
		m.broken = true
		return nil, nil, false
	}
	if value, m.rest, ok = readValue(skipSpace(b[1:])); !ok {
		m.broken = true
	}
	return name, value, ok
}

// param returns the raw bytes of one positional parameter; ok is false if there are fewer.
func param(params []byte, index int) (value []byte, ok bool) {
	walk, ok := elementsOf(params)
	for i := 0; ok; i++ {
		if value, ok = walk.next(); ok && i == index {
			return value, true
		}
	}
	return nil, false
}

// paramOrEnd returns the raw bytes of one positional parameter. If it is the next one after the
// last, ok is false and rest begins where it could be appended; otherwise rest is nil.
func paramOrEnd(params []byte, index int) (value, rest []byte, ok bool) {
	walk, ok := elementsOf(params)
	for i := 0; ok; i++ {
		if value, ok = walk.next(); ok && i == index {
			return value, nil, true
		}
		if !ok && i == index && !walk.broken {
			return nil, walk.rest, false
		}
	}
	return nil, nil, false
}

// text returns the decoded content of a JSON string. It allocates only if the string holds escapes.
func text(value []byte) (content []byte, ok bool) {
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return nil, false
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return value[1 : len(value)-1], true
	}
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return nil, false
	}
	return []byte(s), true
}

func isNull(value []byte) bool { return string(value) == "null" }

func skipSpace(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t' || b[0] == '\n' || b[0] == '\r') {
		b = b[1:]
	}
	return b
}

// readValue splits b after the JSON value at its start.
func readValue(b []byte) (value, rest []byte, ok bool) {
	if len(b) == 0 {
		return nil, nil, false
	}
	var end int
	switch b[0] {
	case '"':
		end = stringEnd(b)
	case '{', '[':
		end = compositeEnd(b)
	default:
		end = literalEnd(b)
	}
	if end <= 0 {
		return nil, nil, false
	}
	return b[:end], b[end:], true
}

// stringEnd returns the length of the string at the start of b, 0 if it does not end.
func stringEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// compositeEnd returns the length of the object or array at the start of b, 0 if it does not end.
func compositeEnd(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			n := stringEnd(b[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// literalEnd returns the length of the number, true, false or null at the start of b.
func literalEnd(b []byte) int {
	for i, c := range b {
		switch c {
		case ',', ']', '}', ':', ' ', '\t', '\n', '\r', '"', '[', '{':
			return i
		}
	}
	return len(b)
}
