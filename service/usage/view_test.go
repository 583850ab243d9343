package usage_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/sandbox/stripe"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/usage"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/store/usagedb"
)

func took(key account.KeyID, chain, outcome string, d time.Duration, calls int64) account.LatencyLine {
	return account.LatencyLine{
		Key: key, Chain: chain, Service: "rpc", Class: "standard", Outcome: outcome,
		Bucket: account.LatencyBucketOf(d), Calls: calls,
	}
}

func TestUsageReport_AddsUpTheLastHours(t *testing.T) {
	t.Parallel()
	b := servicetest.OpenUsageEnv(t, servicetest.AtNoon)
	// No usage, and no watermark.
	empty := servicetest.Must[usage.UsageReport](t)(b.UsageReport.Invoke(b.Ctx, b.Eve, usage.UsageReportInput{}))
	if got, want := servicetest.TextOf(t, empty),
		`{"scope":"account","hours":24,"since":"2026-11-21T12:00:00Z","as_of":null,"total_requests":0,`+
			`"weighted_units":0,"cache_hits":0,`+
			`"refusals":0,"success_rate":null,"p50_duration_ms":null,"p95_duration_ms":null,"by_class":[],`+
			`"by_key":[],"by_method":[],"by_chain":[]}`; got != want {
		t.Errorf("of nothing it is\n%s, want\n%s", got, want)
	}
	// 10 ms is in the bucket from 9.024 to 10.752 ms. Of four calls there the median is in its
	// middle, and p95 at 0.95 of its width.
	at := servicetest.Noon.Add(-24 * time.Hour).Truncate(time.Hour)
	// the hour before
	b.Commit(t, at.Add(-time.Second), nil, b.Written(b.KeyID, "eth_mainnet", "eth_call", "standard", "ok", 1000,
		1000*plan.Unit))
	b.Commit(t, at, []account.LatencyLine{took(b.KeyID, "eth_mainnet", "ok", 10*time.Millisecond, 4)},
		b.Written(b.KeyID, "eth_mainnet", "eth_call", "standard", "ok", 4, 3_500),
		b.Written(b.KeyID, "eth_mainnet", "eth_getLogs", "heavy", "ok", 1, 2*plan.Unit),
		b.Written(b.KeyID, "base_mainnet", "eth_chainId", "standard", "hit", 2, 0),
		b.Written(b.KeyID, "base_mainnet", "", "", "rate_window", 3, 0))
	if err := b.Store.SaveWatermarks(b.Ctx, map[int]time.Time{
		account.Shard(b.AccountID): servicetest.Noon.Add(-12 * time.Second),
	}); err != nil {
		t.Fatal(err)
	}
	got := servicetest.TextOf(t,
		servicetest.Must[usage.UsageReport](t)(b.UsageReport.Invoke(b.Ctx, b.Key, usage.UsageReportInput{Hours: 24})))
	want := `{"scope":"account","hours":24,"since":"2026-11-21T12:00:00Z","as_of":"2026-11-22T12:29:48Z",` +
		`"total_requests":10,"weighted_units":5.5,"cache_hits":2,` +
		`"refusals":3,"success_rate":0.7,"p50_duration_ms":9.888,"p95_duration_ms":10.665,` +
		`"by_class":[{"name":"standard","requests":6,"weighted_units":3.5,"cache_hits":2,"refusals":0},{"name":"",` +
		`"requests":3,"weighted_units":0,"cache_hits":0,"refusals":3},` +
		`{"name":"heavy","requests":1,"weighted_units":2,"cache_hits":0,"refusals":0}],` +
		`"by_key":[{"name":"indexer","key_id":"` + b.KeyID.String() + `","key_prefix":"` + b.KeyPrefix +
		`","requests":10,"weighted_units":5.5,"cache_hits":2,"refusals":3}],` +
		`"by_method":[{"name":"eth_call","requests":4,"weighted_units":3.5,"cache_hits":0,"refusals":0},{"name":"",` +
		`"requests":3,"weighted_units":0,"cache_hits":0,"refusals":3},` +
		`{"name":"eth_chainId","requests":2,"weighted_units":0,"cache_hits":2,"refusals":0},{"name":"eth_getLogs",` +
		`"requests":1,"weighted_units":2,"cache_hits":0,"refusals":0}],` +
		`"by_chain":[{"name":"eth_mainnet","requests":5,"weighted_units":5.5,"cache_hits":0,"refusals":0},` +
		`{"name":"base_mainnet","requests":5,"weighted_units":0,"cache_hits":2,"refusals":3}]}`
	if got != want {
		t.Errorf("the report is\n%s, want\n%s", got, want)
	}
	on := servicetest.Must[usage.UsageReport](t)(b.UsageReport.Invoke(b.Ctx, b.Ann, usage.UsageReportInput{
		Chain: "base_mainnet",
	}))
	in := expect.In(t, "on base_mainnet")
	expect.Equal(in, on.TotalRequests, 5)
	expect.Equal(in, on.WeightedUnits, 0)
	expect.Len(in, on.ByChain, 1)
	expect.Nil(in, on.P50.Value)
	expect.Equal(in, on.Chain, "base_mainnet")
	if longer := servicetest.Must[usage.UsageReport](t)(b.UsageReport.Invoke(b.Ctx, b.Ann, usage.UsageReportInput{
		Hours: 25,
	})); longer.TotalRequests != 1010 {
		t.Errorf("an hour longer it has %d requests", longer.TotalRequests)
	}
	for _, hours := range []any{0.0, 721.0, 1.5, "24"} {
		b.Refuses(t, b.UsageReport, b.Key, map[string]any{"hours": hours}, fault.FieldRefused)
	}
}

