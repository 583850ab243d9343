package api_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service"
)

func TestStatus_IsReadWithoutAKey(t *testing.T) {
	t.Parallel()
	g := setup(t)
	a := g.ask(http.MethodGet, "/status.json", "", "")
	var s service.Status
	if err := json.Unmarshal([]byte(a.body), &s); err != nil || a.status != http.StatusOK {
		t.Fatalf("HTTP %d, %v: %.200s", a.status, err, a.body)
	}
	if len(s.Chains) == 0 || !s.Recorded || len(s.Chains[0].Days) != service.StatusDays || s.State == chain.Unknown {
		t.Errorf("the status is %+v", s)
	}
	if a := g.ask(http.MethodPost, "/status.json", "", "{}"); a.status != http.StatusMethodNotAllowed {
		t.Errorf("a POST is HTTP %d", a.status)
	}
}
