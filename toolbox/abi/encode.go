package abi

import "encoding/binary"

// Encode encodes arguments as the standard encoder does: heads, then tails in order, without gaps.
// Decoding standard data and encoding the result returns the same data.
func Encode(args []Argument) []byte {
	values := make([]Value, len(args))
	for i := range args {
		values[i] = args[i].Value
	}
	return appendAll(nil, values)
}

// appendAll appends the heads of values and their tails. Offsets count from the first head.
func appendAll(out []byte, values []Value) []byte {
	start, head := len(out), 0
	for i := range values {
		head += values[i].Type.words * WordSize
	}
	out = append(out, make([]byte, head)...)
	at := start
	for i := range values {
		v := &values[i]
		if v.Type.dynamic {
			putNumber(out[at:], len(out)-start)
			out = v.appendBody(out)
		} else {
			copy(out[at:], v.appendBody(nil))
		}
		at += v.Type.words * WordSize
	}
	return out
}

func (v *Value) appendBody(out []byte) []byte {
	switch v.Type.Kind {
	case Tuple, Array:
		return appendAll(out, v.Items)
	case Slice:
		return appendAll(appendNumber(out, len(v.Items)), v.Items)
	case Bytes, String:
		out = append(appendNumber(out, len(v.Data)), v.Data...)
		return append(out, make([]byte, padded(len(v.Data))-len(v.Data))...)
	default:
		return append(out, v.Data...)
	}
}

func appendNumber(out []byte, n int) []byte {
	out = append(out, make([]byte, WordSize)...)
	putNumber(out[len(out)-WordSize:], n)
	return out
}

func putNumber(word []byte, n int) {
	binary.BigEndian.PutUint64(word[WordSize-8:], uint64(n)) //nolint:gosec // lengths are not negative
}
