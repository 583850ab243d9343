// Package jsonrpc owns the JSON-RPC 2.0 envelope as bytes: it splits requests and responses into their members without decoding
// what no rule needs, so that ids, params and results pass byte for byte. It knows no method and no chain.
package jsonrpc

import (
	"errors"
	"fmt"
)

// Depth bounds of nested values. Requests of real clients stay under 20; traces of deep call stacks reach some hundreds.
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

// Valid tells whether b is one JSON value and nothing else.
func Valid(b []byte) bool {
	end, err := value(b, space(b, 0), MaxResponseDepth)
	return err == nil && space(b, end) == len(b)
}

// value gives the end of the JSON value that starts at b[i], which must not be white space. Grammar: RFC 8259.
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

// memberName reads a name and the colon after it. name is without quotes and still escaped; from is where the value starts.
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

// next steps over a comma (more) or the closing byte.
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
	for i++; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			return i + 1, nil
		case c < 0x20:
			return 0, ErrSyntax
		case c == '\\':
			i++
			if i >= len(b) {
				return 0, ErrTruncated
			}
			switch b[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					if i++; i >= len(b) {
						return 0, ErrTruncated
					}
					if !isHex(b[i]) {
						return 0, ErrSyntax
					}
				}
			default:
				return 0, ErrSyntax
			}
		}
	}
	return 0, ErrTruncated
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
