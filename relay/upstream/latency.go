package upstream

import (
	"math/bits"
	"time"
)

// latencyBuckets cover 1 µs to 134 s, four per power of two. A quantile is the middle of its
// bucket, so its error is at most an eighth.
const latencyBuckets = 4 * 27

// latencies is a histogram of response times.
type latencies struct {
	total  uint32
	counts [latencyBuckets]uint32
}

func (l *latencies) add(d time.Duration) {
	l.total++
	l.counts[latencyBucket(d)]++
}

func (l *latencies) merge(other *latencies) {
	if other.total == 0 {
		return
	}
	l.total += other.total
	for i, n := range other.counts {
		l.counts[i] += n
	}
}

// quantiles are those of a histogram; known is false below minSamples answers.
type quantiles struct {
	known              bool
	p50, p90, p95, p99 time.Duration
}

func (l *latencies) quantiles() quantiles {
	if l.total < minSamples {
		return quantiles{}
	}
	q := quantiles{known: true}
	wanted := [...]struct {
		share float64
		into  *time.Duration
	}{{0.5, &q.p50}, {0.9, &q.p90}, {0.95, &q.p95}, {0.99, &q.p99}}
	next, seen := 0, uint32(0)
	for bucket, n := range l.counts {
		seen += n
		for next < len(wanted) && float64(seen) > wanted[next].share*float64(l.total) {
			*wanted[next].into = latencyMiddle(bucket)
			next++
		}
	}
	return q
}

func latencyBucket(d time.Duration) int {
	micros := uint64(max(d.Microseconds(), 1)) //nolint:gosec // positive
	power := bits.Len64(micros) - 1
	quarter := 0
	if power >= 2 {
		quarter = int(micros >> (power - 2) & 3) //nolint:gosec // below four
	}
	return min(4*power+quarter, latencyBuckets-1)
}

func latencyMiddle(bucket int) time.Duration {
	power, quarter := bucket/4, bucket%4
	return time.Duration(float64(uint64(1)<<power) * (1 + (float64(quarter)+0.5)/4) * float64(time.Microsecond))
}
