package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/chainaccess/gateway/metering/netlimit"
)

var (
	networkLimit = describe("gateway_network_limit",
		"What strangers may do of an action, by level: address, area, whole; 0 for no bound.", "action", "level")
	networkUsed = describe("gateway_network_limit_used_ratio",
		"How much of an action's bound of all networks is used up, as far as this process knows: 0 to 1.", "action")
	networkRefusals = describe("gateway_network_limit_refusals_total",
		"Actions of strangers that were refused, by the level whose bound was reached.", "action", "level")
)

// networks collects the limits of networks at a scrape.
type networks struct{ of *netlimit.Limits }

var _ prometheus.Collector = networks{}

// WatchNetworks registers the metrics of the limits of networks.
func (m *Metrics) WatchNetworks(l *netlimit.Limits) { m.Registry.MustRegister(networks{l}) }

// Describe lists the families.
func (networks) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{networkLimit, networkUsed, networkRefusals} {
		ch <- d
	}
}

// Collect reads the limits.
func (n networks) Collect(ch chan<- prometheus.Metric) {
	for _, action := range netlimit.Actions() {
		ch <- prometheus.MustNewConstMetric(networkUsed, prometheus.GaugeValue, n.of.Share(action), string(action))
		for _, level := range netlimit.Levels() {
			ch <- prometheus.MustNewConstMetric(networkLimit, prometheus.GaugeValue,
				float64(n.of.Figure(action, level)), string(action), string(level))
			ch <- prometheus.MustNewConstMetric(networkRefusals, prometheus.CounterValue,
				float64(n.of.Refusals(action, level)), string(action), string(level))
		}
	}
}
