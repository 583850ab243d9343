package ens

import (
	"encoding/binary"
	"slices"

	"github.com/chainaccess/gateway/identity/wallet"
)

// wordSize is the unit of ABI encoding (Solidity's Contract ABI Specification): every value fills
// words.
const wordSize = 32

// encoded is the ABI encoding of several values. Each has a head, which for a value of variable
// length is the offset of its content, counted from the start. The data is untrusted. The methods
// return slices of it and never copies, so that a thousand offsets to the same place cost nothing.
type encoded []byte

func (e encoded) word(i int) ([]byte, bool) {
	if i < 0 || i >= len(e)/wordSize {
		return nil, false
	}
	return e[i*wordSize : (i+1)*wordSize], true
}

// size reads an offset or a length, which must not exceed the data.
func (e encoded) size(i int) (int, bool) {
	w, ok := e.word(i)
	if !ok {
		return 0, false
	}
	for _, b := range w[:wordSize-8] {
		if b != 0 {
			return 0, false
		}
	}
	n := binary.BigEndian.Uint64(w[wordSize-8:])
	if n > uint64(len(e)) {
		return 0, false
	}
	return int(n), true //nolint:gosec // at most the length of a slice
}

// at returns the data at the offset in head i: the values of a tuple, or a length and the content
// of a list, bytes or string.
func (e encoded) at(i int) (encoded, bool) {
	offset, ok := e.size(i)
	if !ok {
		return nil, false
	}
	return e[offset:], true
}

// bytes reads a value of type bytes or string.
func (e encoded) bytes(i int) ([]byte, bool) {
	place, ok := e.at(i)
	if !ok {
		return nil, false
	}
	n, ok := place.size(0)
	if !ok || n > len(place)-wordSize {
		return nil, false
	}
	return place[wordSize : wordSize+n], true
}

// list reads a list: the number of items, and their encoding.
func (e encoded) list(i int) (n int, items encoded, ok bool) {
	place, ok := e.at(i)
	if !ok {
		return 0, nil, false
	}
	n, ok = place.size(0)
	if !ok || n > (len(place)-wordSize)/wordSize {
		return 0, nil, false
	}
	return n, place[wordSize:], true
}

// address reads the first word as an address.
func (e encoded) address() (a wallet.Address, ok bool) {
	w, ok := e.word(0)
	if !ok {
		return a, false
	}
	for _, b := range w[:wordSize-len(a)] {
		if b != 0 {
			return a, false
		}
	}
	copy(a[:], w[wordSize-len(a):])
	return a, true
}

// selector reads a value of type bytes4.
func (e encoded) selector(i int) (s selector, ok bool) {
	w, ok := e.word(i)
	copy(s[:], w)
	return s, ok
}

// value is one value to encode: whole words, which are in its head or, if its length varies, after
// all heads.
type value struct {
	words  []byte
	varies bool
}

// encode encodes values in the format of encoded.
func encode(values ...value) []byte {
	var heads, tails []byte
	for _, v := range values {
		if !v.varies {
			heads = append(heads, v.words...)
			continue
		}
		heads = append(heads, number(len(values)*wordSize+len(tails)).words...)
		tails = append(tails, v.words...)
	}
	return append(heads, tails...)
}

func number(n int) value {
	w := make([]byte, wordSize)
	binary.BigEndian.PutUint64(w[wordSize-8:], uint64(n)) //nolint:gosec // lengths and constants, never negative
	return value{words: w}
}

// hash returns a value of type bytes32.
func hash(h [32]byte) value { return value{words: h[:]} }

// blob returns a value of type bytes or string.
func blob(b []byte) value {
	padding := (wordSize - len(b)%wordSize) % wordSize
	return value{slices.Concat(number(len(b)).words, b, make([]byte, padding)), true}
}

func list(items ...value) value {
	return value{append(number(len(items)).words, encode(items...)...), true}
}
