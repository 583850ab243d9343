package tools_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

// opening returns an initialize message.
func opening(version string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"` + version +
		`","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
}

const pingMessage = `{"jsonrpc":"2.0","id":7,"method":"ping"}`

// shared checks what is true of every answer of the MCP endpoint: JSON in the protocol's form,
// readable by pages of any origin.
func shared(a apitest.Answer, name string) apitest.Envelope {
	a.T.Helper()
	in := expect.In(a.T, "%s: HTTP %d", name, a.Status)
	expect.Equal(in, a.Header.Get("Content-Type"), "application/json")
	expect.Equal(in, a.Header.Get("Access-Control-Allow-Origin"), "*")
	expect.Equal(in, a.Header.Get("Cache-Control"), "no-store")
	e := a.Envelope()
	in = expect.In(a.T, "%s: HTTP %d is no message of JSON-RPC: %.300s", name, a.Status, a.Body)
	expect.Equal(in, e.JSONRPC, "2.0")
	expect.NotNil(in, e.ID)
	expect.NotEqual(in, e.Result == nil, e.Error == nil)
	return e
}

func TestMCP_AnswersJSONWhateverIsAccepted(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	for _, accept := range []string{
		"", "application/json", "text/event-stream", "*/*", "application/xml",
		"text/html;q=0.9, image/webp", "application/json;q=0", ";;,",
	} {
		for _, message := range []string{
			opening("2025-11-25"), pingMessage, `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`,
			toolCall("convert_evm", `{"op":"keccak","input":"x"}`), toolCall("nothing", `{}`),
		} {
			a := tell(g, key, message, "Accept", accept, "Origin", "https://page.example")
			if e := shared(a, accept); a.Status != http.StatusOK || string(e.ID) != "7" {
				t.Errorf("%q: HTTP %d %.200s", accept, a.Status, a.Body)
			}
			if exposed := a.Header.Get("Access-Control-Expose-Headers"); !strings.Contains(exposed,
				"X-Service-Cache") || a.Header.Get("Mcp-Session-Id") != "" {
				t.Errorf("%q: headers %v", accept, a.Header)
			}
		}
	}
}

func TestMCP_NegotiatesVersions(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	const newest = "2025-11-25"
	for asked, want := range map[string]string{
		"2025-11-25": "2025-11-25", "2025-06-18": "2025-06-18", "2025-03-26": "2025-03-26", "2024-11-05": "2024-11-05",
		"2026-07-28": newest, "1999-01-01": newest, "": newest, "nonsense": newest,
	} {
		t.Run(asked, func(t *testing.T) {
			e := shared(tell(g, "", opening(asked)), asked)
			var result struct {
				ProtocolVersion string
				Capabilities    map[string]json.RawMessage
				ServerInfo      struct{ Name, Version string }
				Instructions    string
			}
			err := json.Unmarshal(e.Result, &result)
			in := expect.In(t, "initialize with %q", asked)
			require.NoError(in, err)
			expect.Equal(in, result.ProtocolVersion, want, e.Result)
			expect.Equal(in, result.ServerInfo.Version, "1.4.0", e.Result)
			expect.NotEqual(in, result.Instructions, "", e.Result)
			expect.Len(in, result.Capabilities, 1, e.Result)
			expect.NotNil(in, result.Capabilities["tools"], e.Result)
			a := tell(g, "", pingMessage, "Mcp-Protocol-Version", asked)
			if spoken := asked == want || asked == ""; spoken != (a.Status == http.StatusOK) ||
				(!spoken && a.Status != http.StatusBadRequest) {
				t.Errorf("the header %q: HTTP %d %s", asked, a.Status, a.Body)
			}
			//nolint:errcheck,forcetypeassert // a test's
			if e := shared(a, asked); e.Error != nil &&
				(e.Error.Code != -32600 || len(e.Error.Data["supported"].([]any)) != 4) {
				t.Errorf("the header %q: %s", asked, a.Body)
			}
			if a := tell(g, "", opening(asked), "Mcp-Protocol-Version", asked); a.Status != http.StatusOK {
				t.Errorf("initialize under the header %q: HTTP %d %s", asked, a.Status, a.Body)
			}
		})
	}
	for _, params := range []string{
		`null`, `{}`, `{"protocolVersion":7}`, `{"protocolVersion":"2025-11-25","capabilities":[],"clientInfo":7}`,
	} {
		a := tell(g, "", `{"jsonrpc":"2.0","id":7,"method":"initialize","params":`+params+`}`)
		if e := shared(a, params); a.Status != http.StatusOK || (e.Error != nil && e.Error.Code != -32602) {
			t.Errorf("initialize with %s: HTTP %d %s", params, a.Status, a.Body)
		}
	}
}

// A malformed message is refused in JSON, with its id if it has one, and with the status that tells
// malformed messages from failed ones.
func TestMCP_WrongMessagesAreRefusedInTheProtocolsForm(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	deep := func(levels int) string { // of the message as a whole
		return `{"jsonrpc":"2.0","id":7,"method":"ping","params":` + strings.Repeat(`{"a":`, levels-1) + "0" +
			strings.Repeat("}", levels-1) + `}`
	}
	padding := strings.Repeat("x", 1<<20-len(pingMessage)-len(`,"params":{"a":""}`))
	full := strings.Replace(pingMessage, `"ping"`, `"ping","params":{"a":"`+padding+`"}`, 1)
	params := func(p string) string { return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":` + p + `}` }
	for name, row := range map[string]struct {
		body   string
		status int
		code   int
		id     string
	}{
		"nothing": {"", 400, -32700, "null"}, "half an object": {"{", 400, -32700, "null"},
		"two": {pingMessage + pingMessage, 400, -32700, "null"}, "no UTF-8": {
			"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"\xff\"}", 400, -32700, "null",
		},
		"a mark of byte order": {"\ufeff" + pingMessage, 400, -32700, "null"}, "half a batch": {
			"[" + pingMessage, 400, -32700, "null",
		}, "a batch": {
			"[" + pingMessage + "]", 400, -32600, "null",
		}, "an empty batch": {"[]", 400, -32600, "null"},
		"null": {"null", 400, -32600, "null"}, "a number": {"1", 400, -32600, "null"},
		"a string": {`"ping"`, 400, -32600, "null"}, "an empty object": {"{}", 400, -32600, "null"},
		"another version": {`{"jsonrpc":"1.0","id":7,"method":"ping"}`, 400, -32600, "7"},
		"no version":      {`{"id":7,"method":"ping"}`, 400, -32600, "7"}, "a method that is no text": {
			`{"jsonrpc":"2.0","id":7,"method":1}`, 400, -32600, "7",
		},
		"no method": {`{"jsonrpc":"2.0","id":7}`, 400, -32600, "7"}, "parameters in an array": {
			`{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}`, 400, -32600, "7",
		},
		"two ids": {`{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}`, 400, -32600, "null"},
		"two methods": {
			`{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/list"}`, 400, -32600, "null",
		},
		"no id":           {`{"jsonrpc":"2.0","method":"ping"}`, 400, -32600, "null"},
		"null as id":      {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, 400, -32600, "null"},
		"an object as id": {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, 400, -32600, "null"},
		"an id of 5,000 bytes": {
			`{"jsonrpc":"2.0","id":"` + strings.Repeat("i", 4998) + `","method":"ping"}`, 400, -32600, "null",
		},
		"65 levels": {deep(65), 400, -32600, "null"}, "64 levels": {deep(64), 200, 0, "7"},
		"a megabyte": {full, 200, 0, "7"}, "a byte more": {full + " ", 413, -32600, "null"},
		"an unknown method": {`{"jsonrpc":"2.0","id":7,"method":"resources/list"}`, 200, -32601, "7"},
		"subscriptions":     {`{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen"}`, 200, -32601, "7"},
		"a cursor": {
			`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"x"}}`, 200, -32602, "7",
		},
		"no parameters": {`{"jsonrpc":"2.0","id":7,"method":"tools/call"}`, 200, -32602, "7"},
		"no name":       {params(`{"arguments":{}}`), 200, -32602, "7"}, "a name that is no text": {
			params(`{"name":["get_key"]}`), 200, -32602, "7",
		},
		"an unknown tool": {params(`{"name":"get_keys"}`), 200, -32602, "7"}, "a tool in capitals": {
			params(`{"name":"GET_KEY"}`), 200, -32602, "7",
		}, "a long name": {
			params(`{"name":"` + strings.Repeat("n", 9999) + `"}`), 200, -32602, "7",
		},
		"arguments in an array": {params(`{"name":"get_key","arguments":[]}`), 200, -32602, "7"},
		"a text as arguments":   {params(`{"name":"get_key","arguments":"{}"}`), 200, -32602, "7"},
		"two names":             {params(`{"name":"get_key","name":"revoke_api_key"}`), 200, -32602, "7"},
		"two arguments":         {params(`{"name":"get_key","arguments":{},"arguments":{}}`), 200, -32602, "7"},
	} {
		t.Run(name, func(t *testing.T) {
			a := tell(g, "", row.body, "Origin", "https://page.example")
			e := shared(a, name)
			code := 0
			if e.Error != nil {
				code = e.Error.Code
				in := expect.In(t, "%s", name)
				expect.NotEqual(in, e.Error.Message, "")
				expect.NotEqual(in, e.Error.Data["request_id"], nil)
				expect.AtMost(in, len(a.Body), 4096, a.Body)
			}
			in := expect.In(t, "%s", name)
			expect.Equal(in, a.Status, row.status)
			expect.Equal(in, code, row.code)
			expect.Equal(in, string(e.ID), row.id)
		})
	}
	if n := len(keysMade(g)); n != 0 {
		t.Errorf("%d keys were made by what was refused", n)
	}
}

