package tools_test

import (
	"net/http"
	"testing"

	"github.com/chainaccess/gateway/metering/plan"
)

func TestWindow_IsOnAnswersOfMeteredOperations(t *testing.T) {
	t.Parallel()
	g, _ := openToolbox(t)
	key := g.AccountKey(plan.Builder)
	a := g.Get("/toolbox/gas/eth_mainnet", key)
	if limit, remaining, _ := a.Window(); a.Status != http.StatusOK ||
		limit != int(plan.Must(plan.Builder).Rate.Window().Limit) || remaining >= limit {
		t.Errorf("HTTP %d: %d of %d left", a.Status, remaining, limit)
	}
	if free := g.Get("/api/usage", key); free.Header.Get("RateLimit-Limit") != "" {
		t.Error("an operation that no window counts tells of one")
	}
}
