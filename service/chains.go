package service

import (
	"strings"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
)

// chainInPath says that the path names a chain: a wrong one is a wrong address then, not a wrong
// field.
func (m *Meta) chainInPath() bool { return strings.Contains(m.Route.Path, "{chain}") }

// UnknownChain is the refusal of a chain in a path, on all routes alike: one that there is not, or
// that has no upstream here.
func UnknownChain(name string, links chain.Links) *fault.Error {
	if _, known := chain.Lookup(name); known {
		return fault.New(fault.UnknownChain,
			"This gateway has no upstream for %s. Use one of its other chains, or ask at data.contact.", name).
			With("contact", links.Contact)
	}
	return fault.New(fault.UnknownChain, "")
}

// knowsChain refuses a chain in the path that is none. One that is, and does not fit the operation,
// its schema refuses, which says why.
func (o *Operation[In, Out]) knowsChain(args map[string]any) *fault.Error {
	name, ok := args["chain"].(string)
	if !ok || !o.meta.chainInPath() {
		return nil
	}
	if _, known := chain.Lookup(name); known {
		return nil
	}
	return UnknownChain(name, o.house.Links)
}

// onChain notes the chain of a use. Without an upstream here there is no answer, whatever else is
// asked.
func (o *Operation[In, Out]) onChain(u *use, id chain.ID) *fault.Error {
	if id == "" { // an optional chain that was not named
		return nil
	}
	u.toll.Metered.Chain = string(id)
	if _, ok := o.house.Pool.Chain(id); ok {
		return nil
	}
	switch {
	case o.meta.chainInPath():
		return UnknownChain(string(id), o.house.Links)
	case o.in.Properties["chain"] != nil:
		return fault.New(fault.FieldRefused,
			"chain: this gateway has no upstream for %s. Use one of its other chains.", id)
	}
	return fault.New(fault.NoUpstream,
		"This is read from %s, for which this gateway has no upstream. Nothing was charged; ask at data.contact.", id).
		With("contact", o.house.Links.Contact)
}