func TestUsageReport_ListsEndWithTheRest(t *testing.T) {
	t.Parallel()
	b := servicetest.OpenUsageEnv(t, servicetest.AtNoon)
	var lines []account.UsageLine
	for n := range int64(23) {
		lines = append(lines, b.Written(b.KeyID, "eth_mainnet", fmt.Sprintf("eth_%02d", n), "standard", "ok", 100-n,
			plan.Units(100-n)*plan.Unit))
	}
	b.Commit(t, servicetest.Noon, nil, lines...)
	methods := servicetest.Must[usage.UsageReport](t)(b.UsageReport.Invoke(b.Ctx, b.Key,
		usage.UsageReportInput{})).ByMethod
	last := methods[len(methods)-1]
	require.Len(t, methods, 21)
	expect.Equal(t, methods[0].Name, "eth_00")
	expect.Equal(t, methods[19].Name, "eth_19")
	expect.Equal(t, last.Name, "")
	expect.Equal(t, last.Rest, 3)
	expect.Equal(t, last.Requests, 80+79+78)
	expect.Equal(t, last.Units, (80+79+78)*plan.Unit)
}

func TestUsageReport_VolumeHasEveryBucketAndTheLastIsUnderWay(t *testing.T) {
	t.Parallel()
	b := servicetest.OpenUsageEnv(t, servicetest.AtNoon)
	line := func(n int64) account.UsageLine {
		return b.Written(b.KeyID, "eth_mainnet", "eth_call", "standard", "ok", n, plan.Units(n)*plan.Unit)
	}
	b.Commit(t, servicetest.Noon.Add(-time.Minute), nil, line(1),
		b.Written(b.KeyID, "base_mainnet", "eth_call", "standard", "hit",
			7, 0))
	for window, c := range map[string]struct {
		buckets, seconds int
		first            time.Time
	}{
		"":    {24, 3600, time.Date(2026, time.November, 21, 13, 0, 0, 0, time.UTC)},
		"24h": {24, 3600, time.Date(2026, time.November, 21, 13, 0, 0, 0, time.UTC)},
		"7d":  {28, 21600, time.Date(2026, time.November, 15, 18, 0, 0, 0, time.UTC)},
		"30d": {30, 86400, time.Date(2026, time.October, 24, 0, 0, 0, 0, time.UTC)},
	} {
		t.Run(window, func(t *testing.T) {
			v := servicetest.Must[usage.UsageVolume](t)(b.UsageVolume.Invoke(b.Ctx, b.Key,
				usage.UsageVolumeInput{Window: window}))
			last := v.Buckets[len(v.Buckets)-1]
			in := expect.In(t, "%q", window)
			require.Len(in, v.Buckets, c.buckets)
			expect.Equal(in, v.BucketSeconds, int64(c.seconds))
			expect.True(in, v.Buckets[0].Start.Equal(c.first), v.Buckets[0].Start, c.first)
			expect.False(in, v.Buckets[0].Partial)
			expect.Equal(in, v.Buckets[0].Requests, 0)
			expect.True(in, last.Partial)
			expect.Equal(in, last.Requests, 8)
			expect.Equal(in, last.Units, plan.Unit)
			expect.Equal(in, last.CacheHits, 7)
			expect.Equal(in, v.Buckets[c.buckets-2], usage.VolumeBucket{Start: v.Buckets[c.buckets-2].Start})
			for i := range v.Buckets {
				if !v.Buckets[i].Start.Equal(c.first.Add(time.Duration(i*c.seconds) * time.Second)) {
					t.Errorf("bucket %d of %q begins at %s", i, window, v.Buckets[i].Start)
				}
			}
		})
	}
	// Usage at the edge of the window is in its first bucket, and usage a second older is not
	// included. Both belong to the period before.
	edge := time.Date(2026, time.October, 24, 0, 0, 0, 0, time.UTC)
	older, first := line(100), line(10)
	older.Period, first.Period = "2026-10-01", "2026-10-01"
	b.Commit(t, edge.Add(-time.Second), nil, older)
	b.Commit(t, edge, nil, first)
	v := servicetest.Must[usage.UsageVolume](t)(b.UsageVolume.Invoke(b.Ctx, b.Key, usage.UsageVolumeInput{
		Window: "30d", Chain: "eth_mainnet",
	}))
	var all int64
	for _, bucket := range v.Buckets {
		all += bucket.Requests
	}
	if v.Buckets[0].Requests != 10 || all != 11 {
		t.Errorf("the first bucket has %d of %d requests", v.Buckets[0].Requests, all)
	}
}

