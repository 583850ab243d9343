package telemetry

import (
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
)

// Class groups calls in metrics: the classes of the catalog, and submissions as their own class.
type Class uint8

// The classes of calls. NoClass is for everything that is not a call of a served method.
const (
	NoClass Class = iota
	Standard
	Heavy
	Write
	classes
)

var classNames = [classes]string{
	NoClass: "none", Standard: string(chain.Standard), Heavy: string(chain.Heavy), Write: "write",
}

// ClassOf returns the class of a call; weighed is the class by which it was charged.
func ClassOf(m *chain.Method, weighed chain.Class) Class {
	switch {
	case m == nil:
		return NoClass
	case m.Write:
		return Write
	case weighed == chain.Heavy:
		return Heavy
	default:
		return Standard
	}
}

// Outcome is how a call ended. Refusals and failures are also counted by reason.
type Outcome uint8

// The outcomes of calls.
const (
	OK             Outcome = iota // a result of an upstream
	UpstreamError                 // an upstream's own error, which is an answer
	Hit                           // an answer of the cache, or of the service itself
	Refused                       // for a reason on the client's side: key, limits, request
	Failed                        // the service's own failure
	OutcomeUnknown                // a submission that was sent and not answered, -32017
	ClientGone                    // the client disconnected before the answer
	outcomes
)

var outcomeNames = [outcomes]string{
	OK: "ok", UpstreamError: "upstream_error", Hit: "hit", Refused: "refused", Failed: "failed",
	OutcomeUnknown: "outcome_unknown", ClientGone: "client_gone",
}

// String returns the outcome's word in labels, spans and logs.
func (o Outcome) String() string { return outcomeNames[o] }

// OutcomeOf returns the outcome of a call that ended in a fault.
func OutcomeOf(f *fault.Error) Outcome {
	switch {
	case f.Reason == fault.OutcomeUnknown:
		return OutcomeUnknown
	case f.HTTP() >= 500:
		return Failed
	default:
		return Refused
	}
}

// Call describes a finished call for the metrics.
type Call struct {
	Class   Class
	Outcome Outcome
	Tier    plan.Tier
	Reason  fault.Reason // zero when there is none
	Units   plan.Units   // charged and not refunded

	Gate, Route, Upstream, Total time.Duration
	// Asked reports whether an upstream was asked; without it Route and Upstream have no meaning.
	Asked bool
	// Streamed reports whether the answer was too long to be judged as a whole.
	Streamed bool

	RequestBytes, AnswerBytes int64
}

// Calls counts calls. A nil *Calls counts nothing.
type Calls struct {
	refusals []prometheus.Counter // by reason
	refunds  [2]prometheus.Counter
	// byChain never changes; calls that name no chain are under "". A chain's series begin with its
	// first call, or with Expect.
	byChain map[chain.ID]func() *chainCalls
}

// chainCalls holds the metrics of one chain, resolved once: counting a call looks up no labels.
type chainCalls struct {
	requests [classes][outcomes]prometheus.Counter
	units    [classes][tiers]prometheus.Counter
	duration [parts]prometheus.Observer
	streams  prometheus.Counter
	bytesIn  prometheus.Counter
	bytesOut prometheus.Counter
}

const tiers = 3

func tierIndex(t plan.Tier) int {
	switch t {
	case plan.Cheap:
		return 0
	case plan.Fast:
		return 2
	default:
		return 1
	}
}

const (
	partGate = iota
	partRoute
	partUpstream
	partTotal
	parts
)

var partNames = [parts]string{partGate: "gate", partRoute: "route", partUpstream: "upstream", partTotal: "total"}

// durationBuckets are in seconds, from the time of an admission to a call's deadline.
var durationBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

const noChain = "none" // the label value for calls that name no chain of the catalog

// callVectors are the families from which chainCalls are resolved.
type callVectors struct {
	requests, units, streams, bytesIn, bytesOut *prometheus.CounterVec
	duration                                    *prometheus.HistogramVec
}

