package abi

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Contract is a contract's functions, from an ABI in JSON.
type Contract struct {
	// Functions in the order of the ABI, without those whose types calldata cannot have (storage
	// references of libraries).
	Functions []*Function
	// Receive reports whether there is a receive function, Fallback whether there is a fallback
	// function, Payable whether the fallback accepts value.
	Receive, Fallback, Payable bool
}

// MaxEntries bounds the entries of an ABI. The largest deployed contracts have some hundreds.
const MaxEntries = 10_000

// entry is an entry of an ABI in JSON, or an argument or a component of one.
type entry struct {
	Type            string  `json:"type"`
	Name            string  `json:"name"`
	Inputs          []entry `json:"inputs"`
	Components      []entry `json:"components"`
	StateMutability string  `json:"stateMutability"`
	Payable         bool    `json:"payable"` // before Solidity 0.5
}

// ParseContract reads the entries of an ABI in JSON. It skips entries that it cannot read.
func ParseContract(entries []json.RawMessage) (*Contract, error) {
	if len(entries) > MaxEntries {
		return nil, fmt.Errorf("the ABI has %d entries, more than %d", len(entries), MaxEntries)
	}
	c := &Contract{}
	for _, text := range entries {
		var e entry
		if json.Unmarshal(text, &e) == nil {
			c.add(&e)
		}
	}
	return c, nil
}

func (c *Contract) add(e *entry) {
	switch e.Type {
	case "function", "": // the specification allows functions to omit their type
		if f, err := e.function(); err == nil {
			c.Functions = append(c.Functions, f)
		}
	case "receive":
		c.Receive = true
	case "fallback":
		c.Fallback = true
		c.Payable = c.Payable || e.Payable || e.StateMutability == "payable"
	}
}

// Selected returns the functions with a selector, in the order of the ABI.
func (c *Contract) Selected(selector [4]byte) []*Function {
	var found []*Function
	for _, f := range c.Functions {
		if f.selector == selector {
			found = append(found, f)
		}
	}
	return found
}

func (e *entry) function() (*Function, error) {
	parts := 0
	inputs, err := fieldsOf(e.Inputs, 1, &parts)
	if err != nil {
		return nil, err
	}
	return newFunction(e.Name, inputs)
}

func fieldsOf(list []entry, depth int, parts *int) ([]Field, error) {
	fields := make([]Field, 0, min(len(list), maxParts))
	for i := range list {
		if *parts++; *parts > maxParts || depth > maxDepth || len(list[i].Name) > maxName {
			return nil, errTooLarge
		}
		t, err := list[i].typ(depth, parts)
		if err != nil {
			return nil, err
		}
		fields = append(fields, Field{Name: list[i].Name, Type: t})
	}
	return fields, nil
}

// typ reads the type of an argument: "tuple" means its components, brackets after it make arrays.
func (e *entry) typ(depth int, parts *int) (*Type, error) {
	r := reader{text: e.Type}
	base := e.Type
	if i := strings.IndexByte(e.Type, '['); i >= 0 {
		base = e.Type[:i]
	}
	r.at = len(base)
	var t *Type
	var err error
	switch {
	case len(e.Type) > maxText:
		return nil, errTooLarge
	case base != "tuple":
		t, err = elementary(base)
	case len(e.Components) == 0:
		return nil, errEmpty
	default:
		var fields []Field
		if fields, err = fieldsOf(e.Components, depth+1, parts); err == nil {
			t, err = tupleOf(fields)
		}
	}
	if err != nil {
		return nil, err
	}
	if t, err = r.brackets(t); err != nil {
		return nil, err
	}
	if r.at != len(e.Type) {
		return nil, fmt.Errorf("%.60q is no type of the ABI", e.Type)
	}
	return t, nil
}
