package abi

import (
	"encoding/hex"
	"unicode/utf8"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
)

// Part is a component of a tuple in JSON.
type Part struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	Value any    `json:"value"`
}

// NotText replaces a string whose bytes are not UTF-8.
type NotText struct {
	InvalidUTF8 string `json:"invalid_utf8"` // the bytes in hex
}

// JSON returns the value for encoding/json: integers as decimal strings, addresses with the EIP-55
// checksum, bytes as 0x and hex, booleans, strings (or NotText), arrays as lists, and tuples as
// lists of Part.
func (v *Value) JSON() any {
	switch v.Type.Kind {
	case Uint:
		return new(uint256.Int).SetBytes(v.Data).Dec()
	case Int:
		return signed(new(uint256.Int).SetBytes(v.Data))
	case Address:
		return common.BytesToAddress(v.Data[WordSize-20:]).Hex()
	case Bool:
		return v.Data[WordSize-1] == 1
	case FixedBytes, FunctionPointer:
		return Hex(v.Data[:v.Type.Size])
	case Bytes:
		return Hex(v.Data)
	case String:
		if !utf8.Valid(v.Data) {
			return NotText{Hex(v.Data)}
		}
		return string(v.Data)
	case Array, Slice:
		list := make([]any, len(v.Items))
		for i := range v.Items {
			list[i] = v.Items[i].JSON()
		}
		return list
	case Tuple:
		parts := make([]Part, len(v.Items))
		for i := range v.Items {
			f := &v.Type.Fields[i]
			parts[i] = Part{Name: f.Name, Type: f.Type.text, Value: v.Items[i].JSON()}
		}
		return parts
	}
	return nil
}

func signed(n *uint256.Int) string {
	if n.Sign() >= 0 {
		return n.Dec()
	}
	return "-" + new(uint256.Int).Neg(n).Dec()
}

// Hex returns bytes as 0x and lower-case hex.
func Hex(b []byte) string { return "0x" + hex.EncodeToString(b) }