func TestUsageReport_LatencyIsByChainAndBucket(t *testing.T) {
	t.Parallel()
	b := servicetest.OpenUsageEnv(t, servicetest.AtNoon)
	b.Commit(t, servicetest.Noon, []account.LatencyLine{
		took(b.KeyID, "eth_mainnet", "ok", 10*time.Millisecond, 4),
		took(b.KeyID, "base_mainnet", "hit", 50*time.Microsecond, 4),
	})
	b.Commit(t, servicetest.Noon.Add(-23*time.Hour), []account.LatencyLine{
		took(b.KeyID, "eth_mainnet", "ok", 10*time.Millisecond, 1),
	})
	s := servicetest.Stats(t, b, b.Key, "latency", "24h")
	require.Len(t, s.Series, 4)
	require.Len(t, s.Buckets, 24)
	require.Equal(t, s.BucketSeconds, 3600)
	eth := s.Series[2]
	expect.Equal(t, s.Series[0].Chain, "base_mainnet")
	expect.Equal(t, eth.Name, "p50")
	expect.Equal(t, eth.Chain, "eth_mainnet")
	expect.Equal(t, s.Series[3].Name, "p95")
	expect.Equal(t, eth.Unit, "ms")
	require.Len(t, eth.Values, 24)
	expect.Equal(t, servicetest.TextOf(t, eth.Values[0]), "9.888")
	expect.Equal(t, servicetest.TextOf(t, eth.Values[1]), "null")
	expect.Equal(t, servicetest.TextOf(t, eth.Values[23]), "9.888")
	// Four of nine calls took 0 to 100 µs. The median, 4.5 calls, is a tenth into the slower
	// bucket.
	want := `{"latency":{"calls":9,"p50_ms":9.196,"p95_ms":10.596,"cache_p50_ms":0.05,"upstream_p50_ms":9.888,` +
		`"chains":[` +
		`{"chain":"base_mainnet","calls":4,"p50_ms":0.05,"p95_ms":0.095},{"chain":"eth_mainnet","calls":5,` +
		`"p50_ms":9.888,"p95_ms":10.665}]}}`
	if got := servicetest.TextOf(t, s.Summary); got != want {
		t.Errorf("the summary is\n%s, want\n%s", got, want)
	}
}

