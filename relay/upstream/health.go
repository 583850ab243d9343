package upstream

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/relay/upstream/internal/latency"
	"github.com/chainaccess/gateway/relay/upstream/internal/rules"
)

// Parameters of the circuit breaker. Below minSamples calls nothing is excluded. An upstream is
// excluded after failuresInARow or above maxErrorRate. It returns after successesToReturn, with a
// probation in which one failure excludes it again, which prevents flapping.
const (
	healthMinutes     = 5
	minSamples        = latency.MinAnswers
	maxErrorRate      = 0.5
	failuresInARow    = 3
	successesToReturn = 3
	probationCalls    = 10
	firstExclusion    = time.Second
	maxExclusion      = time.Minute
	// without a trial read, after which probes alone bring an upstream back
	trialPatience = 10 * time.Second

	publishEvery = 100 * time.Millisecond // of figures; a change of state is published at once
	staleAfter   = 5 * time.Second        // figures without a new call are recomputed, so that old failures expire
)

// Classes of reads, whose latencies are kept apart: a trace takes longer than a balance.
const (
	standardReads = iota
	heavyReads
	readClasses
)

func classOf(heavy bool) int {
	if heavy {
		return heavyReads
	}
	return standardReads
}

// healthMinute is what was observed in one minute.
type healthMinute struct {
	index                    int64
	calls, failed, throttled int64
	// Calls from before a return no longer count for exclusion, but do in the statistics.
	forgivenCalls, forgivenFailed int64
	compared, disagreed           int64 // results of verified reads
	latencies                     [readClasses]latency.Histogram
}

// health is what this process observed of an upstream in the last ten minutes, and whether it is
// excluded, which the last five decide.
//
// An excluded upstream gets no calls until its time is over. Then it is on trial (half-open): one
// read at a time is sent to it, and successful probes count too. It returns after
// successesToReturn, of which the last must be a read, because an upstream may answer probes at its
// edge while all else hangs. A failed trial doubles the exclusion.
type health struct {
	now       func() time.Time
	published atomic.Pointer[healthSnapshot]
	metrics   *telemetry.Upstream
	trial     atomic.Bool  // a trial read is in flight
	tried     atomic.Int64 // when the last trial ended, unix nanoseconds

	mu        sync.Mutex // guards what follows
	minutes   [keptMinutes]healthMinute
	inARow    int // failures since the last success
	out       bool
	since     time.Time
	until     time.Time
	exclusion time.Duration
	successes int // since the exclusion began
	probation int // remaining calls of the probation
}

// healthSnapshot is a reading of health for selection. It is immutable once published.
type healthSnapshot struct {
	at        int64 // unix nanoseconds
	out       bool
	until     int64 // when the trial begins, unix nanoseconds
	calls     int64
	errorRate float64 // 0 below minSamples, like throttled
	throttled float64 // the share of calls that were throttled
	disagreed float64 // the share of compared results that contradicted most upstreams
	lies      bool    // it did so often
	latency   [readClasses]latency.Quantiles
}

var unknownHealth = new(healthSnapshot)

// onTrial reports whether an excluded upstream may get a trial read.
func (s *healthSnapshot) onTrial(now int64) bool { return s.out && now >= s.until }

// observation is the outcome of one attempt.
type observation struct {
	verdict
	took       time.Duration // until the answer, or until the first part of a streamed one
	retryAfter time.Duration // what a throttling upstream asked for; zero if absent
	heavy      bool
	write      bool
	brokeOff   bool // a streamed answer that already counted as good; took is meaningless
	timedOut   bool
	unasked    bool // bytes on an idle connection, which are no attempt
	lost       bool // a submission that was sent and not answered usably
	slow       bool // cancelled early: it would have taken longer than took, and nobody is blamed
}

