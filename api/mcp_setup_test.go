package api_test

import (
	"encoding/json"
	"net/http"
	"testing"
)

// tell posts a message to the agents' door. headers as in ask; one that is named there takes the place of the usual one.
func (g *gateway) tell(key, message string, headers ...string) answer {
	g.t.Helper()
	for i := 0; i < len(headers); i += 2 {
		if http.CanonicalHeaderKey(headers[i]) == "Content-Type" {
			return g.ask(http.MethodPost, "/mcp", key, message, headers...)
		}
	}
	return g.ask(http.MethodPost, "/mcp", key, message, append([]string{"Content-Type", "application/json"}, headers...)...)
}

// toolCall is the message that calls a tool. arguments are JSON.
func toolCall(name, arguments string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments + `}}`
}

// given is what a tool or its twin on HTTP gave: an object, or the error object of a refusal.
type given struct {
	object  json.RawMessage
	refusal json.RawMessage
	hit     bool
}

// tool calls a tool.
func (g *gateway) tool(key, name, arguments string, headers ...string) (answer, given) {
	g.t.Helper()
	a := g.tell(key, toolCall(name, arguments), headers...)
	return a, a.given()
}

// given reads the result of a tool, and holds it to the form that all have: HTTP 200, and one text, which is the structured content or a refusal.
func (a answer) given() given {
	a.t.Helper()
	var result struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    *bool           `json:"isError"`
	}
	e := a.envelope()
	if err := json.Unmarshal(e.Result, &result); err != nil || a.status != http.StatusOK || e.Error != nil || string(e.ID) != "7" || result.IsError == nil ||
		len(result.Content) != 1 || result.Content[0].Type != "text" {
		a.t.Fatalf("HTTP %d %.600s is no result of a tool (%v)", a.status, a.body, err)
	}
	text := result.Content[0].Text
	if *result.IsError {
		if result.Structured != nil {
			a.t.Errorf("a refusal has structured content: %.600s", a.body)
		}
		return given{refusal: json.RawMessage(text)}
	}
	if string(result.Structured) != text {
		a.t.Errorf("the text is not the structured content: %.600s", a.body)
	}
	return given{object: result.Structured, hit: a.hit()}
}

// code is a refusal's; 0 of an answer.
func (n given) code(t testing.TB) int {
	t.Helper()
	var e struct{ Code int }
	if n.refusal != nil {
		if err := json.Unmarshal(n.refusal, &e); err != nil {
			t.Fatalf("%v in %.300s", err, n.refusal)
		}
	}
	return e.Code
}