func TestUsageReport_ErrorsNameMethodsReasonsAndNewestRequests(t *testing.T) {
	t.Parallel()
	b := servicetest.OpenUsageEnv(t, servicetest.AtNoon)
	lines := []account.UsageLine{b.Written(b.KeyID, "eth_mainnet", "eth_call", "standard", "ok", 60, 60*plan.Unit)}
	for n := range int64(12) {
		lines = append(lines, b.Written(b.KeyID, "base_mainnet", fmt.Sprintf("eth_%02d", n), "standard", "rate_window",
			20-n, 0))
	}
	lines = append(lines, b.Written(b.KeyID, "eth_mainnet", "", "", "method_not_served", 2, 0))
	b.Commit(t, servicetest.Noon.Add(-time.Hour), nil, lines...)
	var calls []usagedb.Call
	for n := range 25 {
		calls = append(calls, usagedb.Call{
			RequestID: uuid.Must(uuid.NewV7()), StartedAt: servicetest.Noon.Add(-time.Duration(n) * time.Minute),
			Account: b.AccountID,
			Key:     b.KeyID, Chain: "base_mainnet", Service: "rpc", Method: "eth_00", Class: "standard",
			Outcome: "rate_window", HTTPStatus: 429, Duration: 2500 * time.Microsecond,
		})
	}
	calls[0].StartedAt = servicetest.Noon.Add(time.Minute) // of a clock that runs ahead
	if err := b.Store.CopyCalls(b.Ctx, calls); err != nil {
		t.Fatal(err)
	}
	s := servicetest.Stats(t, b, b.Key, "errors", "")
	e := s.Summary.Errors
	const refused = 20 + 19 + 18 + 17 + 16 + 15 + 14 + 13 + 12 + 11 + 10 + 9 + 2
	expect.Equal(t, e.Requests, 60+refused)
	expect.Equal(t, e.Failures, refused)
	expect.Equal(t, servicetest.TextOf(t, e.Rate), "0.745")
	expect.False(t, e.Truncated)
	require.Len(t, e.Methods, 13)
	expect.Equal(t, e.Methods[0], usage.FailedMethod{Chain: "base_mainnet", Method: "eth_00", Requests: 20})
	require.Len(t, e.Reasons, 2)
	expect.Equal(t, e.Reasons[0].Reason, "rate_window")
	expect.Equal(t, e.Reasons[0].Code, -32005)
	expect.NotEqual(t, e.Reasons[0].Title, "")
	expect.Equal(t, e.Reasons[0].Requests, refused-2)
	expect.Equal(t, e.Reasons[1].Code, -32601)
	require.Len(t, e.Recent, 20)
	expect.Equal(t, e.Recent[0].RequestID, calls[1].RequestID.String())
	expect.Equal(t, e.Recent[0].Code, -32005)
	expect.Equal(t, e.Recent[0].HTTPStatus, 429)
	expect.Equal(t, servicetest.TextOf(t, e.Recent[0].DurationMS), "2.5")
	expect.Equal(t, e.Recent[19].RequestID, calls[20].RequestID.String())
	rest := s.Series[len(s.Series)-1]
	require.Len(t, s.Series, 11)
	expect.Equal(t, s.Series[0].Method, "eth_00")
	expect.Equal(t, servicetest.TextOf(t, s.Series[0].Values[22]), "20")
	expect.Equal(t, servicetest.TextOf(t, s.Series[0].Values[23]), "0")
	expect.Equal(t, rest.Rest, 3)
	expect.Equal(t, servicetest.TextOf(t, rest.Values[22]), "21")
	expect.Equal(t, servicetest.TextOf(t, rest.Values[0]), "0")
}

