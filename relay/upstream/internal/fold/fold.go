// Package fold makes texts comparable that providers escape and capitalise differently.
package fold

import (
	"bytes"
	"strconv"
)

// rounds bounds how many levels of escapes Lower removes.
const rounds = 3

// Lower removes the escapes of JSON strings and URLs, and lowers the case.
func Lower(b []byte) []byte {
	for range rounds {
		out := make([]byte, 0, len(b))
		for i := 0; i < len(b); {
			c, n := unescape(b[i:])
			out = append(out, c)
			i += n
		}
		if len(out) == len(b) {
			break
		}
		b = out
	}
	return bytes.ToLower(b)
}

// unescape returns the first byte of b, unescaped, and the length of its escape. It keeps escapes
// of non-ASCII characters.
func unescape(b []byte) (c byte, n int) {
	switch {
	case b[0] == '%' && len(b) >= 3:
		if v, err := strconv.ParseUint(string(b[1:3]), 16, 8); err == nil {
			return byte(v), 3
		}
	case b[0] == '\\' && len(b) >= 6 && b[1] == 'u':
		if v, err := strconv.ParseUint(string(b[2:6]), 16, 16); err == nil && v < 0x80 {
			return byte(v), 6
		}
	case b[0] == '\\' && len(b) >= 2 && (b[1] == '/' || b[1] == '\\' || b[1] == '"'):
		return b[1], 2
	}
	return b[0], 1
}
