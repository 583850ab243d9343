package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/chainaccess/gateway/plan"
)

// Operations counts the uses of capabilities, by their names. A nil one counts nothing.
type Operations struct {
	done     *prometheus.CounterVec
	units    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newOperations(r prometheus.Registerer) *Operations {
	o := &Operations{
		done: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gateway_operations_total", Help: "Uses of capabilities, by name and outcome: ok, hit, refused, failed, client_gone.",
		}, []string{"operation", "outcome"}),
		units: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gateway_operation_units_total", Help: "Weighted units charged for uses of metered capabilities and not given back.",
		}, []string{"operation"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "gateway_operation_duration_seconds", Help: "How long uses of capabilities took.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"operation"}),
	}
	r.MustRegister(o.done, o.units, o.duration)
	return o
}

// Done counts a use of the capability called name, which is of the catalogue, and what it cost.
func (o *Operations) Done(name string, outcome Outcome, units plan.Units, took time.Duration) {
	if o == nil {
		return
	}
	o.done.WithLabelValues(name, outcome.String()).Inc()
	o.units.WithLabelValues(name).Add(float64(units) / float64(plan.Unit))
	o.duration.WithLabelValues(name).Observe(took.Seconds())
}
