package tools_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// Advice needs no key and costs nothing.
func TestAdvice_IsGivenOverMCPWithoutAKey(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	for _, c := range []struct{ tool, arguments, member, want string }{
		{"get_quote", `{"chain":"eth_mainnet","method":"eth_getLogs","tier":"fast"}`, "units", "2"},
		{"get_quote", `{"chain":"eth_mainnet","method":"eth_accounts"}`, "offered", "false"},
		{"explain_error", `{"code":-32005}`, "title", `"Rate window reached"`},
		{"explain_error", `{"code":"door_key_day"}`, "code", "-32016"},
		{"recommend", `{"what":"chain","candidates":["eth_mainnet"]}`, "pick", `"eth_mainnet"`},
		{"recommend", `{"what":"route","chain":"eth_mainnet","method":"eth_call","need":"cheap"}`, "pick", `"cheap"`},
		{
			"migrate", `{"config":"ETH_RPC_URL=https://eth-mainnet.g.alchemy.com/v2/s3cr3tK3yOfSomebody42"}`, "ready",
			"true",
		},
		{"list_plans", `{}`, "currency", `"USD"`},
		{"list_plans", ``, "payments_live", "false"},
	} {
		t.Run(c.tool, func(t *testing.T) {
			text, isError := useTool(g, c.tool, c.arguments)
			var members map[string]json.RawMessage
			err := json.Unmarshal([]byte(text), &members)
			in := expect.In(t, "%s of %s: %s", c.tool, c.arguments, c.member)
			require.NoError(in, err)
			expect.False(in, isError, text)
			expect.Equal(in, string(members[c.member]), c.want, text)
			if strings.Contains(text, "s3cr3t") {
				t.Errorf("%s shows a secret: %s", c.tool, text)
			}
		})
	}
	for _, c := range []struct{ tool, arguments, names string }{
		{"get_quote", `{"chain":"sepolia","method":"eth_call"}`, "chain"},
		{"explain_error", `{"code":1.5}`, "code"},
		{"recommend", `{"what":"weather"}`, "what"},
		{"recommend", `{"what":"chain","method":"eth_call"}`, "method"},
		{"migrate", `{"config":"` + strings.Repeat("x", 20_001) + `"}`, "config"},
	} {
		t.Run(c.tool, func(t *testing.T) {
			text, isError := useTool(g, c.tool, c.arguments)
			in := expect.In(t, "%s of %.60s", c.tool, c.arguments)
			require.True(in, isError)
			expect.Contains(in, text, "-32602")
			expect.Contains(in, text, c.names)
		})
	}
}

// useTool calls a tool without a key and returns the text of the result.
func useTool(g *apitest.Gateway, name, arguments string) (text string, isError bool) {
	g.T.Helper()
	params := fmt.Sprintf(`{"name":%q}`, name)
	if arguments != "" {
		params = fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments)
	}
	a := g.Ask("POST", "/mcp", "", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`+params+`}`, "Content-Type",
		"application/json")
	var message struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	if err := json.Unmarshal([]byte(a.Body), &message); err != nil || len(message.Result.Content) != 1 {
		g.T.Fatalf("%s: %s (%v)", name, a.Body, err)
	}
	return message.Result.Content[0].Text, message.Result.IsError
}
