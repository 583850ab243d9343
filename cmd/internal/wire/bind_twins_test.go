package wire_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// ofOneKey matches what differs between two keys and their wallets, and over time.
var ofOneKey = []struct {
	pattern     *regexp.Regexp
	placeholder string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`), "<id>"},
	{regexp.MustCompile(`cagc?_[0-9A-Za-z]{49}`), "<secret>"},
	{regexp.MustCompile(`cag_[0-9A-Za-z]{8}`), "<prefix>"},
	{regexp.MustCompile(`0x[0-9a-fA-F]{40}`), "<address>"},
	{regexp.MustCompile(`Nonce: \w+`), "Nonce: <nonce>"},
	{regexp.MustCompile(`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z`), "<time>"},
	{regexp.MustCompile(`"expires_in_seconds": \d+`), `"expires_in_seconds": <seconds>`},
	{regexp.MustCompile(`([Ww]ait )\d+`), "${1}<seconds>"},
	{regexp.MustCompile(` The tool for it is [a-z_]+\."`), `"`}, // the next step, which agents take with a tool
	{regexp.MustCompile(`"tool": "[a-z_]+",\s+("where")`), "${1}"},
}

// form normalizes JSON: it replaces what belongs to one key.
func form(t *testing.T, text []byte) string {
	t.Helper()
	var v any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	plain, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	told := string(plain)
	for _, c := range ofOneKey {
		told = c.pattern.ReplaceAllString(told, c.placeholder)
	}
	return told
}

// asked is the answer to one side. The object of a start contains the message to sign.
type asked struct {
	object  json.RawMessage
	refusal json.RawMessage
}

// overHTTP sends the HTTP request that corresponds to a tool call.
func (b *bench) overHTTP(t *testing.T, path, key string, arguments map[string]any) asked {
	t.Helper()
	body, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	status, text := b.ask(t, http.MethodPost, path, key, string(body))
	if status < 300 {
		return asked{object: json.RawMessage(text)}
	}
	var e struct{ Error json.RawMessage }
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatalf("%s: HTTP %d %s", path, status, text)
	}
	return asked{refusal: e.Error}
}

// Binding is the same through both transports: one key is bound over HTTP, another with tools, step
// by step.
func TestBind_ByToolsIsBindingOverHTTP(t *testing.T) {
	t.Parallel()
	b, _ := setupDoors(t)
	keys, wallets := [2]string{b.newKey(t), ""}, [2]signed{newWallet(t), newWallet(t)}
	var agent welcomed
	b.gives(t, &agent, "", "get_key", nil)
	keys[1] = agent.Key
	other := newWallet(t)
	var messages [2]string
	start, complete := "/keys/bind/start", "/keys/bind"
	sign := func(by signed) func(side int) map[string]any {
		return func(side int) map[string]any {
			return map[string]any{"address": wallets[side].address, "signature": by.sign(messages[side])}
		}
	}
	own := func(side int) map[string]any {
		return map[string]any{"address": wallets[side].address, "signature": wallets[side].sign(messages[side])}
	}
	address := func(side int) map[string]any { return map[string]any{"address": wallets[side].address} }
	for _, step := range []struct {
		name, path string
		anonymous  bool
		arguments  func(side int) map[string]any
		code       int
	}{
		{"complete before start", complete, false, sign(other), -32025},
		{"no address", start, false, func(int) map[string]any { return map[string]any{"address": "0x12"} }, -32602},
		{"an address that lacks", start, false, func(int) map[string]any { return map[string]any{} }, -32602},
		{"a field too many", start, false, func(side int) map[string]any {
			return map[string]any{"address": wallets[side].address, "name": "x"}
		}, -32602},
		{"without a key", start, true, address, -32001},
		{"start", start, false, address, 0},
		// It may be a contract's signature, and Ethereum is not served here.
		{"another wallet's signature", complete, false, sign(other), -32020},
		{"no signature", complete, false, address, -32602},
		{"without a key", complete, true, own, -32001},
		{"complete", complete, false, own, 0},
		{"complete again", complete, false, own, 0},
		{"start when it is bound", start, false, func(int) map[string]any {
			return map[string]any{"address": other.address}
		}, -32025},
	} {
		tool := map[string]string{start: "bind_key_start", complete: "bind_key_complete"}[step.path]
		as := keys
		if step.anonymous {
			as = [2]string{}
		}
		one := b.overHTTP(t, step.path, as[0], step.arguments(0))
		object, refusal := b.tool(t, as[1], tool, step.arguments(1))
		two := asked{object: object}
		code := 0
		if refusal != nil {
			two.refusal, code = refusal.raw, refusal.Code
		}
		if code != step.code || (one.refusal == nil) != (two.refusal == nil) {
			t.Fatalf("%s: the tool gives %s%s, HTTP %s%s, want code %d", step.name, two.object, two.refusal, one.object,
				one.refusal, step.code)
		}
		got, want := form(t, append(two.object, two.refusal...)), form(t, append(one.object, one.refusal...))
		if got != want {
			t.Errorf("%s: the tool gives\n%s\nHTTP gives\n%s", step.name, got, want)
		}
		if code == -32025 && (!bytes.Contains(two.refusal, []byte(`"tool":"`)) ||
			bytes.Contains(one.refusal, []byte(`"tool":"`))) {
			t.Errorf("%s: the next door of an agent is a tool, and that of a program a route; they are %s and %s",
				step.name, two.refusal, one.refusal)
		}
		if step.path == start && code == 0 {
			for side, text := range []json.RawMessage{one.object, two.object} {
				var asks struct {
					Message string `json:"message_to_sign"`
				}
				if err := json.Unmarshal(text, &asks); err != nil ||
					!strings.Contains(asks.Message, wallets[side].address) {
					t.Fatalf("%s: %v in %s", step.name, err, text)
				}
				messages[side] = asks.Message
			}
		}
	}
	for _, key := range keys {
		b.agentCalls(t, key)
	}
}
