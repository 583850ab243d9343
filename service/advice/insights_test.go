package advice_test

import (
	"maps"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/advice"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/usage"
	"github.com/chainaccess/gateway/store/usagedb"
)

// Insights report the same as the tools.
func TestInsights_AreThoseOfTheTools(t *testing.T) {
	t.Parallel()
	b := servicetest.OpenUsageEnv(t, servicetest.AtNoon)
	b.Commit(t, servicetest.Noon, nil,
		b.Written(b.KeyID, "eth_mainnet", "eth_call", "standard", "ok", 4_000, 4_000*plan.Unit),
		b.Written(b.KeyID, "eth_mainnet", "eth_call", "standard", "hit", 1_000, 0),
		b.Written(b.KeyID, "eth_mainnet", "", "", "rate_window", 30, 0))
	b.Commit(t, servicetest.Noon.Add(-25*time.Hour), nil,
		b.Written(b.KeyID, "eth_mainnet", "", "", "key_budget", 500, 0))
	in := servicetest.Must[advice.UsageInsights](t)(b.GetInsights.Invoke(b.Ctx, b.Ann, operation.Nothing{}))
	can := servicetest.Must[advice.WhatICanDo](t)(b.WhatCanIDo.Invoke(b.Ctx, b.Ann, operation.Nothing{}))
	of := func(report, window string) usage.StatsSummary {
		return servicetest.Must[usage.UsageStats](t)(b.UsageStats.Invoke(b.Ctx, b.Ann, usage.UsageStatsInput{
			Report: report, Window: window,
		})).Summary
	}
	spend := *of("spend", "7d").Spend
	// the meter's clock advances between them
	if off := spend.Projected - in.Spend.Projected; off < -plan.Unit || off > plan.Unit {
		t.Errorf("projected are %s, to tools %s", in.Spend.Projected, spend.Projected)
	}
	spend.Projected = in.Spend.Projected
	for what, pair := range map[string][2]any{
		"spend": {in.Spend, spend}, "cache": {in.Cache, of("cache", "30d").Cache},
		"recommendation": {in.Recommendation, can.Recommendation}, "break-even": {in.BreakEven, can.BreakEven},
		"volume": {in.Volume, can.Volume}, "advice": {in.Advice, can.Advice},
	} {
		t.Run(what, func(t *testing.T) {
			if got, want := servicetest.TextOf(t, pair[0]), servicetest.TextOf(t, pair[1]); got != want {
				t.Errorf("%s is\n%s, to tools\n%s", what, got, want)
			}
		})
	}
	if in.Cache.Saved != 1_000*plan.Unit || in.Volume != 4_000*plan.Unit {
		t.Errorf("the cache saved %s of %s", in.Cache.Saved, in.Volume)
	}
	entry := fault.RateWindow.Entry()
	at := expect.In(t, "refused in 24 hours")
	require.Len(at, in.Refused, 1)
	expect.Equal(at, in.Refused[0].Requests, 30)
	expect.Equal(at, in.Refused[0].Meaning, entry.Meaning)
	expect.Len(at, in.Refused[0].Steps, len(entry.Steps))
}

// Each reason has the request id of its own newest call, only of this account and the last 24
// hours.
func TestInsights_RefusalsNameTheirNewestRequest(t *testing.T) {
	t.Parallel()
	b := servicetest.OpenUsageEnv(t, servicetest.AtNoon)
	b.Commit(t, servicetest.Noon.Add(-2*time.Hour), nil,
		b.Written(b.KeyID, "eth_mainnet", "", "", "rate_window", 40, 0),
		b.Written(b.KeyID, "eth_mainnet", "", "", "key_budget", 3, 0),
		b.Written(b.KeyID, "eth_mainnet", "", "", "method_not_served", 2, 0))
	failed := func(reason string, of account.ID, ago time.Duration) usagedb.Call {
		return usagedb.Call{
			RequestID: uuid.New(), StartedAt: servicetest.Noon.Add(-ago), Account: of, Key: b.KeyID,
			Chain:   "eth_mainnet",
			Service: "rpc", Method: "eth_call", Class: "standard", Outcome: reason, HTTPStatus: 429,
			Duration: time.Millisecond,
		}
	}
	calls := []usagedb.Call{
		failed("rate_window", b.AccountID, 2*time.Hour), failed("rate_window", b.AccountID, time.Hour),
		failed("key_budget", b.AccountID, 3*time.Hour), failed("method_not_served", b.AccountID, 25*time.Hour),
		failed("method_not_served", account.NewID(), time.Hour), failed("ok", b.AccountID, time.Minute),
	}
	if err := b.Store.CopyCalls(b.Ctx, calls); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range servicetest.Must[advice.UsageInsights](t)(b.GetInsights.Invoke(b.Ctx, b.Ann,
		operation.Nothing{})).Refused {
		got[r.Reason] = r.RequestID
	}
	want := map[string]string{
		"rate_window": calls[1].RequestID.String(), "key_budget": calls[2].RequestID.String(), "method_not_served": "",
	}
	if !maps.Equal(got, want) {
		t.Errorf("the requests are %v, want %v", got, want)
	}
}
