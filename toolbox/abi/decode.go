package abi

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"strconv"
)

// Value is a value of a type. It shares memory with the calldata.
type Value struct {
	Type *Type
	// Data is the word of a value of 32 bytes, or the content of bytes and strings; nil for arrays
	// and tuples.
	Data []byte
	// Items are the items of an array or the components of a tuple.
	Items []Value
}

// Argument is a decoded argument of a function.
type Argument struct {
	Field

	Value Value
	// Raw is the part of the calldata that a dynamic argument occupies, from the target of its
	// offset to its last byte; nil for a static one.
	Raw []byte
}

// ArgumentError reports calldata that does not fit the types. Where is the argument, for example
// orders[2].maker; empty if it concerns all of them.
type ArgumentError struct {
	Where string
	What  string
}

// Error returns the argument and what is wrong with it.
func (e *ArgumentError) Error() string {
	if e.Where == "" {
		return e.What
	}
	return e.Where + " " + e.What
}

// The budget of a decoding, in values and words of content: generous for shared parts, far below
// what overlapping offsets can cause.
const (
	budgetPerWord = 8
	budgetAtLeast = 64
)

// Decode decodes the arguments of a call, without its selector. It is strict about values: the bits
// beyond a type's size must be zero (or the sign), as contracts require. It accepts any layout
// within the data, and bytes after the last argument. Compare with Encode to detect a non-standard
// layout. The error is an *ArgumentError.
func (f *Function) Decode(data []byte) ([]Argument, error) {
	words := 0
	for _, in := range f.Inputs {
		words += in.Type.words
	}
	if len(data) < words*WordSize {
		return nil, &ArgumentError{
			What: fmt.Sprintf("%s needs at least %d bytes after the selector, and there are %d", f.signature,
				words*WordSize, len(data)),
		}
	}
	d := decoder{data: data, budget: budgetAtLeast + budgetPerWord*(len(data)/WordSize)}
	args := make([]Argument, 0, len(f.Inputs))
	at := 0
	for i, in := range f.Inputs {
		d.first, d.last = len(data), 0
		v, err := d.value(in.Type, 0, at)
		if err != nil {
			return nil, under(err, argument(in.Name, i))
		}
		arg := Argument{Field: in, Value: v}
		if in.Type.dynamic {
			if !d.spend((d.last - d.first) / WordSize) {
				return nil, under(errBudget(), argument(in.Name, i))
			}
			arg.Raw = data[d.first:d.last]
		}
		args = append(args, arg)
		at += in.Type.words * WordSize
	}
	return args, nil
}

// decoder reads values from data within its budget. first and last are the extent of the current
// argument.
type decoder struct {
	data        []byte
	budget      int
	first, last int
}

func (d *decoder) spend(n int) bool {
	d.budget -= n
	return d.budget >= 0
}

// value reads a value whose head is at offset at; offsets count from base. The caller has checked
// that the head is within the data.
func (d *decoder) value(t *Type, base, at int) (Value, error) {
	if !t.dynamic {
		return d.body(t, at)
	}
	offset, ok := d.number(at)
	if !ok || offset > len(d.data)-base {
		return Value{}, refused("has an offset that leads past the end of the data")
	}
	return d.body(t, base+offset)
}

// body reads a value that begins at offset at.
func (d *decoder) body(t *Type, at int) (Value, error) {
	if !d.spend(1) {
		return Value{}, errBudget()
	}
	switch t.Kind {
	case Tuple:
		return d.tuple(t, at)
	case Array:
		return d.items(t, at, t.Size)
	case Slice, Bytes, String:
		if len(d.data)-at < WordSize {
			return Value{}, refused("has an offset that leads past the end of the data")
		}
		n, ok := d.number(at)
		if !ok {
			return Value{}, refused("has a length that is longer than the data")
		}
		d.visit(at, at+WordSize)
		if t.Kind == Slice {
			return d.items(t, at+WordSize, n)
		}
		return d.content(t, at+WordSize, n)
	default:
		word := d.data[at : at+WordSize]
		d.visit(at, at+WordSize)
		return Value{Type: t, Data: word}, t.check(word)
	}
}

// content reads n bytes. The zeros that pad the last word may be missing, because contracts ignore
// them.
func (d *decoder) content(t *Type, at, n int) (Value, error) {
	if n > len(d.data)-at {
		return Value{}, refused("has a length that is longer than the data")
	}
	if !d.spend(n / WordSize) {
		return Value{}, errBudget()
	}
	d.visit(at, min(at+padded(n), len(d.data)))
	return Value{Type: t, Data: d.data[at : at+n : at+n]}, nil
}

func (d *decoder) items(t *Type, at, n int) (Value, error) {
	if n > (len(d.data)-at)/(t.Elem.words*WordSize) {
		return Value{}, refused("has more items than the data holds")
	}
	if n > d.budget {
		return Value{}, errBudget()
	}
	d.visit(at, at+n*t.Elem.words*WordSize)
	v := Value{Type: t, Items: make([]Value, 0, n)}
	for i := range n {
		item, err := d.value(t.Elem, at, at+i*t.Elem.words*WordSize)
		if err != nil {
			return Value{}, under(err, fmt.Sprintf("[%d]", i))
		}
		v.Items = append(v.Items, item)
	}
	return v, nil
}

func (d *decoder) tuple(t *Type, at int) (Value, error) {
	words := 0
	for _, f := range t.Fields {
		words += f.Type.words
	}
	if len(d.data)-at < words*WordSize {
		return Value{}, refused("has an offset that leads past the end of the data")
	}
	d.visit(at, at+words*WordSize)
	v := Value{Type: t, Items: make([]Value, 0, len(t.Fields))}
	head := at
	for i, f := range t.Fields {
		if !d.spend((len(f.Name) + len(f.Type.text)) / WordSize) { // each value is shown with its name and type
			return Value{}, errBudget()
		}
		item, err := d.value(f.Type, at, head)
		if err != nil {
			return Value{}, under(err, "."+cmp.Or(f.Name, strconv.Itoa(i)))
		}
		v.Items = append(v.Items, item)
		head += f.Type.words * WordSize
	}
	return v, nil
}

// number reads an offset or a length; false if it exceeds any possible data.
func (d *decoder) number(at int) (int, bool) {
	word := d.data[at : at+WordSize]
	for _, b := range word[:WordSize-4] {
		if b != 0 {
			return 0, false
		}
	}
	n := binary.BigEndian.Uint32(word[WordSize-4:])
	return int(n), n <= 1<<31-1
}

// visit extends the extent of the current argument by these bytes.
func (d *decoder) visit(from, to int) {
	d.first, d.last = min(d.first, from), max(d.last, to)
}

func padded(n int) int { return (n + WordSize - 1) / WordSize * WordSize }

func refused(what string) error { return &ArgumentError{What: what} }

func errBudget() error {
	return refused("overlaps so often with others that decoding takes more work than data of this size may cause")
}
