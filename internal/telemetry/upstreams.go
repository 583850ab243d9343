package telemetry

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Upstreams counts requests to upstreams. A nil *Upstreams counts nothing.
type Upstreams struct {
	attempts   *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	broken     *prometheus.CounterVec
	hedges     *prometheus.CounterVec
	exclusions *prometheus.CounterVec
	limits     *prometheus.CounterVec
	strays     *prometheus.CounterVec
	compared   *prometheus.CounterVec

	mu     sync.RWMutex // guards states
	states func() []ChainState
}

func newUpstreams(registry prometheus.Registerer) *Upstreams {
	u := &Upstreams{
		attempts: counters("gateway_upstream_attempts_total",
			"Requests sent to an upstream for calls, by what came of them. "+
				"Those whose client went away meanwhile are left out.", "chain", "upstream", "outcome"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "gateway_upstream_attempt_duration_seconds", Buckets: durationBuckets,
			Help: "Time from asking an upstream to its answer, or to the beginning of a streamed one, by whether " +
				"there was one.",
		}, []string{"chain", "upstream", "result"}),
		broken: counters("gateway_upstream_broken_streams_total", "Streamed answers that an upstream broke off.",
			"chain", "upstream"),
		hedges: counters("gateway_upstream_hedges_total",
			"Second requests for a slow read, by whose answer was used.", "chain", "upstream", "result"),
		exclusions: counters("gateway_upstream_exclusions_total",
			"Times that an upstream was left out for what its calls came to.", "chain", "upstream"),
		limits: counters("gateway_upstream_limits_reached_total",
			"Times that an upstream was passed over for a limit that the operator set.", "chain", "upstream", "limit"),
		strays: counters("gateway_upstream_stray_answers_total",
			"What an upstream sent that answers no call of its connection: answers under another "+
				"call's id, and bytes before anything was asked. None of it is passed on.", "chain", "upstream",
			"kind"),
		compared: counters("gateway_upstream_compared_results_total",
			"Results of an upstream to verified reads, by whether they agreed with those of most upstreams.",
			"chain", "upstream", "result"),
	}
	registry.MustRegister(u.attempts, u.duration, u.broken, u.hedges, u.exclusions, u.limits, u.strays, u.compared,
		&stateCollector{of: u})
	return u
}

// UpstreamLimit is a limit that the operator set for an upstream.
type UpstreamLimit uint8

// The limits of upstreams.
const (
	ConcurrencyLimit UpstreamLimit = iota
	RateLimit
	BudgetLimit
	limits
)

var limitNames = [limits]string{ConcurrencyLimit: "concurrency", RateLimit: "rate", BudgetLimit: "budget"}

// StrayKind is how an answer that belongs to no call was noticed.
type StrayKind uint8

// The kinds of stray answers.
const (
	AnotherID StrayKind = iota // it was read as an answer to a call, but has another call's id
	Unasked                    // it was on the connection before anything was asked
	strayKinds
)

var strayNames = [strayKinds]string{AnotherID: "another_id", Unasked: "unasked"}

// Upstream counts for one upstream of one chain; its series are resolved once. A nil *Upstream
// counts nothing.
type Upstream struct {
	attempts         []prometheus.Counter
	answered, failed prometheus.Observer
	broken           prometheus.Counter
	won, lost        prometheus.Counter
	exclusions       prometheus.Counter
	limits           [limits]prometheus.Counter
	strays           [strayKinds]prometheus.Counter
	agreed, differed prometheus.Counter
}

// Upstream creates the series of an upstream. outcomes are the words for results of attempts;
// Attempt takes an index into the list.
func (u *Upstreams) Upstream(chain, name string, outcomes []string) *Upstream {
	if u == nil {
		return nil
	}
	e := &Upstream{
		answered:   u.duration.WithLabelValues(chain, name, "answered"),
		failed:     u.duration.WithLabelValues(chain, name, "failed"),
		broken:     u.broken.WithLabelValues(chain, name),
		won:        u.hedges.WithLabelValues(chain, name, "used"),
		lost:       u.hedges.WithLabelValues(chain, name, "unused"),
		exclusions: u.exclusions.WithLabelValues(chain, name),
		agreed:     u.compared.WithLabelValues(chain, name, "agreed"),
		differed:   u.compared.WithLabelValues(chain, name, "disagreed"),
	}
	for _, outcome := range outcomes {
		e.attempts = append(e.attempts, u.attempts.WithLabelValues(chain, name, outcome))
	}
	for limit, limitName := range limitNames {
		e.limits[limit] = u.limits.WithLabelValues(chain, name, limitName)
	}
	for kind, kindName := range strayNames {
		e.strays[kind] = u.strays.WithLabelValues(chain, name, kindName)
	}
	return e
}

// Remove ends the series of an upstream that is no longer configured. Later counts for it are not
// exported.
func (u *Upstreams) Remove(chain, name string) {
	if u == nil {
		return
	}
	labels := prometheus.Labels{"chain": chain, "upstream": name}
	for _, v := range []interface{ DeletePartialMatch(prometheus.Labels) int }{
		u.attempts, u.duration, u.broken, u.hedges, u.exclusions, u.limits, u.strays, u.compared,
	} {
		v.DeletePartialMatch(labels)
	}
}

// Attempt counts a request to the upstream. outcome is the index of its result in the list;
// answered reports whether the upstream answered. It does not allocate.
func (e *Upstream) Attempt(outcome int, answered bool, took time.Duration) {
	if e == nil {
		return
	}
	e.attempts[outcome].Inc()
	if answered {
		e.answered.Observe(took.Seconds())
	} else {
		e.failed.Observe(took.Seconds())
	}
}

// BrokeOff counts a streamed answer that the upstream did not complete.
func (e *Upstream) BrokeOff() {
	if e != nil {
		e.broken.Inc()
	}
}

// Hedged counts a hedge request to this upstream, and whether its answer was used.
func (e *Upstream) Hedged(used bool) {
	switch {
	case e == nil:
	case used:
		e.won.Inc()
	default:
		e.lost.Inc()
	}
}

// Excluded counts that the upstream's circuit breaker opened.
func (e *Upstream) Excluded() {
	if e != nil {
		e.exclusions.Inc()
	}
}

// Compared counts a result of a verified read, and whether it agreed with those of most upstreams.
func (e *Upstream) Compared(agreed bool) {
	switch {
	case e == nil:
	case agreed:
		e.agreed.Inc()
	default:
		e.differed.Inc()
	}
}

// Limited counts that the upstream was skipped because of a limit.
func (e *Upstream) Limited(l UpstreamLimit) {
	if e != nil {
		e.limits[l].Inc()
	}
}

// Stray counts an answer of the upstream that belongs to no call of its connection.
func (e *Upstream) Stray(k StrayKind) {
	if e != nil {
		e.strays[k].Inc()
	}
}