// observe records the outcome of an attempt. Every read and submission passes here once, except
// those whose client went away.
func (e *Endpoint) observe(o observation) {
	switch {
	case o.brokeOff:
		e.metrics.BrokeOff()
	case o.unasked:
		e.metrics.Stray(telemetry.Unasked)
	default:
		e.metrics.Attempt(o.counted(), o.blame == blameNobody && !o.slow && !o.lost, o.took)
	}
	switch {
	case o.meaning == rules.Throttled:
		e.limits.Refused(o.retryAfter)
	case o.meaning == rules.Billing:
		e.limits.UsedUp()
	case o.meaning == rules.Answer && !o.slow:
		e.limits.Answered()
	}
	e.health.record(o)
}

func (h *health) record(o observation) {
	now := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.minute(now)
	if !o.brokeOff && !o.unasked {
		m.calls++
	}
	wasOut := h.out
	switch {
	case o.slow:
		m.latencies[classOf(o.heavy)].Add(o.took)
	case o.blame == blameNobody:
		if o.meaning == rules.Answer && !o.write {
			m.latencies[classOf(o.heavy)].Add(o.took)
		}
		h.succeeded(now.Add(-o.took))
	default:
		if o.blame == blameThrottle {
			m.throttled++
		} else {
			m.failed++
		}
		h.failed(now, o)
	}
	if s := h.published.Load(); s == nil || wasOut != h.out || now.UnixNano()-s.at >= int64(publishEvery) {
		h.publish(now)
	}
}

// minute returns the current minute's record. The caller holds mu.
func (h *health) minute(now time.Time) *healthMinute {
	index := now.Unix() / 60
	m := &h.minutes[index%keptMinutes]
	if m.index != index {
		*m = healthMinute{index: index}
	}
	return m
}

// succeeded records a good call that started at began. The caller holds mu.
func (h *health) succeeded(began time.Time) {
	h.inARow = 0
	switch {
	case h.out && began.Before(h.since): // it was in flight when the others failed
	case h.out:
		h.successes++
		if h.successes >= successesToReturn {
			h.comeBack()
		}
	case h.probation > 0:
		if h.probation--; h.probation == 0 {
			h.exclusion = 0
		}
	}
}

// failed records a call that counts against the upstream. The caller holds mu.
func (h *health) failed(now time.Time, o observation) {
	h.inARow++
	throttle := o.blame == blameThrottle
	switch {
	case h.out && throttle && o.retryAfter > 0:
		h.until = later(h.until, now.Add(min(o.retryAfter, maxExclusion)))
		h.publish(now)
	case h.out && (now.Before(h.until) || now.Add(-o.took).Before(h.since)): // calls that fail together count once
		h.successes = 0
	case h.out || throttle || h.probation > 0 || h.isBad(now):
		h.exclude(now, o.retryAfter)
	}
}

// isBad reports whether the window's calls justify an exclusion. The caller holds mu.
func (h *health) isBad(now time.Time) bool {
	calls, failed, _ := h.counts(now)
	return calls >= minSamples && (h.inARow >= failuresInARow || float64(failed) > maxErrorRate*float64(calls))
}

// exclude excludes the upstream, for twice as long as the last time. The caller holds mu.
func (h *health) exclude(now time.Time, retryAfter time.Duration) {
	h.exclusion = min(max(firstExclusion, 2*h.exclusion), maxExclusion)
	h.out, h.since, h.successes, h.probation = true, now, 0, 0
	h.until = now.Add(max(h.exclusion, min(retryAfter, maxExclusion)))
	h.metrics.Excluded()
	h.publish(now)
}

// comeBack ends the exclusion. Earlier calls do not count towards the next one. The caller holds
// mu.
func (h *health) comeBack() {
	h.out, h.successes, h.probation = false, 0, probationCalls
	for i := range h.minutes {
		m := &h.minutes[i]
		m.forgivenCalls, m.forgivenFailed = m.forgivenCalls+m.calls, m.forgivenFailed+m.failed+m.throttled
		m.calls, m.failed, m.throttled = 0, 0, 0
	}
}

