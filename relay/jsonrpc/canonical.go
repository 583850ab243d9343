package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// ErrAmbiguous reports JSON that parsers read differently: an object with a repeated member, or a
// string that is not text (half of a surrogate pair, invalid UTF-8). Such JSON has no canonical
// form.
var ErrAmbiguous = errors.New("JSON that readers take in different ways")

// AppendCanonical appends the canonical form of b, one JSON value: no white space, members sorted
// by name, strings escaped only where necessary. Numbers stay as written, so 1 and 1.0 differ;
// letters keep their case. Values with the same form are the same value. The error is ErrSyntax,
// ErrTooDeep (MaxRequestDepth) or ErrAmbiguous; then the appended bytes are useless.
func AppendCanonical(out, b []byte) ([]byte, error) {
	i := space(b, 0)
	var err error
	if i < len(b) && b[i] == '[' { // parameters are
		out, i, err = canonicalArray(out, b, i, MaxRequestDepth, canonical)
	} else {
		var whole []byte
		whole, i, err = canonical(b, i, MaxRequestDepth)
		out = append(out, whole...)
	}
	if err != nil {
		return out, err
	}
	if space(b, i) != len(b) {
		return out, ErrSyntax
	}
	return out, nil
}

type canonicalForm func(b []byte, i, depth int) (form []byte, end int, err error)

// canonical returns the form of the value at b[i] in newly allocated memory.
func canonical(b []byte, i, depth int) (form []byte, end int, err error) {
	if i >= len(b) {
		return nil, 0, ErrTruncated
	}
	switch b[i] {
	case '{':
		return canonicalObject(b, i, depth)
	case '[':
		return canonicalArray(nil, b, i, depth, canonical)
	}
	return canonicalScalar(nil, b, i)
}

func canonicalScalar(out, b []byte, i int) (appended []byte, end int, err error) {
	if end, err = value(b, i, 0); err != nil {
		return out, 0, err
	}
	if b[i] == '"' {
		out, err = canonicalString(out, b[i:end])
		return out, end, err
	}
	return append(out, b[i:end]...), end, nil
}

// canonicalArray takes the function for nested values as a parameter: if it recursed itself, out
// would escape to the heap.
func canonicalArray(out, b []byte, i, depth int, nested canonicalForm) (appended []byte, end int, err error) {
	if depth <= 0 {
		return out, 0, ErrTooDeep
	}
	out = append(out, '[')
	i = space(b, i+1)
	if i < len(b) && b[i] == ']' {
		return append(out, ']'), i + 1, nil
	}
	for more := true; more; {
		if i < len(b) && (b[i] == '{' || b[i] == '[') {
			var form []byte
			form, i, err = nested(b, i, depth-1)
			out = append(out, form...)
		} else {
			out, i, err = canonicalScalar(out, b, i)
		}
		if err != nil {
			return out, 0, err
		}
		if i, more, err = next(b, i, ']'); err != nil {
			return out, 0, err
		}
		if more {
			out = append(out, ',')
		}
	}
	return append(out, ']'), i, nil
}

type member struct{ name, value []byte }

func canonicalObject(b []byte, i, depth int) (form []byte, end int, err error) {
	if depth <= 0 {
		return nil, 0, ErrTooDeep
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return []byte("{}"), i + 1, nil
	}
	var all []member
	for more := true; more; {
		name, from, err := memberName(b, i)
		if err != nil {
			return nil, 0, err
		}
		var m member
		if m.name, err = canonicalString(nil, b[i:i+len(name)+2]); err != nil {
			return nil, 0, err
		}
		if m.value, i, err = canonical(b, from, depth-1); err != nil {
			return nil, 0, err
		}
		all = append(all, m)
		if i, more, err = next(b, i, '}'); err != nil {
			return nil, 0, err
		}
	}
	slices.SortFunc(all, func(x, y member) int { return bytes.Compare(x.name, y.name) })
	out := []byte{'{'}
	for n, m := range all {
		if n > 0 {
			if bytes.Equal(m.name, all[n-1].name) {
				return nil, 0, ErrAmbiguous
			}
			out = append(out, ',')
		}
		out = append(append(append(out, m.name...), ':'), m.value...)
	}
	return append(out, '}'), i, nil
}

// canonicalString appends a valid quoted string in canonical form. A string without escapes already
// has it.
func canonicalString(out, quoted []byte) ([]byte, error) {
	if !utf8.Valid(quoted) || loneSurrogate(quoted) {
		return out, ErrAmbiguous
	}
	if bytes.IndexByte(quoted, '\\') < 0 {
		return append(out, quoted...), nil
	}
	var text string
	if err := json.Unmarshal(quoted, &text); err != nil {
		return out, ErrSyntax
	}
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c < 0x20:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			out = append(out, c)
		}
	}
	return append(out, '"'), nil
}

// loneSurrogate reports whether a valid quoted string has an escape that is half of a surrogate
// pair.
func loneSurrogate(quoted []byte) bool {
	for i := 0; i < len(quoted); i++ {
		if quoted[i] != '\\' {
			continue
		}
		i++
		if quoted[i] != 'u' {
			continue
		}
		first := codeUnit(quoted[i+1:])
		i += 4
		if !utf16.IsSurrogate(first) {
			continue
		}
		pair := quoted[i+1:]
		if len(pair) < 6 || pair[0] != '\\' || pair[1] != 'u' ||
			utf16.DecodeRune(first, codeUnit(pair[2:])) == utf8.RuneError {
			return true
		}
		i += 6
	}
	return false
}

// codeUnit reads the four hex digits at the start of b.
func codeUnit(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		switch {
		case isDigit(c):
			c -= '0'
		default:
			c = c | 0x20 - 'a' + 10
		}
		r = r<<4 | rune(c)
	}
	return r
}

// Members calls f with each member of the object b, its name still escaped, until f returns false.
// It does nothing if b is no object, and stops silently at invalid JSON.
func Members(b []byte, f func(name, val []byte) bool) {
	i := space(b, 0)
	if i >= len(b) || b[i] != '{' {
		return
	}
	i = space(b, i+1)
	for more := i < len(b) && b[i] != '}'; more; {
		name, from, err := memberName(b, i)
		if err != nil {
			return
		}
		end, err := value(b, from, MaxResponseDepth)
		if err != nil || !f(name, b[from:end]) {
			return
		}
		if i, more, err = next(b, end, '}'); err != nil {
			return
		}
	}
}
