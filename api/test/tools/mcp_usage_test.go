package tools_test

import (
	"encoding/json"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
)

// The usage tools must return what their schemas in tools/list declare, because clients validate
// it. A view accepts only its own parameters.
func TestMCP_UsageHasTheListedForm(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	for _, c := range []struct{ tool, arguments, member, want string }{
		{"get_usage", `{"view":"report"}`, "hours", "24"},
		{"get_usage", `{"view":"report","hours":720,"chain":"base_mainnet"}`, "total_requests", "0"},
		{"get_usage", `{"view":"stats","report":"latency"}`, "window", `"24h"`},
		{"get_usage", `{"view":"stats","report":"errors","window":"7d"}`, "bucket_seconds", "21600"},
		{"get_usage", `{"view":"stats","report":"spend","window":"30d"}`, "report", `"spend"`},
		{"get_usage", `{"view":"stats","report":"cache"}`, "scope", `"account"`},
		{"get_usage", `{"view":"volume","window":"7d"}`, "bucket_seconds", "21600"},
		{"what_can_i_do", `{}`, "volume_30d_units", "0"},
	} {
		t.Run(c.tool, func(t *testing.T) {
			_, n := callTool(g, key, c.tool, c.arguments)
			var members map[string]json.RawMessage
			if err := json.Unmarshal(n.object, &members); err != nil || string(members[c.member]) != c.want {
				t.Errorf("%s of %s: %s is %s in %s, %s", c.tool, c.arguments, c.member, members[c.member], n.object,
					n.refusal)
			}
		})
	}
	for _, arguments := range []string{
		`{}`, `{"view":"all"}`, `{"view":"report","window":"7d"}`, `{"view":"stats"}`,
		`{"view":"stats","report":"cache","chain":"eth_mainnet"}`, `{"view":"volume","hours":3}`,
	} {
		if _, n := callTool(g, key, "get_usage", arguments); n.code(t) != -32602 {
			t.Errorf("get_usage of %s gave %s, %s", arguments, n.object, n.refusal)
		}
	}
	if _, n := callTool(g, "", "what_can_i_do", `{}`); n.code(t) != -32001 {
		t.Errorf("without a key it gave %s, %s", n.object, n.refusal)
	}
}
