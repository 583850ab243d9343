package api_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/relay/chain"
)

func TestCatalog_ListsWhatIsServedWithoutAKey(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.URL+"/docs/methods", http.NoBody)
	g.Must(err)
	resp, err := http.DefaultClient.Do(req)
	g.Must(err)
	defer func() { _ = resp.Body.Close() }()
	var catalog struct {
		Contact string
		Chains  []struct {
			Chain   chain.ID
			Methods []struct {
				Name, Class, Cache string
				Units              int
				Write              bool
			}
		}
	}
	g.Must(json.NewDecoder(resp.Body).Decode(&catalog))
	if resp.StatusCode != http.StatusOK || catalog.Contact != apitest.Links.Contact || len(catalog.Chains) != 2 {
		t.Fatalf("%d %+v", resp.StatusCode, catalog)
	}
	for _, listed := range catalog.Chains {
		served, _ := chain.Lookup(string(listed.Chain))
		if len(listed.Methods) != len(served.Methods()) {
			t.Errorf("%s: %d of %d methods", listed.Chain, len(listed.Methods), len(served.Methods()))
		}
		for _, m := range listed.Methods {
			if want, ok := served.Method([]byte(m.Name)); !ok || m.Units != want.Weight || m.Write != want.Write ||
				m.Class != string(want.Class) {
				t.Errorf("%s: %+v", listed.Chain, m)
			}
		}
	}
}
