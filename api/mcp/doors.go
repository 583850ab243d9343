package mcp

import (
	"maps"
	"net/http"

	"github.com/chainaccess/gateway/internal/fault"
)

// relayRoute is what rpc_call does, as refusals name it.
const relayRoute = http.MethodPost + " /rpc/{chain}"

// routesOf returns the first tool that does what a route of HTTP's door does.
func routesOf(tools []*tool) map[string]string {
	at := map[string]string{}
	for _, t := range tools {
		if t.relays {
			at[relayRoute] = t.name
		}
		for _, w := range t.ways {
			route := w.of.Meta().Route
			if name := route.Method + " " + route.Path; route.Path != "" && at[name] == "" {
				at[name] = t.name
			}
		}
	}
	return at
}

// doorInTools names the tool by which an agent goes through the next door, beside the route of
// HTTP. A door that no tool leads through stays as it is.
func (d *Door) doorInTools(f *fault.Error) *fault.Error {
	door, ok := f.Data["next_door"].(map[string]string)
	if !ok || d.at[door["where"]] == "" {
		return f
	}
	ours := maps.Clone(door)
	ours["tool"] = d.at[door["where"]]
	ours["do"] += " The tool for it is " + ours["tool"] + "."
	return f.With("next_door", ours)
}
