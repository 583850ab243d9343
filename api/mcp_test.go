package api_test

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

	"github.com/chainaccess/gateway/internal/testkit"
)

// opening returns an initialize message.
func opening(version string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"` + version +
		`","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
}

const pingMessage = `{"jsonrpc":"2.0","id":7,"method":"ping"}`

// shared checks what is true of every answer of the MCP endpoint: JSON in the protocol's form,
// readable by pages of any origin.
func (a answer) shared(name string) envelope {
	a.t.Helper()
	if a.header.Get("Content-Type") != "application/json" || a.header.Get("Access-Control-Allow-Origin") != "*" ||
		a.header.Get("Cache-Control") != "no-store" {
		a.t.Errorf("%s: HTTP %d with %v", name, a.status, a.header)
	}
	e := a.envelope()
	if e.JSONRPC != "2.0" || e.ID == nil || (e.Result == nil) == (e.Error == nil) {
		a.t.Errorf("%s: HTTP %d is no message of JSON-RPC: %.300s", name, a.status, a.body)
	}
	return e
}

func TestMCP_AnswersJSONWhateverIsAccepted(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	for _, accept := range []string{
		"", "application/json", "text/event-stream", "*/*", "application/xml",
		"text/html;q=0.9, image/webp", "application/json;q=0", ";;,",
	} {
		for _, message := range []string{
			opening("2025-11-25"), pingMessage, `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`,
			toolCall("convert_evm", `{"op":"keccak","input":"x"}`), toolCall("nothing", `{}`),
		} {
			a := g.tell(key, message, "Accept", accept, "Origin", "https://page.example")
			if e := a.shared(accept); a.status != http.StatusOK || string(e.ID) != "7" {
				t.Errorf("%q: HTTP %d %.200s", accept, a.status, a.body)
			}
			if exposed := a.header.Get("Access-Control-Expose-Headers"); !strings.Contains(exposed,
				"X-Service-Cache") || a.header.Get("Mcp-Session-Id") != "" {
				t.Errorf("%q: headers %v", accept, a.header)
			}
		}
	}
}

func TestMCP_NegotiatesVersions(t *testing.T) {
	t.Parallel()
	g := setup(t)
	const newest = "2025-11-25"
	for asked, want := range map[string]string{
		"2025-11-25": "2025-11-25", "2025-06-18": "2025-06-18", "2025-03-26": "2025-03-26", "2024-11-05": "2024-11-05",
		"2026-07-28": newest, "1999-01-01": newest, "": newest, "nonsense": newest,
	} {
		e := g.tell("", opening(asked)).shared(asked)
		var result struct {
			ProtocolVersion string
			Capabilities    map[string]json.RawMessage
			ServerInfo      struct{ Name, Version string }
			Instructions    string
		}
		if err := json.Unmarshal(e.Result, &result); err != nil || result.ProtocolVersion != want ||
			result.ServerInfo.Version != "1.4.0" || result.Instructions == "" ||
			len(result.Capabilities) != 1 || result.Capabilities["tools"] == nil {
			t.Errorf("initialize with %q gives %s (%v)", asked, e.Result, err)
		}
		a := g.tell("", pingMessage, "Mcp-Protocol-Version", asked)
		if spoken := asked == want || asked == ""; spoken != (a.status == http.StatusOK) ||
			(!spoken && a.status != http.StatusBadRequest) {
			t.Errorf("the header %q: HTTP %d %s", asked, a.status, a.body)
		}
		//nolint:errcheck,forcetypeassert // a test's
		if e := a.shared(asked); e.Error != nil &&
			(e.Error.Code != -32600 || len(e.Error.Data["supported"].([]any)) != 4) {
			t.Errorf("the header %q: %s", asked, a.body)
		}
		if a := g.tell("", opening(asked), "Mcp-Protocol-Version", asked); a.status != http.StatusOK {
			t.Errorf("initialize under the header %q: HTTP %d %s", asked, a.status, a.body)
		}
	}
	for _, params := range []string{
		`null`, `{}`, `{"protocolVersion":7}`, `{"protocolVersion":"2025-11-25","capabilities":[],"clientInfo":7}`,
	} {
		a := g.tell("", `{"jsonrpc":"2.0","id":7,"method":"initialize","params":`+params+`}`)
		if e := a.shared(params); a.status != http.StatusOK || (e.Error != nil && e.Error.Code != -32602) {
			t.Errorf("initialize with %s: HTTP %d %s", params, a.status, a.body)
		}
	}
}

// A malformed message is refused in JSON, with its id if it has one, and with the status that tells
// malformed messages from failed ones.
func TestMCP_WrongMessagesAreRefusedInTheProtocolsForm(t *testing.T) {
	t.Parallel()
	g := setup(t)
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
		a := g.tell("", row.body, "Origin", "https://page.example")
		e := a.shared(name)
		code := 0
		if e.Error != nil {
			code = e.Error.Code
			if e.Error.Message == "" || e.Error.Data["request_id"] == nil || len(a.body) > 4096 {
				t.Errorf("%s: %.600s", name, a.body)
			}
		}
		if a.status != row.status || code != row.code || string(e.ID) != row.id {
			t.Errorf("%s: HTTP %d, code %d, id %s, want %d, %d, %s: %.300s", name, a.status, code, e.ID, row.status,
				row.code, row.id, a.body)
		}
	}
	if n := len(g.keysMade()); n != 0 {
		t.Errorf("%d keys were made by what was refused", n)
	}
}

// keysMade returns the counters of new keys.
func (g *gateway) keysMade() []string {
	names, err := g.meter.Client().Keys(g.t.Context(), "*newkeys*").Result()
	g.must(err)
	return names
}

func TestMCP_IDsAreEchoedByteForByte(t *testing.T) {
	t.Parallel()
	g := setup(t)
	for _, id := range []string{
		`0`, `-1`, `12345678901234567890123`, `9007199254740993`, `1.50`, `1e400`, `""`,
		`"a\u0062\""`, `"é"`, `"` + strings.Repeat("i", 4094) + `"`,
	} {
		for _, message := range []string{
			opening("2025-11-25"), pingMessage, `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`,
			toolCall("rpc_call", `{}`), toolCall("none", `{}`), `{"jsonrpc":"2.0","id":7,"method":"nothing"}`,
		} {
			a := g.tell("", strings.Replace(message, `"id":7`, `"id":`+id, 1))
			if a.status != http.StatusOK || !strings.HasPrefix(a.body, `{"jsonrpc":"2.0","id":`+id+`,"`) {
				t.Errorf("%s of %.80s: HTTP %d %.200s", id, message, a.status, a.body)
			}
		}
	}
}

