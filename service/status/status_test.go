package status_test

import (
	"slices"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/advice"
	"github.com/chainaccess/gateway/service/internal/servicetest"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/status"
	"github.com/chainaccess/gateway/store/chaindb"
)

func TestStatus_ReportsNowAndTheDays(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC().Truncate(time.Second)
	o := servicetest.Advisers(t, servicetest.Measured(t, now, map[chain.ID][]servicetest.Seen{
		chain.EthMainnet: {
			{Supply: plan.Public, Latency: 30 * time.Millisecond},
			{Supply: plan.Public, Latency: 40 * time.Millisecond},
		},
		chain.BaseMainnet: {
			{Supply: plan.Public, Latency: 10 * time.Millisecond},
			{Supply: plan.Public, Latency: time.Millisecond, Reason: "lagging"},
		},
		chain.PolygonPoS: {{Supply: plan.Public, Latency: time.Millisecond, Reason: "unreachable"}},
	}))
	// Yesterday Ethereum was down for six of sixteen minutes, and unmeasured in the hours after.
	before := now.Truncate(24 * time.Hour).Add(-12 * time.Hour)
	o.Stood(t, chain.EthMainnet, chain.Up, before, 9*time.Minute)
	o.Stood(t, chain.EthMainnet, chain.Down, before.Add(10*time.Minute), 5*time.Minute)
	o.Stood(t, chain.EthMainnet, chain.Up, before.Add(16*time.Minute), 0)
	calls := chaindb.ChainCalls{
		Slot: now.Add(-10 * time.Minute).Truncate(chaindb.ChainSlot), ChainTraffic: chaindb.ChainTraffic{
			Calls: 200, Rerouted: 7, Lost: 3, Attempts: 212, Failed: 12,
		},
	}
	calls.Latency[account.LatencyBucketOf(20*time.Millisecond)],
		calls.Latency[account.LatencyBucketOf(900*time.Millisecond)] = 180, 20
	report := &chaindb.ChainReport{
		Chain: chain.EthMainnet, State: chain.Degraded, Why: "calls_lost", MeasuredAt: now,
		Calls: []chaindb.ChainCalls{calls},
	}
	if err := o.Store.RecordChain(o.Ctx, report, 2*time.Minute); err != nil {
		t.Fatal(err)
	}
	s := servicetest.Must[status.Status](t)(o.GetStatus.Invoke(o.Ctx, servicetest.Neighbour(0), operation.Nothing{}))
	require.Len(t, s.Chains, 3)
	require.True(t, s.Recorded)
	require.Equal(t, s.State, chain.Down)
	require.Empty(t, s.Incidents)
	eth, base, polygon := s.Chains[0], s.Chains[1], s.Chains[2]
	in := expect.In(t, "Ethereum, by the record")
	expect.Equal(in, eth.State, chain.Degraded)
	expect.Equal(in, eth.Why, "calls_lost")
	expect.True(in, eth.MeasuredAt.Equal(now), now)
	expect.Equal(in, *eth.Head, 1000)
	expect.Equal(in, *eth.ProbeMS, 30)
	expect.Equal(in, eth.Usable, 2)
	in = expect.In(t, "by what this process")
	expect.Equal(in, base.State, chain.Degraded)
	expect.Equal(in, base.Why, "one_upstream_left")
	expect.Equal(in, polygon.State, chain.Down)
	expect.Equal(in, polygon.Why, "no_upstream")
	expect.Nil(in, polygon.ProbeMS)
	expect.Nil(in, polygon.Uptime)
	h := eth.LastHour
	in = expect.In(t, "its calls")
	expect.Equal(in, h.Calls, 200)
	expect.Equal(in, h.Rerouted, 7)
	expect.Equal(in, h.Lost, 3)
	expect.Equal(in, *h.Errors, 1.5)
	expect.Between(in, *h.P50, 15, 25)
	expect.Between(in, *h.P95, 700, 1100)
	expect.Equal(in, eth.LastDay.Calls, 200)
	if len(eth.Days) != status.StatusDays || eth.Days[status.StatusDays-1].Day != now.Format(time.DateOnly) {
		t.Fatalf("%d days, the last %+v", len(eth.Days), eth.Days[len(eth.Days)-1])
	}
	d := eth.Days[status.StatusDays-2]
	expect.Equal(t, d.State, chain.Down)
	expect.Equal(t, d.Up, 600)
	expect.Equal(t, d.Down, 360)
	expect.Equal(t, d.Degraded, 0)
	expect.Equal(t, d.Unknown, 86_400-960)
	expect.Equal(t, *d.Uptime, 62.5)
	d = eth.Days[0]
	in = expect.In(t, "a day without data")
	expect.Equal(in, d.State, chain.Unknown)
	expect.Equal(in, d.Unknown, 86_400)
	expect.Nil(in, d.Uptime)
	if *eth.Uptime != 62.5 {
		t.Errorf("uptime %v", *eth.Uptime)
	}
	// A chain that was down last month ranks below one that was not.
	r := servicetest.Must[advice.RecommendedChain](t)(o.RecommendChain.Invoke(o.Ctx, servicetest.Neighbour(1),
		advice.RecommendChainInput{Prefer: "uptime"}))
	if i := slices.IndexFunc(r.Ranked, func(c advice.RankedChain) bool {
		return c.Chain == chain.EthMainnet
	}); i < 0 || *r.Ranked[i].UptimePercent != 62.5 {
		t.Errorf("recommended: %+v", r)
	}
}

func TestStatus_WithoutPostgreSQLReportsWhatThisProcessSees(t *testing.T) {
	t.Parallel()
	o := servicetest.Advisers(t, servicetest.Measured(t, time.Now(), map[chain.ID][]servicetest.Seen{
		chain.EthMainnet: {{Supply: plan.Public, Latency: 30 * time.Millisecond}},
	}))
	o.Store.Close()
	s := servicetest.Must[status.Status](t)(o.GetStatus.Invoke(o.Ctx, servicetest.Neighbour(0), operation.Nothing{}))
	expect.False(t, s.Recorded)
	expect.Equal(t, s.State, chain.Up)
	require.Len(t, s.Chains, 1)
	expect.Equal(t, s.Chains[0].State, chain.Up)
	expect.Len(t, s.Chains[0].Days, status.StatusDays)
	expect.Nil(t, s.Chains[0].Uptime)
}

func TestStatus_IsLimitedToSixtyReadsAMinuteByNetwork(t *testing.T) {
	t.Parallel()
	o := servicetest.Advisers(t, servicetest.Measured(t, time.Now(), map[chain.ID][]servicetest.Seen{
		chain.EthMainnet: {{Supply: plan.Public, Latency: time.Millisecond}},
	}))
	for range 200 {
		if _, refusal := o.GetStatus.Invoke(o.Ctx, servicetest.Neighbour(0), operation.Nothing{}); refusal != nil {
			if refusal.Reason != fault.RateWindow {
				t.Fatal(refusal)
			}
			return
		}
	}
	t.Error("nothing bounds it")
}