// keysMade returns the counters of new keys.
func keysMade(g *apitest.Gateway) []string {
	names, err := g.Meter.Client().Keys(g.T.Context(), "*newkeys*").Result()
	g.Must(err)
	return names
}

func TestMCP_IDsAreEchoedByteForByte(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	for _, id := range []string{
		`0`, `-1`, `12345678901234567890123`, `9007199254740993`, `1.50`, `1e400`, `""`,
		`"a\u0062\""`, `"é"`, `"` + strings.Repeat("i", 4094) + `"`,
	} {
		for _, message := range []string{
			opening("2025-11-25"), pingMessage, `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`,
			toolCall("rpc_call", `{}`), toolCall("none", `{}`), `{"jsonrpc":"2.0","id":7,"method":"nothing"}`,
		} {
			a := tell(g, "", strings.Replace(message, `"id":7`, `"id":`+id, 1))
			if a.Status != http.StatusOK || !strings.HasPrefix(a.Body, `{"jsonrpc":"2.0","id":`+id+`,"`) {
				t.Errorf("%s of %.80s: HTTP %d %.200s", id, message, a.Status, a.Body)
			}
		}
	}
}

func TestMCP_NotificationsHaveNoAnswer(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	for _, message := range []string{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`,
		`{"jsonrpc":"2.0","method":"notifications/nothing"}`, `{"jsonrpc":"2.0","id":7,"result":{}}`,
		`{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}}`,
	} {
		a := tell(g, "", message)
		in := expect.In(t, "%s", message)
		expect.Equal(in, a.Status, http.StatusAccepted)
		expect.Equal(in, a.Body, "")
		expect.Equal(in, a.Header.Get("Access-Control-Allow-Origin"), "*")
	}
}

func TestMCP_OtherRequestsAreRefusedInJSON(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	plain := &http.Transport{} // the document declares only POST
	t.Cleanup(plain.CloseIdleConnections)
	g.Client.Transport = plain
	for name, row := range map[string]struct {
		method, path, body string
		headers            []string
		status             int
	}{
		"GET":    {http.MethodGet, "/mcp", "", []string{"Accept", "text/event-stream"}, 405},
		"DELETE": {http.MethodDelete, "/mcp", "", nil, 405}, "PUT": {http.MethodPut, "/mcp", pingMessage, nil, 405},
		"PATCH": {
			http.MethodPatch, "/mcp", pingMessage, nil, 405,
		},
		"GET of a closed path": {http.MethodGet, "/mcp/sse", "", nil, 410}, "POST to a closed path": {
			http.MethodPost, "/mcp/messages", pingMessage, nil, 410,
		},
		"no type": {http.MethodPost, "/mcp", pingMessage, nil, 415}, "plain text": {
			http.MethodPost, "/mcp", pingMessage, []string{"Content-Type", "text/plain"}, 415,
		},
		"a form": {
			http.MethodPost, "/mcp", "a=b", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415,
		},
		"no type at all": {http.MethodPost, "/mcp", pingMessage, []string{"Content-Type", "json"}, 415},
		"half a type": {
			http.MethodPost, "/mcp", pingMessage, []string{"Content-Type", "application/json; charset"}, 415,
		},
		"gzip": {
			http.MethodPost, "/mcp", "\x1f\x8b", []string{
				"Content-Type", "application/json", "Content-Encoding", "gzip",
			}, 415,
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := g.Ask(row.method, row.path, "", row.body, append(row.headers, "Origin", "https://page.example")...)
			e := shared(a, name)
			in := expect.In(t, "%s", name)
			expect.Equal(in, a.Status, row.status)
			require.NotNil(in, e.Error)
			expect.Equal(in, e.Error.Code, -32600)
			expect.Equal(in, string(e.ID), "null")
			expect.NotEqual(in, a.Header.Get("Access-Control-Expose-Headers"), "")
			if row.status == 405 && a.Header.Get("Allow") != "POST, OPTIONS" {
				t.Errorf("Allow is %q", a.Header.Get("Allow"))
			}
			if row.status == 410 && e.Error.Data["use"] != "https://gateway.example/mcp" {
				t.Errorf("%s leads to %v", name, e.Error.Data)
			}
		})
	}
	for _, kind := range []string{
		"application/json; charset=utf-8", "Application/JSON", "application/json;charset=\"utf-8\"",
	} {
		if a := tell(g, "", pingMessage, "Content-Type", kind, "Content-Encoding",
			"identity"); a.Status != http.StatusOK {
			t.Errorf("%s: HTTP %d %s", kind, a.Status, a.Body)
		}
	}
	a := g.Ask(http.MethodHead, "/mcp", "", "")
	in := expect.In(t, "HEAD")
	expect.Equal(in, a.Status, http.StatusMethodNotAllowed)
	expect.Equal(in, a.Body, "")
	expect.Equal(in, a.Header.Get("Access-Control-Allow-Origin"), "*")
	for path, headers := range map[string][]string{
		"/mcp": {"X-Filler", strings.Repeat("x", 40<<10)}, "/mcp/other": nil, "/mcp/": nil,
	} {
		t.Run(path, func(t *testing.T) {
			a := g.Ask(http.MethodPost, path, "", pingMessage, append(headers, "Content-Type", "application/json")...)
			in := expect.In(t, "%s", path)
			expect.True(in, json.Valid([]byte(a.Body)))
			expect.AtLeast(in, a.Status, 400)
			expect.Less(in, a.Status, 500)
			expect.Equal(in, a.Header.Get("Access-Control-Allow-Origin"), "*")
		})
	}
	for _, path := range []string{"/mcp", "/mcp/sse", "/mcp/messages"} {
		a := g.Ask(http.MethodOptions, path, "", "", "Origin", "https://page.example", "Access-Control-Request-Method",
			"POST", "Access-Control-Request-Headers", "authorization,content-type,mcp-protocol-version")
		allowed := strings.ToLower(a.Header.Get("Access-Control-Allow-Headers"))
		in := expect.In(t, "OPTIONS of %s", path)
		expect.Equal(in, a.Status, http.StatusNoContent)
		expect.Equal(in, a.Header.Get("Access-Control-Allow-Methods"), "POST")
		expect.Equal(in, a.Header.Get("Access-Control-Allow-Origin"), "*")
		expect.Contains(in, allowed, "authorization")
		expect.Contains(in, allowed, "mcp-protocol-version")
	}
}

func TestMCP_ToolListIsCompressedWhenAccepted(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	const list = `{"jsonrpc":"2.0","id":"a name","method":"tools/list"}`
	plain := tell(g, "", list, "Accept-Encoding", "identity")
	zipped := tell(g, "", list, "Accept-Encoding", "gzip, br")
	in := expect.In(t, "plain")
	require.Equal(in, plain.Header.Get("Content-Encoding"), "")
	require.Equal(in, zipped.Header.Get("Content-Encoding"), "gzip")
	require.Contains(in, zipped.Header.Get("Vary"), "Accept-Encoding")
	z, err := gzip.NewReader(strings.NewReader(zipped.Body))
	g.Must(err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	expect.Equal(t, string(text), plain.Body)
	expect.AtMost(t, 5*len(zipped.Body), len(plain.Body))
}

func TestMCP_HandshakeFloodIsRefusedAndToolsAreNot(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	now := time.Now()
	g := apitest.Setup(t, func(o *apitest.Options) {
		o.Now, o.Timeout = func() time.Time { return now }, apitest.StoppedClockTimeout
	})
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"none"}}` // a short answer
	refused := apitest.Answer{}
	for range 2_001 {
		if refused = tell(g, "", list); refused.Status != http.StatusOK {
			break
		}
	}
	e := refused.Envelope()
	expect.Equal(t, refused.Status, http.StatusTooManyRequests)
	expect.NotNil(t, e.Error)
	expect.Equal(t, string(e.ID), "1")
	expect.Equal(t, refused.Header.Get("Retry-After"), "1")
	expect.Equal(t, refused.Header.Get("RateLimit-Limit"), "20")
	expect.Equal(t, refused.Header.Get("RateLimit-Remaining"), "0")
	expect.Equal(t, refused.Header.Get("RateLimit-Reset"), "1")
	if a := tell(g, "", pingMessage); a.Status != http.StatusOK {
		t.Errorf("a ping is refused too: %d %s", a.Status, a.Body)
	}
	if _, n := callTool(g, "", "explain_error", `{"code":-32001}`); n.object == nil {
		t.Errorf("a tool is refused too: %s", n.refusal)
	}
}

