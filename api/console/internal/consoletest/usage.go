package consoletest

import (
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/advice"
	"github.com/chainaccess/gateway/service/usage"
)

func measured(thousandths int64) usage.MaybeFigure {
	f := usage.Figure(thousandths)
	return usage.MaybeFigure{Value: &f}
}

// SampleExplored is a week of usage; name is used wherever a user chooses a text.
func SampleExplored(name string) usage.ExploredUsage {
	first, asOf := time.Date(2026, time.November, 14, 0, 0, 0, 0, time.UTC), Now.Add(-12*time.Second)
	u := usage.ExploredUsage{
		Range: "7d", StepSeconds: 86_400, Since: first, AsOf: &asOf, P50: measured(9_888), P95: measured(210_400),
		Total: usage.UsageEntry{Requests: 7_000, Units: 6_100_500, CacheHits: 900, Refusals: 100},
		ByKey: []usage.UsageEntry{
			{
				Name: name, KeyID: KeyOne, KeyPrefix: "cag_aHCrXoRO", Agent: name, Requests: 6_000,
				Units: 6_000 * plan.Unit, CacheHits: 900, Refusals: 100,
			},
			{KeyID: KeyTwo, Requests: 900, Units: 100_500},
			{Requests: 100, Rest: 80},
		},
		ByMethod: []usage.UsageEntry{
			{Name: "eth_call", Requests: 6_900, Units: 6_100_500, CacheHits: 900}, {Requests: 100, Refusals: 100},
		},
		ByChain: []usage.UsageEntry{
			{Name: "eth_mainnet", Requests: 6_900, Units: 6_100_500, CacheHits: 900}, {Requests: 100, Refusals: 100},
		},
		ByClass: []usage.UsageEntry{
			{Name: "standard", Requests: 7_000, Units: 6_100_500, CacheHits: 900, Refusals: 100},
		},
		Latency: []usage.ChainLatency{
			{Chain: "eth_mainnet", Calls: 6_900, P50: measured(9_888), P95: measured(210_400)},
		},
		Reasons: []usage.FailedReason{
			{Reason: fault.KeyBudget.String(), Code: -32009, Title: fault.KeyBudget.Entry().Title, Requests: 100},
		},
		Recent: []usage.FailedCall{{
			RequestID: "019a9f3e-7c1d-7b7a-8a51-0d6d3f2b9c11", At: Now.Add(-time.Hour), Chain: "eth_mainnet",
			Method: "eth_call", Reason: fault.KeyBudget.String(), Code: -32009, HTTPStatus: 429, DurationMS: 412,
		}},
		Beyond: 94_000,
	}
	for i := range 7 {
		s := usage.ExploredStep{
			Start: first.AddDate(0, 0, i), Partial: i == 6, Requests: int64(i * 300),
			Units: plan.Units(i) * 250_000, Hits: int64(i * 40),
		}
		if i == 3 {
			s.Heavy, s.Refusals = 100_000, 100
		}
		if i > 0 {
			s.P50, s.P95 = measured(9_000), measured(int64(100_000*i))
		}
		u.Steps = append(u.Steps, s)
	}
	return u
}

// SampleInsights are the insights of an account that uses more than it has.
func SampleInsights() advice.UsageInsights {
	limit, ends := 1_000_000*plan.Unit, Now.Add(72*time.Hour)
	budget := fault.KeyBudget.Entry()
	return advice.UsageInsights{
		Volume: 900_000 * plan.Unit,
		Spend: usage.SpendSummary{
			Pace: 62_000 * plan.Unit, PeriodEnd: time.Date(2026, time.December, 1, 0, 0, 0, 0, time.UTC),
			Used: 812_340_500, Limit: &limit, Projected: 1_432_000_958, ExhaustsAt: &ends, Risk: usage.HighRisk,
			Then: "refused",
		},
		Cache: usage.CacheSummary{Hits: 120_000, Misses: 830_000, Saved: 118_000 * plan.Unit},
		Recommendation: advice.Recommendation{
			Rung: "builder_monthly", Title: "Builder by the month",
			Why: "It is the cheapest that covers 900,000 units in 30 days: $4.00, from wholesale upstreams.",
		},
		BreakEven: "From 15,000,000 units on it is Pro.",
		Advice: []advice.Advice{
			{
				Kind: "pack_expires", Finding: "A pack expires on 1 Dec 2026, 00:00 UTC with 100 units left.",
				Do: "Use them before.",
			},
			{Kind: "refusals", Finding: "Told elsewhere.", Do: "Told elsewhere."},
		},
		Refused: []usage.Refused{{
			FailedReason: usage.FailedReason{
				Reason: budget.Name, Code: budget.Code, Title: budget.Title, Requests: 212,
			}, Meaning: budget.Meaning, Steps: budget.Steps,
			RequestID: RequestOne,
		}, {FailedReason: usage.FailedReason{Reason: "drowned", Title: "Without a request", Requests: 1}}},
	}
}
