package account

import (
	"math/bits"
	"time"
)

// The bounds of the latency histogram, the same wherever durations are counted or read: four per
// octave from 100 µs to about 56 minutes, which is longer than any answer may stream; each is about
// a fifth above the one before. Rows in PostgreSQL contain bucket numbers, so the bounds never
// change. They are whole microseconds, the precision of call records, so that a duration and its
// record fall into the same bucket.
const (
	latencyOctaves = 25
	// LatencyBuckets is the number of buckets. Bucket 0 ends at 100 µs; the last has no upper
	// bound.
	LatencyBuckets = 4*latencyOctaves + 2
)

// quarters are the bounds within the first octave, 100 · 2^(n/4), in microseconds.
var quarters = [4]uint64{100, 119, 141, 168}

// LatencyBucketOf returns the bucket of a duration; 0 for a negative one.
func LatencyBucketOf(took time.Duration) int {
	if took < latencyBound(0) {
		return 0
	}
	micros := uint64(took.Microseconds())        //nolint:gosec // not negative
	octave := bits.Len64(micros/quarters[0]) - 1 // exact: an octave's bounds are the first one's, doubled
	if octave >= latencyOctaves {
		return LatencyBuckets - 1
	}
	quarter := 3
	for micros < quarters[quarter]<<octave {
		quarter--
	}
	return 1 + 4*octave + quarter
}

// LatencyBounds returns the bounds of a bucket, low ≤ d < high. For the last bucket, which has no
// upper bound, high is low.
func LatencyBounds(bucket int) (low, high time.Duration) {
	if bucket > 0 {
		low = latencyBound(bucket - 1)
	}
	return low, latencyBound(min(bucket, LatencyBuckets-2))
}

// latencyBound returns the upper bound of a bucket other than the last.
func latencyBound(bucket int) time.Duration {
	return time.Duration(quarters[bucket%4]<<(bucket/4)) * time.Microsecond //nolint:gosec // under an hour
}

// Latency is a histogram of durations: the number of calls in each bucket.
type Latency [LatencyBuckets]int64

// Add merges another histogram into this one. The order of merges does not matter.
func (l *Latency) Add(other *Latency) {
	for i, n := range other {
		l[i] += n
	}
}

// Calls returns how many calls were counted.
func (l *Latency) Calls() int64 {
	var total int64
	for _, n := range l {
		total += n
	}
	return total
}

// Quantile returns the duration that the share q of the calls, between 0 and 1, did not exceed: 0.5
// for the median. It interpolates within a bucket, so its error is less than the bucket's width. It
// reports false when nothing was counted.
func (l *Latency) Quantile(q float64) (time.Duration, bool) {
	total := l.Calls()
	if total == 0 {
		return 0, false
	}
	rank := min(max(q, 0), 1) * float64(total)
	var below float64
	last := 0
	for i, n := range l {
		if n <= 0 {
			continue
		}
		last = i
		if in := float64(n); below+in >= rank {
			low, high := LatencyBounds(i)
			return low + time.Duration(float64(high-low)*(rank-below)/in), true
		}
		below += float64(n)
	}
	_, high := LatencyBounds(last)
	return high, true
}

// LatencyLine counts answered calls with the same words and the same bucket.
type LatencyLine struct {
	Key     KeyID
	Chain   string
	Service string
	Class   string
	Outcome string // "ok", or "hit" for what the cache or the service itself answered
	Bucket  int
	Calls   int64
}
