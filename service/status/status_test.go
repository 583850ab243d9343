package status_test

import (
	"slices"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
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
	if len(s.Chains) != 3 || !s.Recorded || s.State != chain.Down || len(s.Incidents) != 0 {
		t.Fatalf("the status is %+v", s)
	}
	eth, base, polygon := s.Chains[0], s.Chains[1], s.Chains[2]
	if eth.State != chain.Degraded || eth.Why != "calls_lost" || !eth.MeasuredAt.Equal(now) || *eth.Head != 1000 ||
		*eth.ProbeMS != 30 || eth.Usable != 2 {
		t.Errorf("Ethereum, by the record: %+v", eth)
	}
	if base.State != chain.Degraded || base.Why != "one_upstream_left" || polygon.State != chain.Down ||
		polygon.Why != "no_upstream" || polygon.ProbeMS != nil || polygon.Uptime != nil {
		t.Errorf("by what this process sees: %+v, %+v", base, polygon)
	}
	if h := eth.LastHour; h.Calls != 200 || h.Rerouted != 7 || h.Lost != 3 || *h.Errors != 1.5 || *h.P50 < 15 ||
		*h.P50 > 25 || *h.P95 < 700 || *h.P95 > 1100 || eth.LastDay.Calls != 200 {
		t.Errorf("its calls: %+v", h)
	}
	if len(eth.Days) != status.StatusDays || eth.Days[status.StatusDays-1].Day != now.Format(time.DateOnly) {
		t.Fatalf("%d days, the last %+v", len(eth.Days), eth.Days[len(eth.Days)-1])
	}
	if d := eth.Days[status.StatusDays-2]; d.State != chain.Down || d.Up != 600 || d.Down != 360 || d.Degraded != 0 ||
		d.Unknown != 86_400-960 || *d.Uptime != 62.5 {
		t.Errorf("yesterday is %+v", d)
	}
	if d := eth.Days[0]; d.State != chain.Unknown || d.Unknown != 86_400 || d.Uptime != nil {
		t.Errorf("a day without data is %+v", d)
	}
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
	if s.Recorded || s.State != chain.Up || len(s.Chains) != 1 || s.Chains[0].State != chain.Up ||
		len(s.Chains[0].Days) != status.StatusDays || s.Chains[0].Uptime != nil {
		t.Errorf("the status is %+v", s)
	}
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