func TestMCP_NextDoorNamesTheToolThatLeadsThroughIt(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	door := func(n given) map[string]string {
		t.Helper()
		var refusal struct {
			Data struct {
				NextDoor map[string]string `json:"next_door"`
			}
		}
		if err := json.Unmarshal(n.refusal, &refusal); err != nil {
			t.Fatalf("%v in %s", err, n.refusal)
		}
		return refusal.Data.NextDoor
	}
	key := g.DoorKey()
	for tool, arguments := range map[string]string{
		"get_tx_status": `{"chain":"eth_mainnet"}`, "rpc_call": `{"chain":"eth_mainnet"}`,
	} {
		_, n := callTool(g, key, tool, arguments)
		next := door(n)
		in := expect.In(t, "%s: the next door", tool)
		expect.Equal(in, next["tool"], tool)
		expect.NotEqual(in, next["where"], "")
		expect.HasSuffix(in, next["do"], " The tool for it is "+tool+".")
	}
	g.Revoke(key)
	_, n := callTool(g, key, "rpc_call", `{"chain":"eth_mainnet","method":"eth_call"}`)
	if next := door(n); next["tool"] != "get_key" || next["where"] != "POST /keys" {
		t.Errorf("the next door of a revoked key is %v", next)
	}
	if next, _ := g.Eth(key, "eth_call").Refused(http.StatusUnauthorized,
		-32001)["next_door"].(map[string]any); next["where"] != "POST /keys" || next["tool"] != nil {
		t.Errorf("HTTP's door speaks of tools: %v", next)
	}
}

