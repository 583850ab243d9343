package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ChainState is the state of a chain at a scrape.
type ChainState struct {
	Chain      string
	Head       uint64    // by consensus of the upstreams; zero when unknown
	MeasuredAt time.Time // of the newest probes; zero before the first
	Upstreams  []UpstreamState
}

// UpstreamState is the state of an upstream at a scrape.
type UpstreamState struct {
	Name     string
	Usable   bool          // by the probes
	Cordoned bool          // by an operator
	Excluded bool          // by its circuit breaker
	Head     uint64        // zero when unknown
	Lag      uint64        // blocks behind the chain's head
	LagTime  time.Duration // the same, by the chain's usual block time
	Rate     float64       // in force, calls a second of all processes; zero for none
	Budget   int64         // the provider's units a month; zero for none
	Spent    int64         // of it, by all processes
	// RateAlone reports that Redis is away, so that the process keeps to its last part of the rate.
	RateAlone bool
}

// Watch registers a function that is called at each scrape. It is called from any goroutine and
// must not block.
func (u *Upstreams) Watch(states func() []ChainState) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.states = states
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	chainHead = describe("gateway_chain_head_block",
		"The chain's head as this process knows it: a block number, or a slot on Solana.", "chain")
	chainTime = describe("gateway_chain_probed_timestamp_seconds",
		"When the newest probes that this process knows of were made.", "chain")
	upUsable = describe("gateway_upstream_usable", "Whether probes let calls through to the upstream.", "chain",
		"upstream")
	upOut = describe("gateway_upstream_excluded",
		"Whether this process leaves the upstream out for what its calls came to.", "chain", "upstream")
	upCordon = describe("gateway_upstream_cordoned", "Whether an operator took the upstream out of rotation.", "chain",
		"upstream")
	upHead = describe("gateway_upstream_head_block", "The upstream's own head, as the probes found it.", "chain",
		"upstream")
	upLag = describe("gateway_upstream_head_lag_blocks", "How many blocks the upstream is behind the chain's head.",
		"chain", "upstream")
	upLagTime = describe("gateway_upstream_head_lag_seconds", "The same in seconds, by the chain's usual block time.",
		"chain", "upstream")
	upRate = describe("gateway_upstream_rate_limit_per_second",
		"Calls a second that all processes together may start: what the operator set, or less after refusals.", "chain",
		"upstream")
	upBudget = describe("gateway_upstream_budget_units",
		"What the upstream may cost a month, in its provider's units.", "chain", "upstream")
	upSpent = describe("gateway_upstream_budget_spent_units",
		"What all processes spent of the upstream's budget since the month of the budget began.", "chain", "upstream")
	upAlone = describe("gateway_upstream_rate_unshared",
		"Whether this process keeps to its last part of the upstream's rate, because Redis is away.", "chain",
		"upstream")
)

// stateCollector reads the states at each scrape, so that the series of an upstream that is no
// longer configured end.
type stateCollector struct{ of *Upstreams }

var _ prometheus.Collector = (*stateCollector)(nil)

// Describe lists the families.
func (*stateCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		chainHead, chainTime, upUsable, upOut, upCordon, upRate, upAlone, upBudget, upSpent, upHead, upLag, upLagTime,
	} {
		ch <- d
	}
}

// Collect reads the states.
func (s *stateCollector) Collect(ch chan<- prometheus.Metric) {
	s.of.mu.RLock()
	states := s.of.states
	s.of.mu.RUnlock()
	if states == nil {
		return
	}
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for _, c := range states() {
		if c.Head > 0 {
			gauge(chainHead, float64(c.Head), c.Chain)
		}
		if !c.MeasuredAt.IsZero() {
			gauge(chainTime, float64(c.MeasuredAt.UnixMilli())/1000, c.Chain)
		}
		for _, u := range c.Upstreams {
			gauge(upUsable, truth(u.Usable), c.Chain, u.Name)
			gauge(upOut, truth(u.Excluded), c.Chain, u.Name)
			gauge(upCordon, truth(u.Cordoned), c.Chain, u.Name)
			if u.Rate > 0 {
				gauge(upRate, u.Rate, c.Chain, u.Name)
			}
			if u.Budget > 0 {
				gauge(upBudget, float64(u.Budget), c.Chain, u.Name)
				gauge(upSpent, float64(u.Spent), c.Chain, u.Name)
			}
			gauge(upAlone, truth(u.RateAlone), c.Chain, u.Name)
			if u.Head > 0 {
				gauge(upHead, float64(u.Head), c.Chain, u.Name)
				gauge(upLag, float64(u.Lag), c.Chain, u.Name)
				gauge(upLagTime, u.LagTime.Seconds(), c.Chain, u.Name)
			}
		}
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
