package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Pipelines measures round trips to the meter. A nil *Pipelines measures nothing.
type Pipelines struct {
	now      func() time.Time
	duration prometheus.Histogram
	size     prometheus.Histogram
	errors   prometheus.Counter
}

func newPipelines(registry prometheus.Registerer, now func() time.Time) *Pipelines {
	p := &Pipelines{
		now: now,
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "gateway_meter_round_trip_duration_seconds", Buckets: durationBuckets,
			Help: "Time of round trips to the meter; admissions that are under way together share one.",
		}),
		size: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "gateway_meter_pipeline_commands", Buckets: prometheus.ExponentialBuckets(1, 2, 9),
			Help: "Commands in a round trip to the meter.",
		}),
		errors: counter("gateway_meter_errors_total",
			"Round trips to the meter that failed or were answered too late."),
	}
	registry.MustRegister(p.duration, p.size, p.errors)
	return p
}

// Begin is called before a round trip and returns its start for End.
func (p *Pipelines) Begin() time.Time {
	if p == nil {
		return time.Time{}
	}
	return p.now()
}

// End measures a round trip that started at begun. failed reports whether the connection failed; an
// error that a script returns is not a failure.
func (p *Pipelines) End(begun time.Time, commands int, failed bool) {
	if p == nil {
		return
	}
	p.duration.Observe(p.now().Sub(begun).Seconds())
	p.size.Observe(float64(commands))
	if failed {
		p.errors.Inc()
	}
}