func TestUsageReport_CacheSavesWhatItsHitsWouldHaveCost(t *testing.T) {
	t.Parallel()
	d := servicetest.OpenBillingEnv(t)
	d.Buy(t, "pro_monthly", stripe.Visa)
	b := &servicetest.UsageEnv{
		Env: d.Env, AccountID: d.AccountID, Ann: servicetest.Browser(d.Owner),
		Period: "2026-11-01",
	}
	key := account.NewKeyID()
	cheap := b.Written(key, "eth_mainnet", "eth_getBlockByHash", "standard", "hit", 1_000_000, 0)
	cheap.Tier = "cheap"
	gas := b.Written(key, "eth_mainnet", "get_tx_status", "toolbox", "hit", 100_000, 0)
	gas.Service, gas.Tier = "tx_status", ""
	util := b.Written(key, "", "checksum_address", "toolbox", "ok", 7_000_000, 7_000_000*plan.Unit)
	util.Service, util.Tier = "utils", ""
	b.Commit(t, servicetest.Opened.Add(-time.Hour), nil,
		b.Written(key, "eth_mainnet", "eth_getBlockByHash", "standard", "hit", 2_000_000, 0), cheap, gas,
		b.Written(key, "eth_mainnet", "eth_getBlockByHash", "standard", "ok", 1_000_000, 1_000_000*plan.Unit),
		b.Written(key, "eth_mainnet", "eth_getLogs", "heavy", "ok", 5, 10*plan.Unit),
		b.Written(key, "eth_mainnet", "eth_call", "standard", "rate_window", 50, 0),
		b.Written(key, "eth_mainnet", "eth_chainId", "standard", "hit", 1_000, 0),
		b.Written(key, "polygon_pos", "net_version", "standard", "hit", 24_000, 0), util)
	s := servicetest.Stats(t, b, b.Ann, "cache", "24h")
	// Methods that the gateway answers itself save nothing, and utilities have no misses. 2,000,000
	// · 1 + 1,000,000 · 0.5 + 100,000 · 2 units at $6.60 per million are $17.82.
	want := `{"cache":{"hits":3125000,"misses":1000005,"hit_rate":0.757,"upstream_calls_avoided":3100000,` +
		`"units_saved":2700000,"priced_at":"pro_monthly","usd_per_million":6.6,` +
		`"usd_saved":17.82,"by_method":[{"method":"eth_getBlockByHash","class":"standard","hits":3000000,` +
		`"misses":1000000,"hit_rate":0.75},` +
		`{"method":"get_tx_status","class":"toolbox","hits":100000,"misses":0,"hit_rate":1},{"method":"net_version",` +
		`"class":"standard","hits":24000,"misses":0,"hit_rate":1},` +
		`{"method":"eth_chainId","class":"standard","hits":1000,"misses":0,"hit_rate":1},{"method":"eth_getLogs",` +
		`"class":"heavy","hits":0,"misses":5,"hit_rate":0}],"more_methods":0}}`
	if got := servicetest.TextOf(t, s.Summary); got != want {
		t.Errorf("the summary is\n%s, want\n%s", got, want)
	}
	require.Len(t, s.Series, 3)
	expect.Equal(t, servicetest.TextOf(t, s.Series[0].Values[22]), "3125000")
	expect.Equal(t, servicetest.TextOf(t, s.Series[1].Values[22]), "1000005")
	expect.Equal(t, servicetest.TextOf(t, s.Series[2].Values[22]), "0.757")
	expect.Equal(t, servicetest.TextOf(t, s.Series[2].Values[0]), "null")
}

