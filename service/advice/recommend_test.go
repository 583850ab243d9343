package advice_test

import (
	"encoding/json"
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
)

func TestRecommend_ChainByWhatWasMeasured(t *testing.T) {
	t.Parallel()
	at := time.Now().Add(-time.Minute).UTC().Truncate(time.Second)
	pool := servicetest.Measured(t, at, map[chain.ID][]servicetest.Seen{
		chain.EthMainnet: {
			{Supply: plan.Public, Latency: 30 * time.Millisecond},
			{Supply: plan.Premium, Latency: 50 * time.Millisecond},
			{Supply: plan.Premium, Latency: 40 * time.Millisecond},
		},
		chain.BaseMainnet: {{Supply: plan.Public, Latency: 10 * time.Millisecond, Lag: 3}},
		chain.ArbitrumOne: {
			{Supply: plan.Public, Latency: 20 * time.Millisecond},
			{Supply: plan.Public, Latency: 5 * time.Millisecond, Reason: "lagging"},
			{Supply: plan.Public, Latency: 25 * time.Millisecond},
		},
		chain.PolygonPoS:    {{Supply: plan.Public, Latency: time.Millisecond, Reason: "unreachable"}},
		chain.SolanaMainnet: {{Supply: plan.Public, Latency: 15 * time.Millisecond}},
	})
	o := servicetest.Advisers(t, pool)
	for i, c := range []struct {
		in     advice.RecommendChainInput
		ranked string
		not    string
	}{
		{
			advice.RecommendChainInput{},
			"base_mainnet solana_mainnet arbitrum_one eth_mainnet",
			"optimism_mainnet polygon_pos",
		},
		{
			advice.RecommendChainInput{Prefer: "uptime"},
			"eth_mainnet arbitrum_one solana_mainnet base_mainnet",
			"optimism_mainnet polygon_pos",
		},
		{
			advice.RecommendChainInput{Family: "evm", Prefer: "latency"},
			"base_mainnet arbitrum_one eth_mainnet",
			"optimism_mainnet polygon_pos",
		},
		{advice.RecommendChainInput{Family: "solana"}, "solana_mainnet", ""},
		{
			advice.RecommendChainInput{Candidates: []chain.ID{chain.EthMainnet, chain.ArbitrumOne}},
			"arbitrum_one eth_mainnet", "",
		},
		{advice.RecommendChainInput{Candidates: []chain.ID{chain.PolygonPoS}}, "", "polygon_pos"},
	} {
		t.Run(c.ranked, func(t *testing.T) {
			r := servicetest.Must[advice.RecommendedChain](t)(o.RecommendChain.Invoke(o.Ctx, servicetest.Neighbour(i),
				c.in))
			var ranked, not []string
			for _, x := range r.Ranked {
				ranked = append(ranked, string(x.Chain))
			}
			for _, x := range r.NotRanked {
				not = append(not, string(x.Chain))
			}
			expect.Equal(t, strings.Join(ranked, " "), c.ranked)
			expect.Equal(t, strings.Join(not, " "), c.not)
			expect.NotEqual(t, r.Reason, "")
			expect.NotEqual(t, r.Note, "")
			expect.Equal(t, r.Pick == nil, c.ranked == "")
			if r.Pick != nil {
				expect.Equal(t, string(*r.Pick), ranked[0])
				expect.True(t, r.MeasuredAt.Equal(at), at)
			}
			if r.Pick == nil {
				expect.Nil(t, r.MeasuredAt)
			}
			if text, err := json.Marshal(r); err != nil || strings.Contains(string(text), "secret") {
				t.Errorf("upstreams are named: %s, %v", text, err)
			}
		})
	}
	r := servicetest.Must[advice.RecommendedChain](t)(o.RecommendChain.Invoke(o.Ctx, servicetest.Neighbour(50),
		advice.RecommendChainInput{Candidates: []chain.ID{chain.ArbitrumOne}}))
	x := r.Ranked[0]
	in := expect.In(t, "Arbitrum One stands")
	expect.Equal(in, x.LatencyMS, 20)
	expect.Equal(in, x.Usable, 2)
	expect.Equal(in, x.Upstreams, 3)
	expect.Nil(in, x.ErrorPercent)
	expect.Equal(in, x.Family, "evm")
	expect.Contains(in, r.Reason, "2 of its 3 upstreams")
	for i, args := range []map[string]any{
		{"family": "evm", "candidates": []any{"solana_mainnet"}},
		{"candidates": []any{"sepolia"}},
		{"candidates": []any{
			"eth_mainnet", "eth_mainnet", "eth_mainnet", "eth_mainnet", "eth_mainnet", "eth_mainnet", "eth_mainnet",
		}},
		{"prefer": "price"},
	} {
		o.Refuses(t, o.RecommendChain, servicetest.Neighbour(60+i), args, fault.FieldRefused)
	}
}

func TestRecommend_NothingWhileNothingIsMeasured(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]time.Time{"never": {}, "an hour ago": time.Now().Add(-time.Hour)} {
		o := servicetest.Advisers(t,
			servicetest.Measured(t, at,
				map[chain.ID][]servicetest.Seen{chain.EthMainnet: {{Supply: plan.Public, Latency: time.Millisecond}}}))
		r := servicetest.Must[advice.RecommendedChain](t)(o.RecommendChain.Invoke(o.Ctx, servicetest.Neighbour(0),
			advice.RecommendChainInput{}))
		in := expect.In(t, "measured %s", name)
		expect.Nil(in, r.Pick)
		expect.Empty(in, r.Ranked)
		expect.Len(in, r.NotRanked, 6)
		expect.Contains(in, r.Reason, "none is recommended")
		route := servicetest.Must[advice.RecommendedRoute](t)(o.RecommendRoute.Invoke(o.Ctx, servicetest.Neighbour(1),
			advice.RecommendRouteInput{Chain: chain.EthMainnet, Method: "eth_call", Need: plan.Fast}))
		expect.Equal(in, *route.Pick, plan.Fast)
		expect.Contains(in, route.Reason, "Nothing that could answer it is measured")
		expect.Nil(in, route.Tiers[2].LatencyMS)
	}
}

