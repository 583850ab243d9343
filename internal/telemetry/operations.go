package telemetry

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/chainaccess/gateway/metering/plan"
)

// Operations counts the uses of operations by name. A nil *Operations counts nothing.
type Operations struct {
	done     *prometheus.CounterVec
	units    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newOperations(r prometheus.Registerer) *Operations {
	o := &Operations{
		done: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gateway_operations_total",
			Help: "Uses of capabilities, by name and outcome: ok, hit, refused, failed, client_gone.",
		}, []string{"operation", "outcome"}),
		units: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gateway_operation_units_total",
			Help: "Weighted units charged for uses of metered capabilities and not given back.",
		}, []string{"operation"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "gateway_operation_duration_seconds", Help: "How long uses of capabilities took.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"operation"}),
	}
	r.MustRegister(o.done, o.units, o.duration)
	return o
}

// Operation counts the uses of one operation. Each series is resolved once, at its first use. A nil
// *Operation counts nothing.
type Operation struct {
	done  [outcomes]func() prometheus.Counter
	costs func() (units prometheus.Counter, duration prometheus.Observer)
}

// Of returns the counter of an operation of the registry.
func (o *Operations) Of(name string) *Operation {
	if o == nil {
		return nil
	}
	of := &Operation{costs: sync.OnceValues(func() (prometheus.Counter, prometheus.Observer) {
		return o.units.WithLabelValues(name), o.duration.WithLabelValues(name)
	})}
	for outcome, word := range outcomeNames {
		of.done[outcome] = sync.OnceValue(func() prometheus.Counter { return o.done.WithLabelValues(name, word) })
	}
	return of
}

// Done counts a use, its units and its duration.
func (o *Operation) Done(outcome Outcome, units plan.Units, took time.Duration) {
	if o == nil {
		return
	}
	o.done[outcome]().Inc()
	charged, duration := o.costs()
	charged.Add(float64(units) / float64(plan.Unit))
	duration.Observe(took.Seconds())
}
