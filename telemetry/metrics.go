package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics are the counters of a process. Their labels are few and fixed.
type Metrics struct {
	Registry *prometheus.Registry

	CallRecordsWritten prometheus.Counter
	CallRecordsDropped prometheus.Counter
	UsageFlushed       prometheus.Counter
	UsageFlushErrors   prometheus.Counter
}

// NewMetrics makes the counters in a registry of their own.
func NewMetrics() *Metrics {
	m := &Metrics{
		Registry:           prometheus.NewRegistry(),
		CallRecordsWritten: counter("gateway_call_records_written_total", "Call records written to PostgreSQL."),
		CallRecordsDropped: counter("gateway_call_records_dropped_total", "Call records lost because their buffer was full or PostgreSQL refused them."),
		UsageFlushed:       counter("gateway_usage_buckets_flushed_total", "Usage buckets moved from the meter to PostgreSQL."),
		UsageFlushErrors:   counter("gateway_usage_flush_errors_total", "Passes of the usage flusher that failed and are tried again."),
	}
	m.Registry.MustRegister(
		m.CallRecordsWritten, m.CallRecordsDropped, m.UsageFlushed, m.UsageFlushErrors,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}
