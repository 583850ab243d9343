package usage

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/service/advice"
	"github.com/chainaccess/gateway/service/usage"
)

func TestInsights_ShowTopUseAndAdviceOnRefusals(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	got := consoletest.SignedIn(t, h, Register).Get("/overview")
	if got.Status != http.StatusOK {
		t.Fatalf("the page answers %d", got.Status)
	}
	for _, want := range []string{
		"62,000 units a day, usage reaches 1,432,000 units by 1 Dec 2026, of 1,000,000 units in the plan",
		"These run out on 23 Nov 2026, 15:05 CET; calls are then refused.",
		"120,000 of 950,000 calls (12.6 %) came from the cache and cost nothing, instead of 118,000 units",
		"Builder by the month", "From 15,000,000 units on it is Pro.", "A pack expires", "212 requests",
		`href="` + failurePage(fault.KeyBudget.Entry().Code) + `"`, `href="/usage?range=24h#failed"`,
		`<a href="/support/new?request_id=` + consoletest.RequestOne +
			`">Ask for help with the newest</a>`, "Without a request",
	} {
		if !strings.Contains(got.Body, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
	if strings.Count(got.Body, "Ask for help with the newest") != 1 {
		t.Error("a reason without a request leads to a ticket about one")
	}
	if strings.Contains(got.Body, "Told elsewhere.") {
		t.Error("advice on refusals stands beside the refusals")
	}
}

func TestInsights_ExplainTheCacheWhereItSavedNothing(t *testing.T) {
	t.Parallel()
	in := cacheInsight(&usage.CacheSummary{})
	if want := "a block by its hash, is cached once it is 64 blocks below the head."; !strings.HasSuffix(in.Text,
		want) {
		t.Errorf("it says %q", in.Text)
	}
}

func TestInsights_AreEmptyWithoutUsage(t *testing.T) {
	t.Parallel()
	if rows := insightsOf(consoletest.Reader(), &advice.UsageInsights{}); rows != nil {
		t.Errorf("an account that used nothing is told %+v", rows)
	}
}