func TestMCP_NotificationsHaveNoAnswer(t *testing.T) {
	t.Parallel()
	g := setup(t)
	for _, message := range []string{
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`,
		`{"jsonrpc":"2.0","method":"notifications/nothing"}`, `{"jsonrpc":"2.0","id":7,"result":{}}`,
		`{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}}`,
	} {
		if a := g.tell("", message); a.status != http.StatusAccepted || a.body != "" ||
			a.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: HTTP %d %s %v", message, a.status, a.body, a.header)
		}
	}
}

func TestMCP_OtherRequestsAreRefusedInJSON(t *testing.T) {
	t.Parallel()
	g := setup(t)
	plain := &http.Transport{} // the document declares only POST
	t.Cleanup(plain.CloseIdleConnections)
	g.client.Transport = plain
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
		a := g.ask(row.method, row.path, "", row.body, append(row.headers, "Origin", "https://page.example")...)
		e := a.shared(name)
		if a.status != row.status || e.Error == nil || e.Error.Code != -32600 || string(e.ID) != "null" ||
			a.header.Get("Access-Control-Expose-Headers") == "" {
			t.Errorf("%s: HTTP %d %s %v", name, a.status, a.body, a.header)
		}
		if row.status == 405 && a.header.Get("Allow") != "POST, OPTIONS" {
			t.Errorf("%s: Allow is %q", name, a.header.Get("Allow"))
		}
		if row.status == 410 && e.Error.Data["use"] != "https://gateway.example/mcp" {
			t.Errorf("%s leads to %v", name, e.Error.Data)
		}
	}
	for _, kind := range []string{
		"application/json; charset=utf-8", "Application/JSON", "application/json;charset=\"utf-8\"",
	} {
		if a := g.tell("", pingMessage, "Content-Type", kind, "Content-Encoding",
			"identity"); a.status != http.StatusOK {
			t.Errorf("%s: HTTP %d %s", kind, a.status, a.body)
		}
	}
	if a := g.ask(http.MethodHead, "/mcp", "", ""); a.status != http.StatusMethodNotAllowed || a.body != "" ||
		a.header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("HEAD: HTTP %d %v", a.status, a.header)
	}
	for path, headers := range map[string][]string{
		"/mcp": {"X-Filler", strings.Repeat("x", 40<<10)}, "/mcp/other": nil, "/mcp/": nil,
	} {
		a := g.ask(http.MethodPost, path, "", pingMessage, append(headers, "Content-Type", "application/json")...)
		if !json.Valid([]byte(a.body)) || a.status < 400 || a.status >= 500 ||
			a.header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("%s: HTTP %d %s %v", path, a.status, a.body, a.header)
		}
	}
	for _, path := range []string{"/mcp", "/mcp/sse", "/mcp/messages"} {
		a := g.ask(http.MethodOptions, path, "", "", "Origin", "https://page.example", "Access-Control-Request-Method",
			"POST", "Access-Control-Request-Headers", "authorization,content-type,mcp-protocol-version")
		allowed := strings.ToLower(a.header.Get("Access-Control-Allow-Headers"))
		if a.status != http.StatusNoContent || a.header.Get("Access-Control-Allow-Methods") != "POST" ||
			a.header.Get("Access-Control-Allow-Origin") != "*" ||
			!strings.Contains(allowed, "authorization") || !strings.Contains(allowed, "mcp-protocol-version") {
			t.Errorf("OPTIONS of %s: HTTP %d %v", path, a.status, a.header)
		}
	}
}

func TestMCP_ToolListIsCompressedWhenAccepted(t *testing.T) {
	t.Parallel()
	g := setup(t)
	const list = `{"jsonrpc":"2.0","id":"a name","method":"tools/list"}`
	plain := g.tell("", list, "Accept-Encoding", "identity")
	zipped := g.tell("", list, "Accept-Encoding", "gzip, br")
	if plain.header.Get("Content-Encoding") != "" || zipped.header.Get("Content-Encoding") != "gzip" ||
		!strings.Contains(zipped.header.Get("Vary"), "Accept-Encoding") {
		t.Fatalf("plain: %v; compressed: %v", plain.header, zipped.header)
	}
	z, err := gzip.NewReader(strings.NewReader(zipped.body))
	g.must(err)
	text, err := io.ReadAll(z)
	if err != nil || string(text) != plain.body || 5*len(zipped.body) > len(plain.body) {
		t.Errorf("%d bytes for %d read back as %d (%v)", len(zipped.body), len(plain.body), len(text), err)
	}
}

func TestMCP_HandshakeFloodIsRefusedAndToolsAreNot(t *testing.T) {
	testkit.Slow(t)
	t.Parallel()
	now := time.Now()
	g := setup(t, func(o *options) { o.now, o.timeout = func() time.Time { return now }, standing })
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"none"}}` // a short answer
	refused := answer{}
	for range 2_001 {
		if refused = g.tell("", list); refused.status != http.StatusOK {
			break
		}
	}
	e := refused.envelope()
	if refused.status != http.StatusTooManyRequests || e.Error == nil || string(e.ID) != "1" ||
		refused.header.Get("Retry-After") != "1" ||
		refused.header.Get("RateLimit-Limit") != "20" || refused.header.Get("RateLimit-Remaining") != "0" ||
		refused.header.Get("RateLimit-Reset") != "1" {
		t.Errorf("HTTP %d %s %v", refused.status, refused.body, refused.header)
	}
	if a := g.tell("", pingMessage); a.status != http.StatusOK {
		t.Errorf("a ping is refused too: %d %s", a.status, a.body)
	}
	if _, n := g.tool("", "explain_error", `{"code":-32001}`); n.object == nil {
		t.Errorf("a tool is refused too: %s", n.refusal)
	}
}

