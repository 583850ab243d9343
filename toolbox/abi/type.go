package abi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Kind is the kind of a type.
type Kind uint8

// The kinds. FixedBytes is bytes1 to bytes32. FunctionPointer is an address and a selector in 24
// bytes. Array has a fixed length; Slice has its length in the data.
const (
	Uint Kind = iota
	Int
	Address
	Bool
	FixedBytes
	FunctionPointer
	Bytes
	String
	Array
	Slice
	Tuple
)

// Type is an ABI type. Only this package makes types, and they never change.
type Type struct {
	Kind   Kind
	Size   int     // bits of Uint and Int, bytes of FixedBytes and FunctionPointer, items of Array
	Elem   *Type   // of Array and Slice
	Fields []Field // of Tuple

	text    string // in canonical form
	dynamic bool
	words   int // words of 32 bytes that it occupies in a head
	depth   int
	parts   int // number of types in it, itself included
}

// Field is a component of a tuple, or an argument. Its name may be empty or repeated.
type Field struct {
	Name string
	Type *Type
}

// Limits of a type. Compilers stay far below: the EVM's stack ends at a few dozen arguments.
const (
	maxDepth = 16      // nesting of tuples and arrays
	maxParts = 512     // types within one type
	maxWords = 1 << 16 // words of 32 bytes of a type of fixed size
	maxText  = 8 << 10 // bytes of a signature
	maxName  = 256     // bytes of a name
)

// WordSize is the size of the ABI's unit, in bytes.
const WordSize = 32

var (
	errTooLarge = fmt.Errorf("nests deeper than %d, or is made of more than %d types or %d words", maxDepth, maxParts,
		maxWords)
	errEmpty = errors.New("an array or tuple of nothing is no type")
)

// String returns the type in canonical form, as in signatures: (address,uint256)[2].
func (t *Type) String() string { return t.text }

// Dynamic reports whether the type's size depends on the data, so that its head is an offset.
func (t *Type) Dynamic() bool { return t.dynamic }

// elementary returns the type of a name without brackets. uint, int and byte are aliases of
// uint256, int256 and bytes1.
func elementary(name string) (*Type, error) {
	t := &Type{text: name, words: 1, depth: 1, parts: 1}
	switch name {
	case "address":
		t.Kind = Address
	case "bool":
		t.Kind = Bool
	case "function":
		t.Kind, t.Size = FunctionPointer, 24
	case "bytes":
		t.Kind, t.dynamic = Bytes, true
	case "string":
		t.Kind, t.dynamic = String, true
	case "uint", "int":
		return elementary(name + "256")
	case "byte":
		return elementary("bytes1")
	default:
		return t, t.sized(name)
	}
	return t, nil
}

// sized parses uint8 to uint256, int8 to int256 and bytes1 to bytes32.
func (t *Type) sized(name string) error {
	word := strings.TrimRight(name, "0123456789")
	n, ok := number(name[len(word):])
	switch {
	case ok && word == "bytes" && n <= WordSize:
		t.Kind, t.Size = FixedBytes, n
	case ok && word == "uint" && n <= 256 && n%8 == 0:
		t.Kind, t.Size = Uint, n
	case ok && word == "int" && n <= 256 && n%8 == 0:
		t.Kind, t.Size = Int, n
	default:
		return fmt.Errorf("%.60q is no type of the ABI", name)
	}
	return nil
}

// number parses a positive decimal number without leading zeros, as canonical types have it.
func number(digits string) (int, bool) {
	n, err := strconv.Atoi(digits)
	return n, err == nil && n > 0 && digits[0] >= '1' && digits[0] <= '9'
}

// arrayOf returns an array of size items, or a slice if size is zero.
func arrayOf(elem *Type, size int) (*Type, error) {
	t := &Type{
		Kind: Slice, Elem: elem, text: elem.text + "[]", dynamic: true, words: 1, depth: elem.depth + 1,
		parts: elem.parts + 1,
	}
	if size > 0 {
		t.Kind, t.Size, t.dynamic = Array, size, elem.dynamic
		t.text = elem.text + "[" + strconv.Itoa(size) + "]"
		if size > maxWords {
			return nil, errTooLarge
		}
		if !t.dynamic {
			t.words = size * elem.words // at most maxWords squared
		}
	}
	return t, t.bounded()
}

// tupleOf returns a tuple. A function may have no arguments, but a tuple within a type may not be
// empty: it would take no space in an array.
func tupleOf(fields []Field) (*Type, error) {
	t := &Type{Kind: Tuple, Fields: fields, depth: 1, parts: 1}
	var text strings.Builder
	text.WriteByte('(')
	for i, f := range fields {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(f.Type.text)
		t.dynamic = t.dynamic || f.Type.dynamic
		t.words += f.Type.words
		t.parts += f.Type.parts
		t.depth = max(t.depth, f.Type.depth+1)
		if err := t.bounded(); err != nil {
			return nil, err
		}
	}
	text.WriteByte(')')
	t.text = text.String()
	if t.dynamic {
		t.words = 1
	}
	return t, nil
}

func (t *Type) bounded() error {
	if t.depth > maxDepth || t.parts > maxParts || t.words > maxWords {
		return errTooLarge
	}
	return nil
}