// The account's users and keys see all of it, an agent only its own, another account nothing.
func TestUsageReport_IsShownOnlyToItsOwners(t *testing.T) {
	t.Parallel()
	b := servicetest.OpenUsageEnv(t)
	b.Use(t, b.AccountID, b.KeyID, "", 40)
	b.Claim(t) // used 3
	now := time.Now().UTC()
	b.Commit(t, now, []account.LatencyLine{
		took(b.KeyID, "eth_mainnet", "ok", time.Second, 40),
		took(b.AgentKey, "base_mainnet", "ok", time.Millisecond, 3),
	},
		b.Written(b.KeyID, "eth_mainnet", "eth_call", "standard", "key_budget", 5, 0),
		b.Written(b.AgentKey, "base_mainnet", "eth_call", "standard", "rate_window", 2, 0))
	call := func(key account.KeyID) usagedb.Call {
		return usagedb.Call{
			RequestID: uuid.Must(uuid.NewV7()), StartedAt: now.Add(-time.Minute), Account: b.AccountID, Key: key,
			Service: "rpc", Class: "standard", Outcome: "rate_window",
		}
	}
	if err := b.Store.CopyCalls(b.Ctx, []usagedb.Call{call(b.KeyID), call(b.AgentKey)}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		caller                          *operation.Caller
		scope                           string
		requests, failures, timed, keys int64
		recent                          int
	}{
		"a user":               {b.Ann, "account", 50, 7, 43, 2, 2},
		"a key of the account": {b.Key, "account", 50, 7, 43, 2, 2},
		"the agent":            {b.Agent, "agent", 5, 2, 3, 1, 1},
		"another account":      {b.Eve, "account", 0, 0, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			report := servicetest.Must[usage.UsageReport](t)(b.UsageReport.Invoke(b.Ctx, c.caller,
				usage.UsageReportInput{Hours: 48}))
			volume := servicetest.Must[usage.UsageVolume](t)(b.UsageVolume.Invoke(b.Ctx, c.caller,
				usage.UsageVolumeInput{Window: "7d"}))
			failed, slow, cached, spent := servicetest.Stats(t, b, c.caller, "errors", "7d"),
				servicetest.Stats(t, b, c.caller, "latency", "7d"),
				servicetest.Stats(t, b, c.caller, "cache", "7d"), servicetest.Stats(t, b, c.caller, "spend", "7d")
			var charted int64
			for _, bucket := range volume.Buckets {
				charted += bucket.Requests
			}
			in := expect.In(t, "%s", name)
			expect.Equal(in, string(report.Scope), c.scope)
			expect.Equal(in, report.TotalRequests, c.requests)
			expect.Equal(in, int64(len(report.ByKey)), c.keys)
			expect.Equal(in, charted, c.requests)
			expect.Equal(in, failed.Summary.Errors.Failures, c.failures)
			expect.Len(in, failed.Summary.Errors.Recent, c.recent)
			expect.Equal(in, slow.Summary.Latency.Calls, c.timed)
			expect.Equal(in, cached.Summary.Cache.Misses, c.timed)
			// The account is younger than an hour, so the pace is that of an hour. The agent's key
			// has no cap.
			spend := spent.Summary.Spend
			in = expect.In(t, "%s is told of a spend", name)
			if name == "the agent" {
				expect.Equal(in, spend.Pace, 3*24*plan.Unit)
				expect.Equal(in, spend.Used, 0)
				expect.Nil(in, spend.Limit)
				expect.Equal(in, spend.Risk, usage.LowRisk)
				expect.Equal(in, spend.Then, "nothing")
			}
			if name == "a user" {
				expect.Equal(in, spend.Pace, 43*24*plan.Unit)
				expect.Equal(in, spend.Used, 43*plan.Unit)
				expect.Equal(in, *spend.Limit, 1_000_000*plan.Unit)
				expect.Equal(in, spend.Then, "refused")
			}
			if name == "the agent" &&
				strings.Contains(servicetest.TextOf(t, []any{report, volume, failed, slow, cached, spent}),
					b.KeyID.String()) {
				t.Errorf("the agent is shown the other key")
			}
		})
	}
	b.Refuses(t, b.UsageReport, servicetest.Browser(""), nil, fault.KeyInvalid)
	b.Refuses(t, b.UsageStats, b.Key, nil, fault.FieldRefused)
}

func TestUsageReport_EndedAllowanceIsAHighRisk(t *testing.T) {
	t.Parallel()
	b := servicetest.OpenUsageEnv(t)
	b.Use(t, b.AccountID, b.KeyID, "", 1_000_000)
	s := servicetest.Stats(t, b, b.Key, "spend", "24h")
	spend, last := s.Summary.Spend, s.Series[0].Values[23]
	expect.Equal(t, spend.Risk, usage.HighRisk)
	require.NotNil(t, spend.ExhaustsAt)
	expect.False(t, spend.ExhaustsAt.After(time.Now().Add(time.Minute)))
	expect.Equal(t, spend.Used, *spend.Limit)
	expect.Equal(t, spend.Pace, 24_000_000*plan.Unit)
	expect.AtLeast(t, spend.Projected, spend.Used)
	expect.Equal(t, s.Series[0].Name, "units")
	expect.Equal(t, servicetest.TextOf(t, last), "1000000")
	// A pack that is drawn next extends it while it lasts.
	pack := accountdb.Pack{
		Pack: account.Pack{
			ID: account.NewPackID(), Units: 1_000_000_000 * plan.Unit, Expires: time.Now().Add(365 * 24 * time.Hour),
		},
		Account: b.AccountID, Kind: "pack_l", Origin: "test", GrantedAt: time.Now(),
	}
	if _, _, err := b.Limits.GrantPack(b.Ctx, pack, accountdb.Author{Actor: "test", Origin: "ops"}); err != nil {
		t.Fatal(err)
	}
	spend = servicetest.Stats(t, b, b.Ann, "spend", "24h").Summary.Spend
	in := expect.In(t, "with a pack")
	expect.NotEqual(in, spend.Risk, usage.HighRisk)
	expect.Nil(in, spend.ExhaustsAt)
	expect.Equal(in, spend.Packs, 1_000_000_000*plan.Unit)
}
