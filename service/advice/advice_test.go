package advice_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/advice"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/operation"
)

func TestQuote_FollowsCatalogAndLadder(t *testing.T) {
	t.Parallel()
	now := time.Now()
	lacking := []servicetest.Seen{{
		Supply: plan.Public,
		Can:    map[chain.Capability]bool{chain.Trace: false, chain.Debug: true},
	}}
	o := servicetest.Advisers(t, servicetest.Measured(t, now, map[chain.ID][]servicetest.Seen{
		chain.EthMainnet: lacking, chain.ArbitrumOne: lacking, chain.SolanaMainnet: {{Supply: plan.Public}},
	}))
	for i, c := range []struct {
		args    map[string]any
		offered bool
		units   any // weighted units, computed by hand
		heavy   any
		class   string
		note    string
		near    any
	}{
		{
			map[string]any{"chain": "eth_mainnet", "method": "eth_getBlockByNumber"},
			true, 1.0, nil, "standard",
			"weighs 1 whatever", nil,
		},
		{
			map[string]any{"chain": "eth_mainnet", "method": "eth_getBlockByNumber", "tier": "cheap"},
			true, 0.5, nil,
			"standard", "weighs 1", nil,
		},
		{
			map[string]any{"chain": "eth_mainnet", "method": "eth_getLogs", "tier": "fast"},
			true, 2.0, 4.0, "standard",
			"more than 128 blocks", nil,
		},
		{
			map[string]any{"chain": "eth_mainnet", "method": "eth_getLogs"},
			true, 1.0, 2.0, "standard",
			"more than 1000 blocks", nil,
		},
		{map[string]any{"chain": "eth_mainnet", "method": "eth_feeHistory"}, true, 1.0, nil, "standard", "1024", nil},
		{
			map[string]any{"chain": "eth_mainnet", "method": "eth_call"},
			true, 1.0, 2.0, "standard",
			"128 blocks below the head", nil,
		},
		{
			map[string]any{"chain": "eth_mainnet", "method": "debug_traceCall", "tier": "balanced"},
			true, 2.0, nil,
			"heavy", "weighs 2", nil,
		},
		{
			map[string]any{"chain": "eth_mainnet", "method": "eth_simulateV1"},
			true, 2.0, nil, "heavy",
			"not known yet", nil,
		},
		{
			map[string]any{"chain": "eth_mainnet", "method": "trace_block"},
			false, nil, nil, "",
			"no upstream of eth_mainnet serves it now", nil,
		},
		{
			map[string]any{"chain": "eth_mainnet", "method": "eth_chainId", "tier": "fast"},
			true, 0.0, nil, "standard",
			"cache hit", nil,
		},
		{
			map[string]any{"chain": "eth_mainnet", "method": "eth_blockNumber"},
			true, 1.0, nil, "standard",
			"within 2 s", nil,
		},
		{
			map[string]any{"chain": "eth_mainnet", "method": "eth_getTransactionReceipt"},
			true, 1.0, nil, "standard",
			"64 below the head", nil,
		},
		{
			map[string]any{"chain": "eth_mainnet", "method": "eth_sendRawTransaction"},
			true, 1.0, nil, "standard",
			"never sent again", nil,
		},
		{map[string]any{"chain": "solana_mainnet", "method": "getSlot"}, true, 1.0, nil, "standard", "within 1 s", nil},
		{
			map[string]any{"chain": "solana_mainnet", "method": "getProgramAccounts"},
			false, nil, nil, "",
			"getMultipleAccounts", nil,
		},
		{
			map[string]any{"chain": "eth_mainnet", "method": "eth_subscribe"},
			false, nil, nil, "",
			"Poll eth_blockNumber", nil,
		},
		{map[string]any{"chain": "eth_mainnet", "method": "ETH_CALL"}, false, nil, nil, "", "Use eth_call", "eth_call"},
		{map[string]any{"chain": "eth_mainnet", "method": "getSlot"}, false, nil, nil, "", "/rpc/solana_mainnet", nil},
		{
			map[string]any{"chain": "eth_mainnet", "method": `"; DROP TABLE data.docs --<b>`},
			false, nil, nil, "",
			"catalog at docs", nil,
		},
		{
			map[string]any{"chain": "base_mainnet", "method": "eth_call"},
			false, nil, nil, "",
			"no upstream for base_mainnet", nil,
		},
	} {
		t.Run(c.class, func(t *testing.T) {
			q, refusal := servicetest.Serve(o, o.GetQuote, servicetest.Neighbour(i), c.args)
			if refusal != nil {
				t.Errorf("%v: %v", c.args, refusal)
				return
			}
			class, _ := q["weight_class"].(string) //nolint:errcheck // absent is empty
			note, _ := q["note"].(string)          //nolint:errcheck // absent is empty
			expect.Equal[any](t, q["offered"], c.offered)
			expect.Equal(t, q["units"], c.units)
			expect.Equal(t, q["units_when_heavy"], c.heavy)
			expect.Equal(t, class, c.class)
			expect.Equal(t, q["suggestion"], c.near)
			expect.Contains(t, note, c.note)
			expect.Equal(t, q["method"], c.args["method"])
			expect.Equal[any](t, q["units_of_a_cache_hit"], 0.0)
			if _, asks := q["contact"]; asks == c.offered {
				t.Errorf("%v is quoted with the contact %v", c.args, q["contact"])
			}
		})
	}
	for i, args := range []map[string]any{
		{"chain": "eth_mainnet"},
		{"method": "eth_call"},
		{"chain": "sepolia", "method": "eth_call"},
		{"chain": "eth_mainnet", "method": ""},
		{"chain": "eth_mainnet", "method": strings.Repeat("x", 81)},
		{"chain": "eth_mainnet", "method": "eth_\xff"},
		{"chain": "eth_mainnet", "method": "eth_câll"},
		{"chain": "eth_mainnet", "method": "eth_call", "tier": "FAST"},
		{"chain": "eth_mainnet", "method": "eth_call", "tier": ""},
	} {
		o.Refuses(t, o.GetQuote, servicetest.Neighbour(100+i), args, fault.FieldRefused)
	}
}