// Wrong arguments are tool errors, which the model sees.
func TestMCP_WrongArgumentsAreToolErrorsThatNameThem(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	for name, row := range map[string]struct{ tool, args, field string }{
		"a number for a text": {"get_balances", `{"chain":7,"address":"x"}`, "chain"},
		"a field too many": {
			"get_tx_status", `{"chain":"eth_mainnet","hash":"` + apitest.Hash(1) + `","deep":true}`, "deep",
		},
		"a field that lacks": {"get_tx_status", `{"chain":"eth_mainnet"}`, "hash"},
		"another case":       {"get_tx_status", `{"Chain":"eth_mainnet","hash":"` + apitest.Hash(1) + `"}`, "Chain"},
		"another op":         {"convert_evm", `{"op":"divide","input":"1"}`, "op"},
		"no op":              {"convert_evm", `{"input":"1"}`, "op"},
		"a capability's own": {"convert_evm", `{"op":"keccak","text":"1"}`, "text"},
		"parameters of a call": {
			"rpc_call", `{"chain":"eth_mainnet","method":"eth_call","params":{}}`, "params",
		},
		"a chain that is no text": {"rpc_call", `{"chain":["eth_mainnet"],"method":"eth_call"}`, "chain"},
		"no chain":                {"rpc_call", `{"method":"eth_call"}`, "chain"},
		"no method":               {"rpc_call", `{"chain":"eth_mainnet"}`, "method"},
		"a chain twice": {
			"rpc_call", `{"chain":"eth_mainnet","chain":"base_mainnet","method":"eth_call"}`, "chain",
		},
		"a tier": {
			"rpc_call", `{"chain":"eth_mainnet","method":"eth_call","tier":"slow"}`, "tier",
		},
		"a long field":                {"rpc_call", `{"` + strings.Repeat("n", 5000) + `":1}`, "nnnn"},
		"a long field of a data tool": {"get_balances", `{"` + strings.Repeat("n", 5000) + `":1}`, "nnnn"},
		"a cap without end":           {"configure_services", `{"caps":{"rpc":1e999}}`, ""},
		"a huge integer": {
			"get_history", `{"chain":"eth_mainnet","address":"` + dataOwner + `","limit":99999999999999999999999}`,
			"limit",
		},
		"nothing of it": {"get_balances", `null`, "chain"},
	} {
		t.Run(name, func(t *testing.T) {
			a, n := callTool(g, key, row.tool, row.args)
			in := expect.In(t, "%s", name)
			expect.Equal(in, n.code(t), -32602, a)
			expect.Contains(in, string(n.refusal), row.field, a)
			expect.AtMost(in, len(n.refusal), 4096, n.refusal, a)
		})
	}
	// Without a key, nobody learns what is wrong with the arguments.
	if _, n := callTool(g, "", "convert_evm", `{"op":"divide"}`); n.code(t) != -32001 {
		t.Errorf("without a key: %s", n.refusal)
	}
}