func TestMCP_NextDoorNamesTheToolThatLeadsThroughIt(t *testing.T) {
	t.Parallel()
	g := setup(t)
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
	key := g.doorKey()
	for tool, arguments := range map[string]string{
		"get_tx_status": `{"chain":"eth_mainnet"}`, "rpc_call": `{"chain":"eth_mainnet"}`,
	} {
		_, n := g.tool(key, tool, arguments)
		if next := door(n); next["tool"] != tool || next["where"] == "" ||
			!strings.HasSuffix(next["do"], " The tool for it is "+tool+".") {
			t.Errorf("%s: the next door is %v", tool, next)
		}
	}
	g.revoke(key)
	_, n := g.tool(key, "rpc_call", `{"chain":"eth_mainnet","method":"eth_call"}`)
	if next := door(n); next["tool"] != "get_key" || next["where"] != "POST /keys" {
		t.Errorf("the next door of a revoked key is %v", next)
	}
	if next, _ := g.eth(key, "eth_call").refused(http.StatusUnauthorized,
		-32001)["next_door"].(map[string]any); next["where"] != "POST /keys" || next["tool"] != nil {
		t.Errorf("HTTP's door speaks of tools: %v", next)
	}
}

// Wrong arguments are tool errors, which the model sees.
func TestMCP_WrongArgumentsAreToolErrorsThatNameThem(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	for name, row := range map[string]struct{ tool, args, field string }{
		"a number for a text": {"get_balances", `{"chain":7,"address":"x"}`, "chain"},
		"a field too many": {
			"get_tx_status", `{"chain":"eth_mainnet","hash":"` + hash(1) + `","deep":true}`, "deep",
		},
		"a field that lacks": {"get_tx_status", `{"chain":"eth_mainnet"}`, "hash"},
		"another case":       {"get_tx_status", `{"Chain":"eth_mainnet","hash":"` + hash(1) + `"}`, "Chain"},
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
		a, n := g.tool(key, row.tool, row.args)
		if n.code(t) != -32602 || !strings.Contains(string(n.refusal), row.field) || len(n.refusal) > 4096 {
			t.Errorf("%s: %.600s", name, a.body)
		}
	}
	// Without a key, nobody learns what is wrong with the arguments.
	if _, n := g.tool("", "convert_evm", `{"op":"divide"}`); n.code(t) != -32001 {
		t.Errorf("without a key: %s", n.refusal)
	}
}

