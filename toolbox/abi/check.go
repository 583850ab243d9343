package abi

import (
	"cmp"
	"errors"
	"strconv"
)

// check returns an error for a word with bits beyond its type, which make a contract revert
// (Solidity's ABI coder v2).
func (t *Type) check(word []byte) error {
	switch t.Kind {
	case Uint:
		return t.filled(word[:WordSize-t.Size/8], 0)
	case Int:
		var sign byte
		if word[WordSize-t.Size/8]&0x80 != 0 {
			sign = 0xff
		}
		return t.filled(word[:WordSize-t.Size/8], sign)
	case Address:
		return t.filled(word[:WordSize-20], 0)
	case Bool:
		if word[WordSize-1] > 1 {
			return refused("is neither 0 nor 1, and its type is bool")
		}
		return t.filled(word[:WordSize-1], 0)
	case FixedBytes, FunctionPointer:
		return t.filled(word[t.Size:], 0)
	case Bytes, String, Array, Slice, Tuple: // are more than a word
	}
	return nil
}

func (t *Type) filled(rest []byte, with byte) error {
	for _, b := range rest {
		if b != with {
			return refused("has bits beyond its type, " + t.text)
		}
	}
	return nil
}

// under prefixes the place of an error: step is .name or [index].
func under(err error, step string) error {
	r, ok := errors.AsType[*ArgumentError](err)
	if !ok {
		return err
	}
	return &ArgumentError{Where: step + r.Where, What: r.What}
}

// argument returns what to call a function's argument: its name, or its position.
func argument(name string, i int) string {
	return cmp.Or(name, "argument "+strconv.Itoa(i+1))
}