func TestMCP_PanicInAToolIsAnAnswer(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t, func(o *apitest.Options) { o.Random = apitest.BrokenRandom{} })
	a, n := callTool(g, "", "get_key", `{}`)
	expect.Equal(t, n.code(t), -32603)
	expect.NotContains(t, a.Body, "defect")
	expect.Contains(t, g.Logs.String(), "a defect in the source of randomness")
	shared(a, "a panic")
	if a := tell(g, "", pingMessage); a.Status != http.StatusOK {
		t.Errorf("afterwards: HTTP %d %s", a.Status, a.Body)
	}
}

func TestMCP_LimitsManagementByKeyAndKeylessToolsByNetwork(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key, other := g.Unlimited(), g.Unlimited()
	until := func(key, tool, args string) int {
		t.Helper()
		for i := range 200 {
			_, n := callTool(g, key, tool, args)
			if n.code(t) == -32005 {
				return i
			}
		}
		return -1
	}
	began := time.Now()
	// refills while they are sent: one a second
	comeBack := func() int { return 1 + int(time.Since(began)/time.Second) }
	if n := until(key, "list_api_keys", `{}`); n < 60 || n > 60+comeBack() {
		t.Errorf("%d management calls passed", n)
	}
	if n := until(key, "get_statement", `{"period":"list"}`); n < 0 || n > comeBack() {
		t.Errorf("another tool of the key passed %d times", n)
	}
	if _, n := callTool(g, other, "list_api_keys", `{}`); n.refusal != nil {
		t.Errorf("another key: %s", n.refusal)
	}
	if _, n := callTool(g, key, "convert_evm", `{"op":"keccak","input":"x"}`); n.refusal != nil {
		t.Errorf("a metered tool: %s", n.refusal)
	}
	began = time.Now()
	if n := until("", "join_waitlist", `{}`); n < 60 || n > 60+comeBack() {
		t.Errorf("%d calls without a key passed", n)
	}
	if n := until("", "join_enterprise_wishlist", `{}`); n < 0 || n > comeBack() {
		t.Errorf("another key-free tool passed %d times", n)
	}
}

