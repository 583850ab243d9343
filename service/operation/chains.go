package operation

import (
	"strings"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/relay/chain"
)

// chainInPath reports whether the path names the chain. A wrong chain is then a wrong address
// (404), not a wrong field.
func (m *Meta) chainInPath() bool { return strings.Contains(m.Route.Path, "{chain}") }

// UnknownChain is the refusal, on all routes, of a chain in a path that does not exist or has no
// upstream here.
func UnknownChain(known *chain.Set, name string, links chain.Links) *fault.Error {
	if _, ok := known.Lookup(name); ok {
		return fault.New(fault.UnknownChain,
			"This gateway has no upstream for %s. Use one of its other chains, or ask at data.contact.", name).
			With("contact", links.Contact)
	}
	if known.Equal(nil) {
		return fault.New(fault.UnknownChain, "") // the table's text has the built-in ones
	}
	return fault.New(fault.UnknownChain, "The chain in the path is not served. Use one of %s.",
		strings.Join(known.IDs(), ", "))
}

// knowsChain refuses a path with a chain that does not exist. A chain that exists but does not fit
// the operation is refused by the schema, which states why.
func (o *Operation[In, Out]) knowsChain(args map[string]any) *fault.Error {
	name, ok := args["chain"].(string)
	if !ok || !o.meta.chainInPath() {
		return nil
	}
	if _, known := o.runner.deps.Pool.Known().Lookup(name); known {
		return nil
	}
	return UnknownChain(o.runner.deps.Pool.Known(), name, o.runner.deps.Links)
}

// onChain stores the chain of a use for metering. It refuses a chain without an upstream here.
func (o *Operation[In, Out]) onChain(u *use, id chain.ID) *fault.Error {
	if id == "" { // an optional chain that was left out
		return nil
	}
	u.toll.Metered.Chain = string(id)
	if _, ok := o.runner.deps.Pool.Chain(id); ok {
		return nil
	}
	switch {
	case o.meta.chainInPath():
		return UnknownChain(o.runner.deps.Pool.Known(), string(id), o.runner.deps.Links)
	case o.in.Properties["chain"] != nil:
		return fault.New(fault.FieldRefused,
			"chain: this gateway has no upstream for %s. Use one of its other chains.", id)
	}
	return fault.New(fault.NoUpstream,
		"This is read from %s, for which this gateway has no upstream. Nothing was charged; ask at data.contact.", id).
		With("contact", o.runner.deps.Links.Contact)
}