// probed records the verdict of a probe. A success after the upstream's time is over counts like a
// trial read. It cannot be the last success that is needed, unless no read could be a trial for
// trialPatience. While a trial read is in flight, the probe does not count.
func (h *health) probed(usable bool, at time.Time) {
	now := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.out || !usable || !at.After(h.since) || now.Before(h.until) || h.trial.Load() {
		return
	}
	idle := now.Sub(later(h.until, time.Unix(0, h.tried.Load())))
	if h.successes+1 < successesToReturn || idle >= trialPatience {
		h.succeeded(now)
	}
	h.publish(now)
}

// beginTrial claims the one trial that may be in flight; the caller must call endTrial.
func (h *health) beginTrial() bool { return h.trial.CompareAndSwap(false, true) }

// endTrial ends a trial whose read is over, passOver one without a read.
func (h *health) endTrial() {
	h.tried.Store(h.now().UnixNano())
	h.passOver()
}

func (h *health) passOver() { h.trial.Store(false) }

// counts adds up the last healthMinutes minutes. The caller holds mu.
func (h *health) counts(now time.Time) (calls, failed, throttled int64) {
	index := now.Unix() / 60
	for i := range h.minutes {
		if m := &h.minutes[i]; index-m.index < healthMinutes {
			calls += m.calls
			failed += m.failed
			throttled += m.throttled
		}
	}
	return max(calls, failed+throttled), failed, throttled // a stream may outlive the minute in which it began
}

// An upstream is distrusted after so many results that contradicted most others, if they are more
// than so large a share: two honest nodes may be on different forks for a moment.
const (
	liesToDistrust  = 3
	maxDisagreement = 0.1
)

// compared records whether a result of a verified read agreed with most upstreams.
func (e *Endpoint) compared(agrees bool) {
	e.metrics.Compared(agrees)
	h := &e.health
	now := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.minute(now)
	m.compared++
	if !agrees {
		m.disagreed++
		h.publish(now)
	}
}

// comparisons adds up all minutes that are kept, so that an upstream that lies and therefore is
// hardly asked is remembered. The caller holds mu.
func (h *health) comparisons(now time.Time) (compared, disagreed int64) {
	index := now.Unix() / 60
	for i := range h.minutes {
		if m := &h.minutes[i]; index-m.index < keptMinutes {
			compared += m.compared
			disagreed += m.disagreed
		}
	}
	return compared, disagreed
}

// disagreement returns the share of disagreeing results, and whether it is that of a liar.
func disagreement(compared, disagreed int64) (share float64, lies bool) {
	if compared == 0 {
		return 0, false
	}
	share = float64(disagreed) / float64(compared)
	return share, disagreed >= liesToDistrust && share > maxDisagreement
}

// publish computes the snapshot. The caller holds mu.
func (h *health) publish(now time.Time) {
	calls, failed, throttled := h.counts(now)
	s := &healthSnapshot{at: now.UnixNano(), out: h.out, until: h.until.UnixNano(), calls: calls}
	if calls >= minSamples {
		s.errorRate, s.throttled = float64(failed)/float64(calls), float64(throttled)/float64(calls)
	}
	s.disagreed, s.lies = disagreement(h.comparisons(now))
	index := now.Unix() / 60
	for class := range s.latency {
		var all latency.Histogram
		for i := range h.minutes {
			if m := &h.minutes[i]; index-m.index < healthMinutes {
				all.Merge(&m.latencies[class])
			}
		}
		s.latency[class] = all.Quantiles()
	}
	h.published.Store(s)
}

// snapshot returns the newest reading, usually without a lock.
func (h *health) snapshot(now time.Time) *healthSnapshot {
	s := h.published.Load()
	if s == nil {
		return unknownHealth
	}
	if now.UnixNano()-s.at >= int64(staleAfter) && h.mu.TryLock() {
		h.publish(now)
		h.mu.Unlock()
		return h.published.Load()
	}
	return s
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