func TestMCP_NewKeysOverBothTransportsCountTogether(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	g.NewKey().Welcome()
	var w apitest.Welcome
	_, n := callTool(g, "", "get_key", `{}`)
	g.Must(json.Unmarshal(n.object, &w))
	g.Eth(w.Key, "eth_call").Result()
	g.NewKey().Welcome()
	if _, n := callTool(g, "", "get_key", `{}`); n.code(t) != -32024 ||
		!strings.Contains(string(n.refusal), "doorways") {
		t.Errorf("the fourth is %s", n.refusal)
	}
	g.NewKey().Refused(http.StatusTooManyRequests, -32024)
}

// A page whose own host name resolves to this machine (DNS rebinding) must not reach a gateway
// here. Requests under the gateway's own names may come from any origin.
func TestMCP_ForeignHostsAreRefusedOnLoopback(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		hosts    []string
		allowed  []string
		rejected []string
	}{
		"as it is": {
			nil,
			[]string{"127.0.0.1:80", "localhost", "LOCALHOST:9", "[::1]:80", "gateway.example", "GATEWAY.example:443"},
			[]string{
				"rebind.example", "localhost.rebind.example", "127.0.0.1.rebind.example",
				"gateway.example.rebind.example", "127.0.0.1@rebind.example", "10.0.0.1",
			},
		},
		"with names": {
			[]string{"inner.example"}, []string{"inner.example:8080", "127.0.0.1"}, []string{"rebind.example"},
		},
		"with any": {[]string{"*"}, []string{"rebind.example"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := apitest.Setup(t, func(o *apitest.Options) { o.Hosts = row.hosts })
			ask := func(host string) apitest.Answer {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+"/mcp",
					strings.NewReader(pingMessage))
				g.Must(err)
				req.Host = host
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("Origin", "https://elsewhere.example")
				return g.Send(req)
			}
			for _, host := range row.allowed {
				if a := ask(host); a.Status != http.StatusOK {
					t.Errorf("%s: HTTP %d %s", host, a.Status, a.Body)
				}
			}
			for _, host := range row.rejected {
				a := ask(host)
				e := shared(a, host)
				in := expect.In(t, "%s", host)
				expect.Equal(in, a.Status, http.StatusForbidden)
				require.NotNil(in, e.Error)
				expect.Equal(in, e.Error.Code, -32600)
			}
		})
	}
}