func TestMCP_PanicInAToolIsAnAnswer(t *testing.T) {
	t.Parallel()
	g := setup(t, func(o *options) { o.random = panicking{} })
	a, n := g.tool("", "get_key", `{}`)
	if n.code(t) != -32603 || strings.Contains(a.body, "defect") ||
		!strings.Contains(g.logs.String(), "a defect in the source of randomness") {
		t.Errorf("HTTP %d %s", a.status, a.body)
	}
	a.shared("a panic")
	if a := g.tell("", pingMessage); a.status != http.StatusOK {
		t.Errorf("afterwards: HTTP %d %s", a.status, a.body)
	}
}

func TestMCP_LimitsManagementByKeyAndKeylessToolsByNetwork(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key, other := g.unlimited(), g.unlimited()
	until := func(key, tool, args string) int {
		t.Helper()
		for i := range 200 {
			_, n := g.tool(key, tool, args)
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
	if _, n := g.tool(other, "list_api_keys", `{}`); n.refusal != nil {
		t.Errorf("another key: %s", n.refusal)
	}
	if _, n := g.tool(key, "convert_evm", `{"op":"keccak","input":"x"}`); n.refusal != nil {
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
	g := setup(t)
	g.newKey().welcome()
	var w welcome
	_, n := g.tool("", "get_key", `{}`)
	g.must(json.Unmarshal(n.object, &w))
	g.eth(w.Key, "eth_call").result()
	g.newKey().welcome()
	if _, n := g.tool("", "get_key", `{}`); n.code(t) != -32024 || !strings.Contains(string(n.refusal), "doorways") {
		t.Errorf("the fourth is %s", n.refusal)
	}
	g.newKey().refused(http.StatusTooManyRequests, -32024)
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
			g := setup(t, func(o *options) { o.hosts = row.hosts })
			ask := func(host string) answer {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+"/mcp",
					strings.NewReader(pingMessage))
				g.must(err)
				req.Host = host
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("Origin", "https://elsewhere.example")
				return g.send(req)
			}
			for _, host := range row.allowed {
				if a := ask(host); a.status != http.StatusOK {
					t.Errorf("%s: HTTP %d %s", host, a.status, a.body)
				}
			}
			for _, host := range row.rejected {
				a := ask(host)
				if e := a.shared(host); a.status != http.StatusForbidden || e.Error == nil || e.Error.Code != -32600 {
					t.Errorf("%s: HTTP %d %s", host, a.status, a.body)
				}
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
	g := setup(t)
	connect := func(key string) *mcp.ClientSession {
		t.Helper()
		client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: g.url + "/mcp", HTTPClient: &http.Client{Transport: withKey{g.client.Transport, key}},
		}, nil)
		g.must(err)
		t.Cleanup(func() { _ = session.Close() })
		return session
	}
	session := connect(g.unlimited())
	list, err := session.ListTools(t.Context(), nil)
	g.must(err)
	if len(list.Tools) != len(g.tools) {
		t.Errorf("%d tools are listed, the door has %d", len(list.Tools), len(g.tools))
	}
	g.must(session.Ping(t.Context(), nil))
	got, err := session.CallTool(t.Context(), &mcp.CallToolParams{
		Name: "convert_evm", Arguments: map[string]any{"op": "keccak", "input": "hello"},
	})
	g.must(err)
	if got.IsError || !strings.Contains(fmt.Sprint(got.StructuredContent),
		"1c8aff950685c2ed4bc3174f3472287b56d9517b9c948127319a09a7a36deac8") {
		t.Errorf("got %+v", got)
	}
	refused, err := connect("").CallTool(t.Context(), &mcp.CallToolParams{
		Name: "convert_evm", Arguments: map[string]any{"op": "keccak", "input": "hello"},
	})
	g.must(err)
	if text, ok := refused.Content[0].(*mcp.TextContent); !refused.IsError || !ok ||
		!strings.Contains(text.Text, `"code":-32001`) {
		t.Errorf("without a key: %+v", refused)
	}
}
