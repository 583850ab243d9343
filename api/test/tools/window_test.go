package tools_test

import (
	"net/http"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
)

func TestWindow_IsOnAnswersOfMeteredOperations(t *testing.T) {
	t.Parallel()
	g, _ := openToolbox(t)
	key := g.AccountKey(plan.Builder)
	a := g.Get("/toolbox/gas/eth_mainnet", key)
	limit, remaining, _ := a.Window()
	expect.Equal(t, a.Status, http.StatusOK)
	expect.Equal(t, limit, int(plan.Must(plan.Builder).Rate.Window().Limit))
	expect.Less(t, remaining, limit)
	if free := g.Get("/api/usage", key); free.Header.Get("RateLimit-Limit") != "" {
		t.Error("an operation that no window counts tells of one")
	}
}
