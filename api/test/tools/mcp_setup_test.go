package tools_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/api/mcp"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/service"
	"github.com/chainaccess/gateway/service/operation"
)

// tell posts a message to the MCP endpoint. headers are as in ask; they replace the defaults of the
// same name.
func tell(g *apitest.Gateway, key, message string, headers ...string) apitest.Answer {
	g.T.Helper()
	for i := 0; i < len(headers); i += 2 {
		if http.CanonicalHeaderKey(headers[i]) == "Content-Type" {
			return g.Ask(http.MethodPost, "/mcp", key, message, headers...)
		}
	}
	return g.Ask(http.MethodPost, "/mcp", key, message, append([]string{"Content-Type", "application/json"},
		headers...)...)
}

// toolCall returns the message that calls a tool with arguments in JSON.
func toolCall(name, arguments string) string {
	return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"` + name + `","arguments":` +
		arguments + `}}`
}

// given is the result of a tool or of its HTTP twin: an object, or the error object of a refusal.
type given struct {
	object  json.RawMessage
	refusal json.RawMessage
	hit     bool
}

// callTool calls a tool.
func callTool(g *apitest.Gateway, key, name, arguments string) (apitest.Answer, given) {
	g.T.Helper()
	a := tell(g, key, toolCall(name, arguments))
	n := givenIn(a)
	n.fits(g.T, name)
	return a, n
}

// fits checks an answer against the tool's schema in tools/list, as clients do.
func (n given) fits(t testing.TB, tool string) {
	t.Helper()
	if n.object == nil {
		return
	}
	schema := outputSchemas()[tool]
	if schema == nil {
		t.Fatalf("%s has no schema of what it gives", tool)
	}
	object, err := jsonschema.UnmarshalJSON(bytes.NewReader(n.object))
	if err == nil {
		err = schema.Validate(object)
	}
	if err != nil {
		t.Errorf("%s gave what its schema does not say: %v in %.2000s", tool, err, n.object)
	}
}

// outputSchemas are the schemas of tools/list by tool.
var outputSchemas = sync.OnceValue(func() map[string]*jsonschema.Schema {
	door := mcp.New(mcp.Options{
		Capabilities: service.New(service.Options{PublicURL: "https://gateway.example"}),
		PublicURL:    "https://gateway.example", MaxBodyBytes: 1 << 10, Now: time.Now,
	})
	//nolint:noctx // no request is sent
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, mcp.Path,
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	r.Header.Set("Content-Type", "application/json")
	door.Serve(w, r, &operation.Caller{}, func(*fault.Error) {})
	var list struct {
		Result struct {
			Tools []struct {
				Name         string
				OutputSchema json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil {
		panic(err)
	}
	schemas := map[string]*jsonschema.Schema{}
	for _, tool := range list.Result.Tools {
		compiler := jsonschema.NewCompiler()
		compiler.AssertFormat()
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(tool.OutputSchema))
		if err == nil {
			err = compiler.AddResource(tool.Name, document)
		}
		if err == nil {
			schemas[tool.Name], err = compiler.Compile(tool.Name)
		}
		if err != nil {
			panic(err)
		}
	}
	return schemas
})

// givenIn reads the result of a tool and checks its form: HTTP 200, and one text, which is the
// structured content or a refusal.
func givenIn(a apitest.Answer) given {
	a.T.Helper()
	var result struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    *bool           `json:"isError"`
	}
	e := a.Envelope()
	err := json.Unmarshal(e.Result, &result)
	require.NoError(a.T, err)
	require.Equal(a.T, a.Status, http.StatusOK)
	require.Nil(a.T, e.Error)
	require.Equal(a.T, string(e.ID), "7")
	require.NotNil(a.T, result.IsError)
	require.Len(a.T, result.Content, 1)
	require.Equal(a.T, result.Content[0].Type, "text")
	text := result.Content[0].Text
	if *result.IsError {
		if result.Structured != nil {
			a.T.Errorf("a refusal has structured content: %.600s", a.Body)
		}
		return given{refusal: json.RawMessage(text)}
	}
	if string(result.Structured) != text {
		a.T.Errorf("the text is not the structured content: %.600s", a.Body)
	}
	return given{object: result.Structured, hit: a.Hit()}
}

// code returns the code of a refusal, or 0 for a success.
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
