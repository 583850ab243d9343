package mcp

import (
	"maps"
	"net/http"

	"github.com/chainaccess/gateway/internal/fault"
)

// relayRoute is the route of rpc_call, as refusals name it.
const relayRoute = http.MethodPost + " /rpc/{chain}"

// routesOf returns the first tool for each HTTP route, by method and path.
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

// doorInTools adds to a refusal's next step the tool that does the same as its HTTP route. A step
// without a tool stays as it is.
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
