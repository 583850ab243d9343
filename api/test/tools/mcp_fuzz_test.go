package tools_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/oascheck"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// FuzzMCP checks the MCP endpoint, over real servers, for what is true of every body, tool and
// arguments: JSON in the protocol's form with the right status, no internal fault, and no secret
// that the caller did not send.
func FuzzMCP(f *testing.F) {
	for _, seed := range [][2]string{
		{"", ""},
		{"", "{"},
		{"", "null"},
		{"", "[" + pingMessage + "]"},
		{"", pingMessage},
		{"", opening("2025-11-25")},
		{"", opening("\u0000")},
		{"", `{"jsonrpc":"2.0","id":{"a":[1e400]},"method":"ping"}`},
		{"", `{"jsonrpc":"2.0","method":"notifications/x"}`},
		{"", "\xff\xfe"},
		{"", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":{},"clientInfo":[]}}`},
		{"", `{"jsonrpc":"2.0","id":"x","method":"tools\/list","params":{"cursor":null,"cursor":""}}`},
		{"", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\ud800","arguments":{"\ud800":"\udc00"}` +
			`}}`},
		{"rpc_call", `{"chain":"eth_mainnet","method":"eth_call","params":[{"to":"0x0"},"latest"],"tier":"fast"}`},
		{"rpc_call", `{"chain":"eth_mainnet","method":"eth_getLogs","params":[{"fromBlock":{},"toBlock":[1]}]}`},
		{"rpc_call", `{"chain":"eth_mainnet","method":"\u0000","params":null}`},
		{"rpc_call", `{"chain":"\ud800"}`},
		{"rpc_call", `null`},
		{"rpc_call", `[]`},
		{"convert_evm", `{"op":"convert","input":"1e999","from":"eth","to":"wei"}`},
		{"convert_evm", `{"op":["keccak"],"input":1e999}`},
		{"convert_evm", `{"op":"selector","input":"f((((("}`},
		{"verify_signature", `{"mode":"siwe","message":"\u0000","signature":"0x"}`},
		{"resolve_ens", `{"query":"\ud83d\ude00.eth"}`},
		{"decode_calldata", `{"chain":"eth_mainnet","address":"0x1","calldata":"0x"}`},
		{"configure_services", `{"caps":{"rpc":1e999},"enabled":[{}]}`},
		{"configure_key", `{"id":"","monthly_request_cap":-1}`},
		{"get_statement", `{"period":"list"}`},
		{"get_statement", `{"period":["list"]}`},
		{"revoke_api_key", `{"api_key_id":"x"}`},
		{"update_account", `{"time_zone":"../etc"}`},
		{"get_history", `{"chain":"eth_mainnet","address":"0x","limit":99999999999999999999}`},
		{"explain_error", `{"code":1e999}`},
		{"get_key", `{"a":1}`},
	} {
		f.Add(seed[0], seed[1])
	}
	g := apitest.Setup(f)
	g.All(testkit.ResultOf(func(r testkit.Request) any { return r.Params }))
	keys := make([]string, 64) // enough that no rate window refuses
	for i := range keys {
		keys[i] = g.Unlimited()
	}
	var next atomic.Int64
	document := g.InterfaceDocument()
	f.Fuzz(func(t *testing.T, tool, text string) {
		body, shaped := text, tool != ""
		if shaped {
			name, err := json.Marshal(tool)
			if err != nil {
				t.Fatal(err)
			}
			body = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":` + string(name) + `,"arguments":` +
				text + `}}`
		}
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		key := keys[int(next.Add(1))%len(keys)]
		req.Header.Set("Authorization", "Bearer "+key)
		w := httptest.NewRecorder()
		g.Handler.ServeHTTP(w, req)
		if err := document.Check(&oascheck.Answer{
			Method: req.Method, URL: req.URL, Status: w.Code, Header: w.Header(), Body: w.Body.Bytes(),
		}); err != nil {
			t.Error(err)
		}
		id, err := uuid.Parse(w.Header().Get("X-Request-Id"))
		require.NoError(t, err)
		expect.Equal(t, id.Version(), 7)
		expect.Equal(t, w.Header().Get("Access-Control-Allow-Origin"), "*")
		told := w.Body.String()
		if strings.Contains(told, apitest.Canary) && !strings.Contains(body, apitest.Canary) ||
			strings.Contains(told, key) &&
				!strings.Contains(body, key) {
			t.Errorf("a secret shows: %.600s", told)
		}
		switch w.Code {
		case http.StatusAccepted:
			if told != "" || shaped && json.Valid([]byte(body)) {
				t.Errorf("HTTP 202 with %.200s", told)
			}
			return
		case http.StatusOK, http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		default:
			t.Errorf("HTTP %d %.300s", w.Code, told)
		}
		var e struct {
			JSONRPC string
			ID      json.RawMessage
			Result  json.RawMessage
			Error   *struct{ Code int }
		}
		err = json.Unmarshal(w.Body.Bytes(), &e)
		require.NoError(t, err)
		expect.Equal(t, e.JSONRPC, "2.0", told)
		expect.NotNil(t, e.ID, told)
		expect.NotEqual(t, e.Result == nil, e.Error == nil, told)
		expect.False(t, w.Code != http.StatusOK && e.Error == nil, told)
		if strings.Contains(told, "-32603") && !strings.Contains(body, "32603") {
			t.Errorf("an internal fault: %.600s", told)
		}
	})
}
