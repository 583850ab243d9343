// Package jsonrpc parses the JSON-RPC 2.0 envelope as bytes. It splits requests and responses into
// their members without decoding more than needed, so ids, params and results pass byte for byte.
// It knows no method and no chain.
package jsonrpc

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// Limits of nesting. Requests of real clients stay below 20; traces of deep call stacks reach some
// hundreds.
const (
	MaxRequestDepth  = 64
	MaxResponseDepth = 4096
)

// Errors of the scanner. ErrTruncated is also ErrSyntax.
var (
	ErrSyntax    = errors.New("not valid JSON")
	ErrTruncated = fmt.Errorf("%w: it ends too early", ErrSyntax)
	ErrTooDeep   = errors.New("nested too deep")
)

// Valid reports whether b is one JSON value and nothing else.
func Valid(b []byte) bool {
	end, err := value(b, space(b, 0), MaxResponseDepth)
	return err == nil && space(b, end) == len(b)
}

// value returns the end of the JSON value (RFC 8259) that starts at b[i], which must not be white
// space.
func value(b []byte, i, depth int) (int, error) {
	if i >= len(b) {
		return 0, ErrTruncated
	}
	switch c := b[i]; {
	case c == '"':
		return stringEnd(b, i)
	case c == '{':
		return object(b, i, depth)
	case c == '[':
		return array(b, i, depth)
	case c == '-' || (c >= '0' && c <= '9'):
		return number(b, i)
	case c == 't':
		return literal(b, i, "true")
	case c == 'f':
		return literal(b, i, "false")
	case c == 'n':
		return literal(b, i, "null")
	}
	return 0, ErrSyntax
}

func object(b []byte, i, depth int) (int, error) {
	if depth <= 0 {
		return 0, ErrTooDeep
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	for {
		_, from, err := memberName(b, i)
		if err != nil {
			return 0, err
		}
		if i, err = value(b, from, depth-1); err != nil {
			return 0, err
		}
		var more bool
		if i, more, err = next(b, i, '}'); err != nil || !more {
			return i, err
		}
	}
}

func array(b []byte, i, depth int) (int, error) {
	if depth <= 0 {
		return 0, ErrTooDeep
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, nil
	}
	for {
		var err error
		if i, err = value(b, i, depth-1); err != nil {
			return 0, err
		}
		var more bool
		if i, more, err = next(b, i, ']'); err != nil || !more {
			return i, err
		}
	}
}

// memberName reads a name and the colon after it. name is without quotes but still escaped; from is
// the start of the value.
func memberName(b []byte, i int) (name []byte, from int, err error) {
	if i >= len(b) {
		return nil, 0, ErrTruncated
	}
	if b[i] != '"' {
		return nil, 0, ErrSyntax
	}
	end, err := stringEnd(b, i)
	if err != nil {
		return nil, 0, err
	}
	colon := space(b, end)
	if colon >= len(b) {
		return nil, 0, ErrTruncated
	}
	if b[colon] != ':' {
		return nil, 0, ErrSyntax
	}
	return b[i+1 : end-1], space(b, colon+1), nil
}

// next skips a comma (more is true) or the closing byte.
func next(b []byte, i int, closing byte) (after int, more bool, err error) {
	i = space(b, i)
	if i >= len(b) {
		return 0, false, ErrTruncated
	}
	switch b[i] {
	case ',':
		return space(b, i+1), true, nil
	case closing:
		return i + 1, false, nil
	}
	return 0, false, ErrSyntax
}

func stringEnd(b []byte, i int) (int, error) {
	for i++; ; i++ {
		if i = plain(b, i); i == len(b) {
			return 0, ErrTruncated
		}
		switch b[i] {
		case '"':
			return i + 1, nil
		case '\\':
			var err error
			if i, err = escape(b, i+1); err != nil {
				return 0, err
			}
		default:
			return 0, ErrSyntax
		}
	}
}

// escape returns the index of the last byte of the escape whose backslash is before b[i].
func escape(b []byte, i int) (int, error) {
	if i >= len(b) {
		return 0, ErrTruncated
	}
	switch b[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i, nil
	case 'u':
	default:
		return 0, ErrSyntax
	}
	for range 4 {
		if i++; i >= len(b) {
			return 0, ErrTruncated
		}
		if !isHex(b[i]) {
			return 0, ErrSyntax
		}
	}
	return i, nil
}

// Eight copies of a byte, to compare eight bytes at once.
const (
	ones   = 0x0101010101010101
	highs  = 0x80 * ones
	quotes = '"' * ones
	slants = '\\' * ones
	spaces = ' ' * ones
)

// plain returns the index of the first quote, backslash or control character at or after i: the
// bytes with a meaning inside a string. It looks at eight bytes per step: a byte less n borrows
// into its high bit if it is below n, and a byte that equals another is zero after an exclusive or.
// Of several marks the lowest is exact (Hacker's Delight, section 6-1).
func plain(b []byte, i int) int {
	for ; len(b)-i >= 8; i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		q, s := w^quotes, w^slants
		marks := ((q-ones)&^q | (s-ones)&^s | (w-spaces)&^w) & highs
		if marks != 0 {
			return i + bits.TrailingZeros64(marks)/8
		}
	}
	for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= ' ' {
		i++
	}
	return i
}

func number(b []byte, i int) (int, error) {
	if b[i] == '-' {
		i++
	}
	switch {
	case i >= len(b):
		return 0, ErrTruncated
	case b[i] == '0':
		i++
	case isDigit(b[i]):
		i = digits(b, i)
	default:
		return 0, ErrSyntax
	}
	if i < len(b) && b[i] == '.' {
		from := i + 1
		if i = digits(b, from); i == from {
			return 0, missing(b, i)
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		from := i
		if i = digits(b, from); i == from {
			return 0, missing(b, i)
		}
	}
	return i, nil
}

func missing(b []byte, i int) error {
	if i >= len(b) {
		return ErrTruncated
	}
	return ErrSyntax
}

func digits(b []byte, i int) int {
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	return i
}

func literal(b []byte, i int, word string) (int, error) {
	rest := b[i:]
	if len(rest) < len(word) {
		if string(rest) == word[:len(rest)] {
			return 0, ErrTruncated
		}
		return 0, ErrSyntax
	}
	if string(rest[:len(word)]) != word {
		return 0, ErrSyntax
	}
	return i + len(word), nil
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool {
	return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')
}
