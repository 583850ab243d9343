package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/chainaccess/gateway/fault"
)

// Operations counts the uses of capabilities, by their names. A nil one counts nothing.
type Operations struct {
	done     *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newOperations(r prometheus.Registerer) *Operations {
	o := &Operations{
		done: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gateway_operations_total", Help: "Uses of capabilities, by name and outcome: ok, refused, failed.",
		}, []string{"operation", "outcome"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "gateway_operation_duration_seconds", Help: "How long uses of capabilities took.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"operation"}),
	}
	r.MustRegister(o.done, o.duration)
	return o
}

// Done counts a use of the capability called name, which is of the catalogue; refusal is nil when it succeeded.
func (o *Operations) Done(name string, refusal *fault.Error, took time.Duration) {
	if o == nil {
		return
	}
	outcome := "ok"
	switch {
	case refusal == nil:
	case refusal.HTTP() >= firstServerError:
		outcome = "failed"
	default:
		outcome = "refused"
	}
	o.done.WithLabelValues(name, outcome).Inc()
	o.duration.WithLabelValues(name).Observe(took.Seconds())
}

const firstServerError = 500