func TestRecommend_RouteByNeedAndMeasurement(t *testing.T) {
	t.Parallel()
	at := time.Now().Add(-time.Second).UTC().Truncate(time.Second)
	o := servicetest.Advisers(t, servicetest.Measured(t, at, map[chain.ID][]servicetest.Seen{
		chain.EthMainnet: {
			{Supply: plan.Public, Latency: 40 * time.Millisecond},
			{Supply: plan.Wholesale, Latency: 20 * time.Millisecond},
			{Supply: plan.Premium, Latency: 10 * time.Millisecond},
		},
		chain.BaseMainnet: {
			{Supply: plan.Premium, Latency: 90 * time.Millisecond},
			{Supply: plan.Public, Latency: 10 * time.Millisecond},
		},
		chain.ArbitrumOne: {
			{Supply: plan.Premium, Latency: 10 * time.Millisecond},
			{Supply: plan.Wholesale, Latency: 10 * time.Millisecond},
		},
	}))
	for i, c := range []struct {
		id     chain.ID
		method string
		need   plan.Tier
		pick   plan.Tier
		units  plan.Units
		tiers  string // latency by tier, on the tier's own supply and on public supply
		reason string
	}{
		{chain.EthMainnet, "eth_call", "", plan.Balanced, 1000, "40/40 20/40 10/40", "balanced was asked for"},
		{chain.EthMainnet, "eth_call", plan.Cheap, plan.Cheap, 500, "40/40 20/40 10/40", "measured at 40.0 ms"},
		{chain.EthMainnet, "debug_traceCall", plan.Fast, plan.Fast, 4000, "40/40 20/40 10/40", "measured at 10.0 ms"},
		{
			chain.BaseMainnet, "eth_call", plan.Fast, plan.Balanced, 1000, "10/10 10/10 90/10",
			"Balanced is measured quicker",
		},
		{chain.ArbitrumOne, "eth_call", plan.Fast, plan.Fast, 2000, "-/- 10/- 10/-", "not measured quicker"},
		{
			chain.ArbitrumOne, "eth_call", plan.Cheap, plan.Balanced, 1000, "-/- 10/- 10/-",
			"No upstream of public supply",
		},
		{chain.EthMainnet, "eth_chainId", plan.Fast, plan.Cheap, 0, "-/- -/- -/-", "by itself"},
	} {
		t.Run(string(c.id), func(t *testing.T) {
			r := servicetest.Must[advice.RecommendedRoute](t)(o.RecommendRoute.Invoke(o.Ctx, servicetest.Neighbour(i),
				advice.RecommendRouteInput{Chain: c.id, Method: c.method, Need: c.need}))
			var tiers []string
			for _, x := range r.Tiers {
				tiers = append(tiers, milliseconds(x.LatencyMS)+"/"+milliseconds(x.PublicMS))
			}
			in := expect.In(t, "%s of %s for %s", c.method, c.id, c.need)
			require.NotNil(in, r.Pick)
			expect.Equal(in, *r.Pick, c.pick)
			require.NotNil(in, r.Units)
			expect.Equal(in, *r.Units, c.units)
			expect.Equal(in, strings.Join(tiers, " "), c.tiers)
			expect.Contains(in, r.Reason, c.reason)
			expect.True(in, r.MeasuredAt.Equal(at), at)
			expect.Equal(t, r.Tiers[0].Supply, plan.Public)
			expect.Equal(t, r.Tiers[2].Supply, plan.Premium)
			expect.Equal(t, r.Tiers[2].Multiplier, 2000)
		})
	}
	none := servicetest.Must[advice.RecommendedRoute](t)(o.RecommendRoute.Invoke(o.Ctx, servicetest.Neighbour(20),
		advice.RecommendRouteInput{Chain: chain.EthMainnet, Method: "eth_accounts"}))
	in := expect.In(t, "a method that is not offered")
	expect.False(in, none.Offered)
	expect.Nil(in, none.Pick)
	expect.Nil(in, none.Units)
	expect.Empty(in, none.Tiers)
	expect.Contains(in, none.Note, "Ask your wallet")
	away := servicetest.Must[advice.RecommendedRoute](t)(o.RecommendRoute.Invoke(o.Ctx, servicetest.Neighbour(21),
		advice.RecommendRouteInput{Chain: chain.SolanaMainnet, Method: "getSlot"}))
	in = expect.In(t, "a chain without upstreams")
	expect.False(in, away.Offered)
	expect.Nil(in, away.Pick)
	expect.Nil(in, away.MeasuredAt)
	for i, args := range []map[string]any{
		{"method": "eth_call"}, {"chain": "eth_mainnet"}, {
			"chain": "eth_mainnet", "method": "eth_call", "need": "quick",
		},
	} {
		o.Refuses(t, o.RecommendRoute, servicetest.Neighbour(30+i), args, fault.FieldRefused)
	}
}

func milliseconds(f *float64) string {
	if f == nil {
		return "-"
	}
	return fmt.Sprint(*f)
}
