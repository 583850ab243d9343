package telemetry

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Family is a metric family of the backlog.
type Family struct{ desc *prometheus.Desc }

func family(name, help string, labels ...string) *Family {
	return &Family{describe(name, help, labels...)}
}

// The families of the backlog: work that waits in PostgreSQL. Every worker exports the same values,
// so queries take the maximum.
var (
	SettlementsRecent = family("gateway_settlements_last_day",
		"Payments per call that changed within a day, by the stage at which they stand; counted up to 10,000.", "stage")
	SettlementsStuck = family("gateway_settlements_stuck",
		"Payments per call that wait because the chain cannot be read.")
	SettlementsStuckOldest = family("gateway_settlements_stuck_oldest_seconds",
		"How long the oldest of them has waited; 0 when none does.")
	SettlementsUnconfirmed = family("gateway_settlements_unconfirmed",
		"Payments per call whose units were granted and that are not final in time.")
	PaymentsOpen = family("gateway_payments_open",
		"Payments of stock clients of which the chain has not said what became of them.", "state")
	PaymentsOpenOldest = family("gateway_payments_open_oldest_seconds",
		"How long that has been open for the oldest of them; 0 when there is none.", "state")

	SubscriptionsLasting = family("gateway_subscriptions", "Subscriptions that last, by what Stripe says of them.",
		"status")
	SubscriptionsStuck = family("gateway_subscriptions_stuck",
		"Subscriptions whose account was not brought to what Stripe says in time, or that Stripe charges by a price "+
			"of no plan of ours, and those that last beside the one that counts.")
	StripeEventsWaiting = family("gateway_stripe_events_waiting",
		"Webhooks of Stripe that are stored and not handed on.")
	StripeEventsOldest = family("gateway_stripe_events_oldest_wait_seconds",
		"How long the oldest of them has waited; 0 when none does.")
	CheckoutsLate = family("gateway_checkouts_late",
		"Checkouts of which nobody knows long after their end what became of them.")
	StatementsLate = family("gateway_statements_late",
		"Periods with usage that should have been closed and are not.")

	TicketsWaiting = family("gateway_tickets_waiting",
		"Tickets that wait for an answer of the service; counted up to 10,000.", "priority")
	TicketsOldest = family("gateway_tickets_oldest_wait_seconds",
		"How long the customer of the oldest of them has waited; 0 when none does.", "priority")
	TicketsLate = family("gateway_tickets_untold",
		"Tickets whose flow has not heard of their newest change in time.")
	ChainStatus = family("gateway_chain_status",
		"1 for the state of the chain on the page of status, 0 for the others.", "chain", "state")
	ChainMeasured = family("gateway_chain_recorded_timestamp_seconds",
		"When the newest measurement of the chain was made that is recorded; 0 for never.", "chain")
	IncidentOpen = family("gateway_incident_open", "Whether the chain has an incident that users are told of.",
		"chain")
	IncidentsUntold = family("gateway_incidents_untold",
		"Incidents of which not everybody who wants to know was told in time.")
	BacklogReadAt = family("gateway_backlog_read_timestamp_seconds",
		"When this worker read last what waits in the record.")
	backlogOfFamilies = []*Family{
		SettlementsRecent, SettlementsStuck, SettlementsStuckOldest, SettlementsUnconfirmed, PaymentsOpen,
		PaymentsOpenOldest, SubscriptionsLasting, SubscriptionsStuck, StripeEventsWaiting, StripeEventsOldest,
		CheckoutsLate, StatementsLate, TicketsWaiting, TicketsOldest, TicketsLate, ChainStatus, ChainMeasured,
		IncidentOpen, IncidentsUntold, BacklogReadAt,
	}
)

// Figure is a value of a family with the values of its labels, which are words of ours or names of
// chains.
type Figure struct {
	Of     *Family
	Value  float64
	Labels []string
}

// Backlog exports the figures that were read last.
type Backlog struct {
	mu      sync.Mutex // guards what follows
	figures []Figure
	readAt  time.Time
}

var _ prometheus.Collector = (*Backlog)(nil)

// WatchBacklog registers the backlog. It exports no figures until Set is called.
func (m *Metrics) WatchBacklog() *Backlog {
	b := &Backlog{}
	m.Registry.MustRegister(b)
	return b
}

// Set replaces the exported figures, which were read at the given time.
func (b *Backlog) Set(figures []Figure, at time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.figures, b.readAt = figures, at
}

// Unknown exports only the time of the last reading until Set is called again, because an old
// figure would look current.
func (b *Backlog) Unknown() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.figures = nil
}

// Describe lists the families.
func (*Backlog) Describe(ch chan<- *prometheus.Desc) {
	for _, f := range backlogOfFamilies {
		ch <- f.desc
	}
}

// Collect sends the figures.
func (b *Backlog) Collect(ch chan<- prometheus.Metric) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.figures {
		f := &b.figures[i]
		ch <- prometheus.MustNewConstMetric(f.Of.desc, prometheus.GaugeValue, f.Value, f.Labels...)
	}
	if !b.readAt.IsZero() {
		ch <- prometheus.MustNewConstMetric(BacklogReadAt.desc, prometheus.GaugeValue,
			float64(b.readAt.UnixMilli())/1000)
	}
}
