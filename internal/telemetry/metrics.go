package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/chainaccess/gateway/relay/chain"
)

// Metrics are the metrics of a process, with their own registry. Their labels are few and bounded:
// chains, classes, outcomes and reasons are constants of the program, and names of upstreams come
// from the operator's file. Nothing that a client sends becomes a label.
type Metrics struct {
	Registry *prometheus.Registry

	Calls      *Calls
	Operations *Operations
	Upstreams  *Upstreams
	Pipelines  *Pipelines

	CallRecordsWritten prometheus.Counter
	CallRecordsDropped prometheus.Counter
	UsageFlushed       prometheus.Counter
	UsageFlushErrors   prometheus.Counter
}

// NewMetrics returns the metrics that both roles export. The chains are the values of the label
// chain; nil stands for the built-in ones.
func NewMetrics(chains *chain.Set) *Metrics {
	m := &Metrics{
		Registry:           prometheus.NewRegistry(),
		CallRecordsWritten: counter("gateway_call_records_written_total", "Call records written to PostgreSQL."),
		CallRecordsDropped: counter("gateway_call_records_dropped_total",
			"Call records lost because their buffer was full or PostgreSQL refused them."),
		UsageFlushed: counter("gateway_usage_buckets_flushed_total",
			"Usage buckets moved from the meter to PostgreSQL."),
		UsageFlushErrors: counter("gateway_usage_flush_errors_total",
			"Passes of the usage flusher that failed and are tried again."),
	}
	m.Registry.MustRegister(
		m.CallRecordsWritten, m.CallRecordsDropped, m.UsageFlushed, m.UsageFlushErrors,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
	)
	m.Calls = newCalls(m.Registry, chains)
	m.Operations = newOperations(m.Registry)
	m.Upstreams = newUpstreams(m.Registry)
	m.Pipelines = newPipelines(m.Registry, time.Now)
	return m
}

// Gauge registers a gauge that is read at each scrape. read is called from any goroutine and must
// not block.
func (m *Metrics) Gauge(name, help string, read func() float64) {
	m.Registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, read))
}

// Counter registers a counter that is kept elsewhere and read at each scrape. read is called from
// any goroutine and must not block.
func (m *Metrics) Counter(name, help string, read func() float64) {
	m.Registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, read))
}

// Outcomes registers a counter with one label, whose values are the given words, and returns a
// function that adds to it. Each word has its series from the start, so that its first event shows
// as an increase. Other words are ignored.
func (m *Metrics) Outcomes(name, help, label string, words ...string) func(word string, n int) {
	all := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	m.Registry.MustRegister(all)
	of := make(map[string]prometheus.Counter, len(words))
	for _, word := range words {
		of[word] = all.WithLabelValues(word)
	}
	return func(word string, n int) {
		if c := of[word]; c != nil && n > 0 {
			c.Add(float64(n))
		}
	}
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}
