package api_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
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
	require.Equal(t, resp.StatusCode, http.StatusOK)
	require.Equal(t, catalog.Contact, apitest.Links.Contact)
	require.Len(t, catalog.Chains, 2)
	for _, listed := range catalog.Chains {
		served, _ := chain.BuiltIn().Lookup(string(listed.Chain))
		if len(listed.Methods) != len(served.Methods()) {
			t.Errorf("%s: %d of %d methods", listed.Chain, len(listed.Methods), len(served.Methods()))
		}
		for _, m := range listed.Methods {
			want, ok := served.Method([]byte(m.Name))
			in := expect.In(t, "%s", listed.Chain)
			require.True(in, ok)
			expect.Equal(in, m.Units, want.Weight)
			expect.Equal(in, m.Write, want.Write)
			expect.Equal(in, m.Class, string(want.Class))
		}
	}
}
