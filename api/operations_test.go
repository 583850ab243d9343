package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
)

// Invalid input is reported and does not count against the limit of the address: afterwards it can
// still create three keys.
func TestOperations_WrongInputIsExplainedAndTakesNothing(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	for name, row := range map[string]struct {
		body    string
		headers []string
		status  int
		code    int
		says    string
	}{
		"a field that there is not": {
			body: `{"name":"x"}`, status: 422, code: -32602, says: "name: unexpected property",
		},
		"a field in another case": {
			body: `{"\u0001\u0002":1}`, status: 422, code: -32602, says: "??: unexpected property",
		},
		"a long name of a field": {
			body: `{"` + strings.Repeat("n", 5000) + `":1}`, status: 422, code: -32602,
			says: strings.Repeat("n", 64) + "…",
		},
		"an array":               {body: `[]`, status: 422, code: -32602, says: "no object"},
		"a text":                 {body: `"x"`, status: 422, code: -32602, says: "no object"},
		"null":                   {body: `null`, status: 422, code: -32602, says: "no object"},
		"no JSON":                {body: `name=x`, status: 400, code: -32700, says: "not JSON"},
		"half an object":         {body: `{"name":`, status: 400, code: -32700, says: "not JSON"},
		"bytes that are no text": {body: "{\"\xff\":1}", status: 400, code: -32700, says: "not UTF-8"},
		"a form": {
			body: `name=x`, headers: []string{"Content-Type", "application/x-www-form-urlencoded"}, status: 422,
			code: -32602, says: "application/json",
		},
		"a body beyond what any needs": {
			body: `{"name":"` + strings.Repeat("x", 70_000) + `"}`, status: 413, code: -32600, says: "65536",
		},
		"another method of the route":     {status: 405, code: -32600, says: "Allow"},
		"a route that there is not":       {status: 404, code: -32600, says: "No route"},
		"a route with a slash at its end": {status: 404, code: -32600, says: "No route"},
	} {
		t.Run(name, func(t *testing.T) {
			method, path := http.MethodPost, "/keys"
			switch name {
			case "another method of the route":
				method = http.MethodDelete
			case "a route that there is not":
				path = "/keys/bind/nothing"
			case "a route with a slash at its end":
				path = "/keys/"
			}
			a := g.Ask(method, path, "", row.body, row.headers...)
			a.Refused(row.status, row.code)
			if !strings.Contains(a.Body, row.says) {
				t.Errorf("%s does not say %q", a.Body, row.says)
			}
		})
	}
	for _, body := range []string{"", "{}", ` { } `} {
		if a := g.Ask(http.MethodPost, "/keys", "", body); a.Status != http.StatusCreated {
			t.Errorf("with body %q: HTTP %d %s", body, a.Status, a.Body)
		}
	}
}
