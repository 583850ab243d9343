package apitest

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

// InterfaceDocument returns the document at /openapi.json.
func (g *Gateway) InterfaceDocument() *oascheck.Document {
	g.T.Helper()
	kind := &described[0]
	if g.sellsToStock {
		kind = &described[1]
	}
	kind.Do(func() {
		answer := httptest.NewRecorder()
		//nolint:noctx // nothing is waited for
		g.Handler.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/openapi.json", http.NoBody))
		kind.document, kind.err = oascheck.Load(answer.Body.Bytes(), "Refusal")
	})
	g.Must(kind.err)
	return kind.document
}

// Judged returns a transport that checks every answer against /openapi.json. All clients of these
// tests use one.
func (g *Gateway) Judged(next http.RoundTripper) http.RoundTripper {
	g.T.Helper()
	return g.InterfaceDocument().Transport(next, func(err error) {
		g.T.Helper()
		g.T.Error(err)
	})
}
