package console

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
)

// sampleInsights are the insights of an account that uses more than it has.
func sampleInsights() service.UsageInsights {
	limit, ends := 1_000_000*plan.Unit, sampleNow.Add(72*time.Hour)
	budget := fault.KeyBudget.Entry()
	return service.UsageInsights{
		Volume: 900_000 * plan.Unit,
		Spend: service.SpendSummary{
			Pace: 62_000 * plan.Unit, PeriodEnd: time.Date(2026, time.December, 1, 0, 0, 0, 0, time.UTC),
			Used: 812_340_500, Limit: &limit, Projected: 1_432_000_958, ExhaustsAt: &ends, Risk: service.HighRisk,
			Then: "refused",
		},
		Cache: service.CacheSummary{Hits: 120_000, Misses: 830_000, Saved: 118_000 * plan.Unit},
		Recommendation: service.Recommendation{
			Rung: "builder_monthly", Title: "Builder by the month",
			Why: "It is the cheapest that covers 900,000 units in 30 days: $4.00, from wholesale upstreams.",
		},
		BreakEven: "From 15,000,000 units on it is Pro.",
		Advice: []service.Advice{
			{
				Kind: "pack_expires", Finding: "A pack expires on 1 Dec 2026, 00:00 UTC with 100 units left.",
				Do: "Use them before.",
			},
			{Kind: "refusals", Finding: "Told elsewhere.", Do: "Told elsewhere."},
		},
		Refused: []service.Refused{{
			FailedReason: service.FailedReason{
				Reason: budget.Name, Code: budget.Code, Title: budget.Title, Requests: 212,
			}, Meaning: budget.Meaning, Steps: budget.Steps,
			RequestID: requestOne,
		}, {FailedReason: service.FailedReason{Reason: "drowned", Title: "Without a request", Requests: 1}}},
	}
}

func sampleInsightRows() []insight {
	in := sampleInsights()
	return sampleReader().insights(&in)
}

func TestInsights_ShowTopUseAndAdviceOnRefusals(t *testing.T) {
	t.Parallel()
	h := newHouse()
	got := personOf(t, h).get("/overview")
	if got.status != http.StatusOK {
		t.Fatalf("the page answers %d", got.status)
	}
	for _, want := range []string{
		"62,000 units a day, usage reaches 1,432,000 units by 1 Dec 2026, of 1,000,000 units in the plan",
		"These run out on 23 Nov 2026, 15:05 CET; calls are then refused.",
		"120,000 of 950,000 calls (12.6 %) came from the cache and cost nothing, instead of 118,000 units",
		"Builder by the month", "From 15,000,000 units on it is Pro.", "A pack expires", "212 requests",
		`href="` + failurePage(fault.KeyBudget.Entry().Code) + `"`, `href="/usage?range=24h#failed"`,
		`<a href="/support/new?request_id=` + requestOne +
			`">Ask for help with the newest</a>`, "Without a request",
	} {
		if !strings.Contains(got.body, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
	if strings.Count(got.body, "Ask for help with the newest") != 1 {
		t.Error("a reason without a request leads to a ticket about one")
	}
	if strings.Contains(got.body, "Told elsewhere.") {
		t.Error("advice on refusals stands beside the refusals")
	}
}

func TestInsights_ExplainTheCacheWhereItSavedNothing(t *testing.T) {
	t.Parallel()
	in := cacheInsight(&service.CacheSummary{})
	if want := "a block by its hash, is cached once it is 64 blocks below the head."; !strings.HasSuffix(in.Text,
		want) {
		t.Errorf("it says %q", in.Text)
	}
}

func TestInsights_AreEmptyWithoutUsage(t *testing.T) {
	t.Parallel()
	if rows := sampleReader().insights(&service.UsageInsights{}); rows != nil {
		t.Errorf("an account that used nothing is told %+v", rows)
	}
}