// withKey sends a key with every request, as configured clients do.
type withKey struct {
	next http.RoundTripper
	key  string
}

// RoundTrip implements http.RoundTripper.
func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if k.key != "" {
		r.Header.Set("Authorization", "Bearer "+k.key)
	}
	return k.next.RoundTrip(r)
}

func TestMCP_SDKClientListsAndCallsTools(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	connect := func(key string) *mcp.ClientSession {
		t.Helper()
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: g.URL + "/mcp", HTTPClient: &http.Client{Transport: withKey{g.Client.Transport, key}},
		}, nil)
		g.Must(err)
		t.Cleanup(func() { _ = session.Close() })
		return session
	}
	session := connect(g.Unlimited())
	list, err := session.ListTools(t.Context(), nil)
	g.Must(err)
	if len(list.Tools) != len(g.Tools) {
		t.Errorf("%d tools are listed, the door has %d", len(list.Tools), len(g.Tools))
	}
	g.Must(session.Ping(t.Context(), nil))
	got, err := session.CallTool(t.Context(), &mcp.CallToolParams{
		Name: "convert_evm", Arguments: map[string]any{"op": "keccak", "input": "hello"},
	})
	g.Must(err)
	if got.IsError || !strings.Contains(fmt.Sprint(got.StructuredContent),
		"1c8aff950685c2ed4bc3174f3472287b56d9517b9c948127319a09a7a36deac8") {
		t.Errorf("got %+v", got)
	}
	refused, err := connect("").CallTool(t.Context(), &mcp.CallToolParams{
		Name: "convert_evm", Arguments: map[string]any{"op": "keccak", "input": "hello"},
	})
	g.Must(err)
	text, ok := refused.Content[0].(*mcp.TextContent)
	in := expect.In(t, "without a key")
	expect.True(in, refused.IsError)
	require.True(in, ok)
	expect.Contains(in, text.Text, `"code":-32001`)
}