// The price of a heavy call of the fast tier on each rung: it takes 4 units, so 1,000 calls take
// 4,000 and a million 4,000,000.
func TestQuote_PricesCallsOnEveryRung(t *testing.T) {
	t.Parallel()
	o := servicetest.Advisers(t, servicetest.Measured(t, time.Now(), map[chain.ID][]servicetest.Seen{
		chain.EthMainnet: {{Supply: plan.Public, Can: map[chain.Capability]bool{chain.Debug: true}}},
	}))
	q := servicetest.Must[advice.Quote](t)(o.GetQuote.Invoke(o.Ctx, servicetest.Neighbour(0), advice.QuoteInput{
		Chain: chain.EthMainnet, Method: "debug_traceCall", Tier: plan.Fast,
	}))
	want := map[string]string{
		"scale_yearly": "4.15 4 0.016611 16.611111", "growth_yearly": "3.75 4 0.014983 14.983333",
		"pro_yearly": "5.5 4 0.022 22.0", "scale_monthly": "4.98 4 0.019933 19.933333",
		"growth_monthly": "4.5 4 0.01798 17.98", "pack_l": "6.25 4 0.025 25.0", "pro_monthly": "6.6 4 0.0264 26.4",
		"pack_m": "7.14 4 0.028571 28.571429", "pack_s": "8.33 4 0.033333 33.333333", "per_call": "18.0 2 0.036 36.0",
		"builder": "0.6 4 0.0024 2.4", "free": "0.0 4 0.0 0.0", "door1": "0.0 4 0.0 0.0",
		"founding": "5.27 4 0.021067 21.066667",
	}
	if len(q.Lanes) != len(want) || len(q.Lanes) != len(plan.Ladder()) {
		t.Errorf("%d lanes", len(q.Lanes))
	}
	for _, lane := range q.Lanes {
		got := fmt.Sprintf("%s %s %s %s", number(t, lane.PerMillion), number(t, lane.PerCall), number(t, lane.Thousand),
			number(t, lane.Million))
		if got != want[lane.Key] || lane.Title == "" {
			t.Errorf("%s is quoted %s, want %s", lane.Key, got, want[lane.Key])
		}
		if lane.Key == "per_call" && (lane.Live || lane.Supply != plan.Premium) {
			t.Errorf("per call, which is closed here, is %+v", lane)
		}
	}
	none := servicetest.Must[advice.Quote](t)(o.GetQuote.Invoke(o.Ctx, servicetest.Neighbour(1), advice.QuoteInput{
		Chain: chain.EthMainnet, Method: "eth_accounts",
	}))
	in := expect.In(t, "a method that is not offered is quoted")
	require.Len(in, none.Lanes, len(want))
	expect.Nil(in, none.Lanes[0].Thousand)
	expect.Nil(in, none.Lanes[0].PerCall)
	expect.Equal(in, number(t, none.Lanes[0].PerMillion), "4.15")
}

