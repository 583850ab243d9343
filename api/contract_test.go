package api_test

import (
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/chainaccess/gateway/internal/testkit/oascheck"
)

// described are the OpenAPI documents without and with sales to stock x402 clients. Each is the
// same for all gateways of its kind in these tests, so its schemas are compiled once.
var described [2]struct {
	sync.Once
	document *oascheck.Document
	err      error
}

// interfaceDocument returns the document at /openapi.json.
func (g *gateway) interfaceDocument() *oascheck.Document {
	g.t.Helper()
	kind := &described[0]
	if g.sells {
		kind = &described[1]
	}
	kind.Do(func() {
		answer := httptest.NewRecorder()
		//nolint:noctx // nothing is waited for
		g.handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/openapi.json", http.NoBody))
		kind.document, kind.err = oascheck.Load(answer.Body.Bytes(), "Refusal")
	})
	g.must(kind.err)
	return kind.document
}

// judged returns a transport that checks every answer against /openapi.json. All clients of these
// tests use one.
func (g *gateway) judged(next http.RoundTripper) http.RoundTripper {
	g.t.Helper()
	return g.interfaceDocument().Transport(next, func(err error) {
		g.t.Helper()
		g.t.Error(err)
	})
}
