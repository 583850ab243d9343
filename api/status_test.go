package api_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/status"
)

func TestStatus_IsReadWithoutAKey(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	a := g.Ask(http.MethodGet, "/status.json", "", "")
	var s status.Status
	if err := json.Unmarshal([]byte(a.Body), &s); err != nil || a.Status != http.StatusOK {
		t.Fatalf("HTTP %d, %v: %.200s", a.Status, err, a.Body)
	}
	require.NotEmpty(t, s.Chains)
	expect.True(t, s.Recorded)
	expect.Len(t, s.Chains[0].Days, status.StatusDays)
	expect.NotEqual(t, s.State, chain.Unknown)
	if a := g.Ask(http.MethodPost, "/status.json", "", "{}"); a.Status != http.StatusMethodNotAllowed {
		t.Errorf("a POST is HTTP %d", a.Status)
	}
}