func newCalls(registry prometheus.Registerer, chains *chain.Set) *Calls {
	v := callVectors{
		requests: counters("gateway_requests_total", "Calls by chain, class and outcome; each item of a batch is one. "+
			"Class write is submissions.", "chain", "class", "outcome"),
		units: counters("gateway_charged_units_total", "Weighted units charged and not given back.", "chain", "class",
			"tier"),
		streams: counters("gateway_streamed_answers_total",
			"Answers that were passed on while they came, being too long to be judged whole.", "chain"),
		bytesIn:  counters("gateway_request_params_bytes_total", "Bytes of the parameters of calls.", "chain"),
		bytesOut: counters("gateway_answer_bytes_total", "Bytes of answers to calls, as they were written.", "chain"),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "gateway_call_duration_seconds", Buckets: durationBuckets,
			Help: "Time of calls by part: gate (weight, cache, admission), route and upstream (of those for which an " +
				"upstream was asked), total.",
		}, []string{"chain", "part"}),
	}
	refusals := counters("gateway_refusals_total", "Calls and requests refused or failed, by reason and code.",
		"reason", "code")
	refunds := counters("gateway_refunds_total",
		"Charges given back for failures of the service's own, and those that could not be.", "result")
	registry.MustRegister(v.requests, v.units, v.streams, v.bytesIn, v.bytesOut, v.duration, refusals, refunds)

	c := &Calls{
		refunds: [2]prometheus.Counter{refunds.WithLabelValues("failed"), refunds.WithLabelValues("given_back")},
		byChain: map[chain.ID]func() *chainCalls{"": sync.OnceValue(func() *chainCalls { return v.of(noChain) })},
	}
	for _, e := range fault.Table() {
		for int(e.Reason) >= len(c.refusals) {
			c.refusals = append(c.refusals, nil)
		}
		c.refusals[e.Reason] = refusals.WithLabelValues(e.Name, strconv.Itoa(e.Code))
	}
	for _, known := range chains.All() {
		c.byChain[known.ID] = sync.OnceValue(func() *chainCalls { return v.of(string(known.ID)) })
	}
	return c
}

// of resolves the metrics of one chain.
func (v *callVectors) of(name string) *chainCalls {
	c := &chainCalls{
		streams: v.streams.WithLabelValues(name), bytesIn: v.bytesIn.WithLabelValues(name),
		bytesOut: v.bytesOut.WithLabelValues(name),
	}
	for class, className := range classNames {
		for outcome, outcomeName := range outcomeNames {
			c.requests[class][outcome] = v.requests.WithLabelValues(name, className, outcomeName)
		}
		for _, tier := range plan.Tiers() {
			c.units[class][tierIndex(tier)] = v.units.WithLabelValues(name, className, string(tier))
		}
	}
	for part, partName := range partNames {
		c.duration[part] = v.duration.WithLabelValues(name, partName)
	}
	return c
}

// Expect creates the series of chains at zero, before their first calls.
func (c *Calls) Expect(ids ...chain.ID) {
	for _, id := range ids {
		c.of(id)
	}
}

func (c *Calls) of(id chain.ID) *chainCalls {
	resolve, ok := c.byChain[id]
	if !ok {
		resolve = c.byChain[""]
	}
	return resolve()
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

// Done counts a finished call. It does not allocate. An id that is not in the catalog counts as
// none.
func (c *Calls) Done(id chain.ID, call *Call) {
	if c == nil {
		return
	}
	of := c.of(id)
	of.requests[call.Class][call.Outcome].Inc()
	if call.Reason != 0 {
		c.Refused(call.Reason)
	}
	if call.Units > 0 {
		of.units[call.Class][tierIndex(call.Tier)].Add(float64(call.Units) / float64(plan.Unit))
	}
	of.duration[partGate].Observe(call.Gate.Seconds())
	if call.Asked {
		of.duration[partRoute].Observe(call.Route.Seconds())
		of.duration[partUpstream].Observe(call.Upstream.Seconds())
	}
	of.duration[partTotal].Observe(call.Total.Seconds())
	if call.Streamed {
		of.streams.Inc()
	}
	of.bytesIn.Add(float64(call.RequestBytes))
	of.bytesOut.Add(float64(call.AnswerBytes))
}

// Refused counts a refused request that never became a call.
func (c *Calls) Refused(r fault.Reason) {
	if c == nil {
		return
	}
	c.refusals[r.Entry().Reason].Inc()
}

// Refunded counts a refund, or one that failed.
func (c *Calls) Refunded(ok bool) {
	switch {
	case c == nil:
	case ok:
		c.refunds[1].Inc()
	default:
		c.refunds[0].Inc()
	}
}
