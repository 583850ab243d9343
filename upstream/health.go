package upstream

import (
	"sync"
	"time"
)

// Health figures. Nobody is judged below minSamples; an upstream whose calls fail is left out for a while that doubles with each
// failure after its return, and one that throttles for as long as it asks.
const (
	healthBuckets  = 10
	bucketLength   = 30 * time.Second
	minSamples     = 10
	maxErrorRate   = 0.5
	failuresInARow = 3
	firstExclusion = time.Second
	maxExclusion   = time.Minute
	latencyWeight  = 0.1 // of the newest sample in the moving average
)

type healthBucket struct {
	index         int64
	calls, failed int64
}

// health is what this process has seen of an upstream in the last five minutes.
type health struct {
	now func() time.Time

	mu            sync.Mutex // guards what follows
	buckets       [healthBuckets]healthBucket
	latency       time.Duration // moving average of answers; zero before the first
	inARow        int
	exclusion     time.Duration
	excludedUntil time.Time
}

// observation is what became of one attempt.
type observation struct {
	verdict
	took       time.Duration // to the answer, or to the head of a streamed one
	retryAfter time.Duration // what a throttling upstream asked for; zero when it did not say
	write      bool
	brokeOff   bool // a streamed answer that had counted as good before; took says nothing
}

// observe takes what became of an attempt. The outcome of every read and submission passes here, once; those of which the client
// went away do not count.
func (e *Endpoint) observe(o observation) {
	e.health.record(o.blame, o.took, o.retryAfter)
}

// record takes the outcome of a call. retryAfter is what a throttling upstream asked for, zero otherwise.
func (h *health) record(b blame, took, retryAfter time.Duration) {
	now := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	index := now.UnixNano() / int64(bucketLength)
	bucket := &h.buckets[index%healthBuckets]
	if bucket.index != index {
		*bucket = healthBucket{index: index}
	}
	bucket.calls++
	if b == blameNobody {
		h.inARow, h.exclusion = 0, 0
		if h.latency == 0 {
			h.latency = took
		}
		h.latency += time.Duration(latencyWeight * float64(took-h.latency))
		return
	}
	bucket.failed++
	h.inARow++
	rate, calls := h.errorRate(index)
	if b == blameThrottle || h.inARow >= failuresInARow || (calls >= minSamples && rate > maxErrorRate) {
		if !now.Before(h.excludedUntil) { // calls that fail together count once
			h.exclusion = min(max(firstExclusion, 2*h.exclusion), maxExclusion)
		}
		h.excludedUntil = later(h.excludedUntil, now.Add(max(h.exclusion, min(retryAfter, maxExclusion))))
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// errorRate is over the buckets that are young enough. The caller holds mu.
func (h *health) errorRate(index int64) (rate float64, calls int64) {
	var failed int64
	for _, b := range h.buckets {
		if index-b.index < healthBuckets {
			calls += b.calls
			failed += b.failed
		}
	}
	if calls == 0 {
		return 0, 0
	}
	return float64(failed) / float64(calls), calls
}

// standing is a reading of health for selection.
type standing struct {
	excluded  bool
	errorRate float64
	latency   time.Duration
}

func (h *health) standing() standing {
	now := h.now()
	h.mu.Lock()
	defer h.mu.Unlock()
	rate, calls := h.errorRate(now.UnixNano() / int64(bucketLength))
	if calls < minSamples {
		rate = 0
	}
	return standing{excluded: now.Before(h.excludedUntil), errorRate: rate, latency: h.latency}
}
