package abi

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ethereum/go-ethereum/crypto"
)

// Function is a function by its name and the types of its arguments.
type Function struct {
	Name   string
	Inputs []Field

	selector  [4]byte
	signature string
}

// Signature returns the function in canonical form, for example transfer(address,uint256).
func (f *Function) Signature() string { return f.signature }

// Selector returns the first four bytes of the signature's Keccak-256, with which calldata begins.
func (f *Function) Selector() [4]byte { return f.selector }

func newFunction(name string, inputs []Field) (*Function, error) {
	if !identifier(name) {
		return nil, fmt.Errorf("%.60q is no name of a function", name)
	}
	args, err := tupleOf(inputs)
	if err != nil {
		return nil, err
	}
	f := &Function{Name: name, Inputs: inputs, signature: name + args.text}
	copy(f.selector[:], crypto.Keccak256([]byte(f.signature)))
	return f, nil
}

// identifier reports whether a name is a valid Solidity identifier: letters, digits, _ and $, not
// beginning with a digit.
func identifier(name string) bool {
	if name == "" || len(name) > maxName || (name[0] >= '0' && name[0] <= '9') {
		return false
	}
	return !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '$'
	})
}

// ParseSignature parses a signature such as transfer(address,uint256): types without names and
// white space. uint, int and byte are aliases, so the canonical form may differ from the text.
func ParseSignature(text string) (*Function, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("signature has %d bytes, more than %d", len(text), maxText)
	}
	open := strings.IndexByte(text, '(')
	if open < 0 {
		return nil, errors.New("signature has no list of types: write name(type,type)")
	}
	r := reader{text: text, at: open + 1}
	inputs, err := r.fields(1)
	if err != nil {
		return nil, err
	}
	if r.at != len(text) {
		return nil, fmt.Errorf("signature goes on after its list of types: %.40q", text[r.at:])
	}
	return newFunction(text[:open], inputs)
}

// reader reads types from a text.
type reader struct {
	text  string
	at    int
	parts int
}

// take consumes the next character if it is c.
func (r *reader) take(c byte) bool {
	if r.at < len(r.text) && r.text[r.at] == c {
		r.at++
		return true
	}
	return false
}

// fields reads types up to the closing parenthesis, after the opening one.
func (r *reader) fields(depth int) ([]Field, error) {
	if r.take(')') {
		return nil, nil
	}
	var list []Field
	for {
		t, err := r.typ(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, Field{Type: t})
		switch {
		case r.take(','):
		case r.take(')'):
			return list, nil
		default:
			return nil, errors.New("a list of types is not closed: write name(type,type)")
		}
	}
}

// typ reads a type with its array brackets.
func (r *reader) typ(depth int) (*Type, error) {
	if r.parts++; depth > maxDepth || r.parts > maxParts {
		return nil, errTooLarge
	}
	if r.take('(') {
		inner, err := r.fields(depth + 1)
		if err != nil {
			return nil, err
		}
		if len(inner) == 0 {
			return nil, errEmpty
		}
		t, err := tupleOf(inner)
		if err != nil {
			return nil, err
		}
		return r.brackets(t)
	}
	end := r.at
	for end < len(r.text) && strings.IndexByte(",()[", r.text[end]) < 0 {
		end++
	}
	t, err := elementary(r.text[r.at:end])
	if err != nil {
		return nil, err
	}
	r.at = end
	return r.brackets(t)
}

// brackets reads array suffixes: any number of [] or [n].
func (r *reader) brackets(t *Type) (*Type, error) {
	for r.take('[') {
		length := strings.IndexByte(r.text[r.at:], ']')
		if length < 0 {
			return nil, errors.New("a bracket is not closed")
		}
		digits, size := r.text[r.at:r.at+length], 0
		if digits != "" {
			n, ok := number(digits)
			if !ok {
				return nil, fmt.Errorf("%.40q is no length of an array", digits)
			}
			size = n
		}
		r.at += length + 1
		var err error
		if t, err = arrayOf(t, size); err != nil {
			return nil, err
		}
	}
	return t, nil
}
