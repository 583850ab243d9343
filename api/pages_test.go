package api_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit/expect"
)

// somePages fakes the pages of a receipt, the status, GET /keys, GET /overview, POST /settings and
// POST /agents/adopt.
type somePages struct{}

func (somePages) Serves(r *http.Request) bool {
	switch r.Method + " " + r.URL.Path {
	case "GET /keys", "GET /overview", "POST /settings", "POST /agents/adopt", "GET /x402/receipts/0x12",
		"GET /x402/receipts/{tx_hash}", "GET /status":
		return true
	}
	return false
}

func (somePages) Public() []string { return []string{"/", "/status"} }

func (somePages) Navigates(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/html")
}

func (somePages) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(http.StatusOK)
	_, _ = io.WriteString(w, "a page")
}

func TestPages_HaveThePathsThatNoRouteHas(t *testing.T) {
	t.Parallel()
	b := apitest.Setup(t, func(o *apitest.Options) { o.Pages = somePages{} })
	for name, c := range map[string]struct {
		method, path, accept string
		status               int
		page                 bool
	}{
		"a page":                 {http.MethodGet, "/overview", "text/html", http.StatusOK, true},
		"a page, to a program":   {http.MethodGet, "/overview", "*/*", http.StatusOK, true},
		"a form":                 {http.MethodPost, "/settings", "text/html", http.StatusOK, true},
		"a page beside a route":  {http.MethodGet, "/keys", "text/html,*/*;q=0.8", http.StatusOK, true},
		"the same, to a program": {http.MethodGet, "/keys", "*/*", http.StatusMethodNotAllowed, false},
		"a page beside its JSON": {http.MethodGet, "/x402/receipts/0x12", "*/*", http.StatusOK, true},
		"the JSON of a page": {
			http.MethodGet, "/x402/receipts/0x12.json", "text/html", http.StatusUnprocessableEntity, false,
		},
		"a page of a fixed path": {http.MethodGet, "/status", "*/*", http.StatusOK, true},
		"the JSON of it":         {http.MethodGet, "/status.json", "text/html", http.StatusOK, false},
		"nothing, to a browser":  {http.MethodGet, "/nothing", "text/html", http.StatusOK, true},
		"nothing, to a program":  {http.MethodGet, "/nothing", "*/*", http.StatusNotFound, false},
		"a route with another method": {
			http.MethodGet, "/rpc/eth_mainnet", "text/html", http.StatusMethodNotAllowed, false,
		},
		"a path of pages with another method": {http.MethodPost, "/overview", "*/*", http.StatusNotFound, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := http.NewRequestWithContext(t.Context(), c.method, b.URL+c.path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Accept", c.accept)
			got, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer got.Body.Close()
			text, err := io.ReadAll(got.Body)
			if err != nil {
				t.Fatal(err)
			}
			expect.Equal(t, got.StatusCode, c.status)
			expect.Equal(t, string(text) == "a page", c.page)
			expect.NotEqual(t, got.Header.Get("X-Request-Id"), "")
			if c.page && got.Header.Get("Allow") != "" {
				t.Error("a page names the methods of a route")
			}
		})
	}
}
