package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/chainaccess/gateway/relay/price"
)

var (
	costDollars = describe("gateway_upstream_cost_dollars_total",
		"What requests cost at providers by the price tables of the upstreams file, in US dollars.", "chain",
		"upstream", "method")
	costUnits = describe("gateway_upstream_provider_units_total",
		"Requests to upstreams in the units that their providers count: compute units, credits.", "chain", "upstream",
		"method")
)

// costCollector reads the ledger at each scrape. Its series are of methods of the catalog and of
// upstreams that have a price.
type costCollector struct{ ledger *price.Ledger }

var _ prometheus.Collector = (*costCollector)(nil)

// WatchCosts registers the metrics of what this process spends at providers.
func (m *Metrics) WatchCosts(ledger *price.Ledger) { m.Registry.MustRegister(&costCollector{ledger}) }

// Describe lists the families.
func (*costCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- costDollars
	ch <- costUnits
}

// Collect reads the sums.
func (c *costCollector) Collect(ch chan<- prometheus.Metric) {
	for _, s := range c.ledger.Totals() {
		ch <- prometheus.MustNewConstMetric(costDollars, prometheus.CounterValue, s.Nanos.Dollars(), s.Chain,
			s.Upstream, s.Method)
		ch <- prometheus.MustNewConstMetric(costUnits, prometheus.CounterValue, float64(s.Units), s.Chain, s.Upstream,
			s.Method)
	}
}