func number(t *testing.T, n interface{ MarshalJSON() ([]byte, error) }) string {
	t.Helper()
	text, err := n.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestExplainCode_KnowsEveryCodeOfTheTable(t *testing.T) {
	t.Parallel()
	o := servicetest.Advisers(t, nil)
	for i, entry := range fault.Table() {
		for _, code := range []any{float64(entry.Code), fmt.Sprint(entry.Code), entry.Name} {
			e, refusal := servicetest.Serve(o, o.ExplainError, servicetest.Neighbour(i), map[string]any{"code": code})
			if refusal != nil {
				t.Fatalf("%v: %v", code, refusal)
			}
			reasons, _ := e["reasons"].([]any) //nolint:errcheck // checked below
			found := false
			for _, r := range reasons {
				reason, _ := r.(map[string]any) //nolint:errcheck // checked here
				found = found || reason["reason"] == entry.Name && reason["meaning"] == entry.Meaning &&
					reason["http"] == float64(entry.HTTP) && fmt.Sprint(reason["steps"]) == fmt.Sprint(entry.Steps)
			}
			expect.Equal[any](t, e["known"], true, code)
			expect.Equal[any](t, e["code"], float64(entry.Code), code)
			require.True(t, found, code)
			expect.NotEqual[any](t, e["title"], "")
			expect.AtMost(t, len(reasons), len(fault.Explain(entry.Code)), reasons)
			if code == entry.Name {
				expect.Len(t, reasons, 1)
				expect.Equal[any](t, e["http"], float64(entry.HTTP))
				expect.Equal[any](t, e["origin"], "gateway")
			}
		}
	}
}

func TestExplainCode_IsAnsweredBySource(t *testing.T) {
	t.Parallel()
	o := servicetest.Advisers(t, nil)
	for i, c := range []struct {
		code          any
		known         bool
		origin, title string
		http          any
		reasons       int
		nodes, hint   string
	}{
		{-32005.0, true, "both", "Rate window reached", 429.0, 1, "evm solana", "request_id"},
		{" -32602 ", true, "gateway", "Parameters refused", nil, 3, "", "Several reasons"},
		{-32600.0, true, "gateway", "Request refused", nil, 10, "", "Several reasons"},
		{-32017.0, true, "both", "Submission outcome unknown", 409.0, 1, "solana", "request_id"},
		{3.0, true, "chain", "Execution reverted", 200.0, 0, "evm", "costs what it weighs"},
		{-32002.0, true, "chain", "Resource unavailable", 200.0, 0, "evm solana", "costs what it weighs"},
		{-38014.0, true, "chain", "Insufficient funds", 200.0, 0, "evm", "costs what it weighs"},
		{"RATE_WINDOW", true, "gateway", "Rate window reached", 429.0, 1, "", ""},
		{429.0, false, "", "", nil, 0, "", "HTTP status"},
		{32005.0, false, "", "", nil, 0, "", "-32005"},
		{-32099.0, false, "", "", nil, 0, "", "nodes do not agree"},
		{-1.0, false, "", "", nil, 0, "", "no such code"},
		{0.0, false, "", "", nil, 0, "", "no such code"},
		{"99999999999999999999", false, "", "", nil, 0, "", "No reason"},
		{"no_such_reason", false, "", "", nil, 0, "", "No reason"},
	} {
		t.Run(c.title, func(t *testing.T) {
			e, refusal := servicetest.Serve(o, o.ExplainError, servicetest.Neighbour(i), map[string]any{"code": c.code})
			if refusal != nil {
				t.Errorf("%v: %v", c.code, refusal)
				return
			}
			var families []string
			nodes, _ := e["chain_meanings"].([]any) //nolint:errcheck // checked below
			for _, n := range nodes {
				family, _ := n.(map[string]any) //nolint:errcheck // checked below
				families = append(families, fmt.Sprint(family["family"]))
			}
			reasons, _ := e["reasons"].([]any)    //nolint:errcheck // checked below
			hint, _ := e["hint"].(string)         //nolint:errcheck // absent is empty
			origin, _ := e["origin"].(string)     //nolint:errcheck // absent is empty
			title, _ := e["title"].(string)       //nolint:errcheck // absent is empty
			_, hasDoorway := e["doorway"]         // null or a path, always there
			steps, hasSteps := e["steps"].([]any) // never null
			expect.Equal[any](t, e["known"], c.known)
			expect.Equal(t, origin, c.origin)
			expect.Equal(t, title, c.title)
			expect.Equal(t, e["http"], c.http)
			expect.Len(t, reasons, c.reasons)
			expect.Equal(t, strings.Join(families, " "), c.nodes)
			expect.Contains(t, hint, c.hint)
			expect.True(t, hasDoorway)
			require.True(t, hasSteps)
			expect.Equal(t, c.known, len(steps) > 0)
		})
	}
	for i, wrong := range []any{
		nil, "", 1.5, 1e300, "\x00", "\xff", strings.Repeat("x", 61), "-32005; DROP", true,
		[]any{-32005.0},
		map[string]any{},
	} {
		o.Refuses(t, o.ExplainError, servicetest.Neighbour(100+i), map[string]any{"code": wrong}, fault.FieldRefused)
	}
}

func TestListPlans_AreThoseOfTheDocument(t *testing.T) {
	t.Parallel()
	o := servicetest.Advisers(t, nil)
	l := servicetest.Must[advice.PlanList](t)(o.ListPlans.Invoke(o.Ctx, servicetest.Neighbour(0), operation.Nothing{}))
	// key, cents, interval, yearly cents, units, period, requests / seconds, ceiling, supply, data,
	// live
	want := []string{
		"door1 0 none - 10000 day 5/1 - public data=false live=true",
		"wallet_bound 0 none - 1000000 month 5/1 - public data=false live=true",
		"free 0 none - 1000000 month 100/900 - public data=false live=true",
		"builder 1200 month - 20000000 month 30/1 20000000>10/1 public data=true live=true",
		"pro 9900 month 99000 15000000 month 6000/60 - premium data=true live=true",
		"scale 29900 month 299000 60000000 month 12000/60 - premium data=true live=true",
		"growth 89900 month 899000 200000000 month 18000/60 - premium data=true live=true",
	}
	for i, p := range l.Plans {
		yearly, ceiling := "-", "-"
		if p.YearlyCents != nil {
			yearly = fmt.Sprint(*p.YearlyCents)
		}
		if p.SoftCeiling != nil {
			ceiling = fmt.Sprintf("%s>%d/%d", p.SoftCeiling, p.SoftRate.Requests, p.SoftRate.PerSeconds)
		}
		got := fmt.Sprintf("%s %d %s %s %s %s %d/%d %s %s data=%v live=%v", p.Key, p.PriceCents, p.Interval, yearly,
			p.Included, p.Period, p.Rate.Requests, p.Rate.PerSeconds, ceiling, p.Supply, p.Data, p.Live)
		in := expect.In(t, "plan %d", i)
		require.Less(in, i, len(want))
		expect.Equal(in, got, want[i])
		expect.NotEqual(in, p.Name, "")
		expect.NotEqual(in, p.HowToGet, "")
	}
	expect.Len(t, l.Plans, len(want))
	require.Len(t, l.Packs, 3)
	expect.Equal(t, l.Packs[2].PriceCents, 200_00)
	expect.Equal(t, l.Packs[2].Units, 32_000_000*plan.Unit)
	expect.Equal(t, l.Packs[0].ValidMonths, 12)
	pro := l.Plans[4]
	in := expect.In(t, "Pro costs")
	expect.Equal(in, number(t, pro.PerMillion), "6.6")
	expect.Equal(in, number(t, pro.YearlyMillion), "5.5")
	expect.Equal(in, pro.FastShare, 30)
	f := l.Founding
	in = expect.In(t, "the founding offer, without anybody who sells")
	expect.Equal(in, f.PriceCents, 79_00)
	expect.Equal(in, f.Seats, 100)
	expect.Equal(in, f.SeatsLeft, 100)
	expect.Equal(in, f.LockedMonths, 12)
	expect.False(in, f.Open)
	expect.False(t, l.PaymentsLive)
	expect.Equal(t, l.SignupURL, "https://gateway.example/sign-in")
	expect.Equal(t, l.Enterprise.Contact, "help@gateway.example")
	expect.False(t, l.PerCall.Live)
	expect.Len(t, l.PerCall.Tiers, 3)
	expect.Len(t, l.Tiers, 3)
	// A held seat is one less once the cached count has expired.
	o = servicetest.Advisers(t, nil)
	o.Hold(t, o.WhoIs(t, o.SignIn(t, "ann@buyer.example")).AccountID)
	if l = servicetest.Must[advice.PlanList](t)(o.ListPlans.Invoke(o.Ctx, servicetest.Neighbour(1),
		operation.Nothing{})); l.Founding.SeatsLeft != 99 {
		t.Errorf("%d seats are left beside one that is held", l.Founding.SeatsLeft)
	}
}

func TestAdvice_IsLimitedByNetwork(t *testing.T) {
	t.Parallel()
	o := servicetest.Advisers(t, nil)
	began := time.Now()
	var refused *fault.Error
	// The limit refills by one request a second while they are sent.
	for sent := 0; refused == nil && sent < 62+int(time.Since(began)/time.Second); sent++ {
		_, refused = servicetest.Serve(o, o.ExplainError, servicetest.Neighbour(7), map[string]any{"code": -32005.0})
	}
	in := expect.In(t, "beyond the limit")
	require.NotNil(in, refused)
	expect.Equal(in, refused.Reason, fault.RateWindow)
	expect.Greater(in, refused.RetryAfter, 0)
	if _, refusal := servicetest.Serve(o, o.ListPlans, servicetest.Neighbour(8), nil); refusal != nil {
		t.Errorf("another network is refused with %v", refusal)
	}
}
