// Package latency keeps histograms of response times and computes their quantiles.
package latency

import (
	"iter"
	"math/bits"
	"time"
)

// MinAnswers is how many answers a quantile needs.
const MinAnswers = 10

// The buckets cover 1 µs to 134 s, four per power of two. A quantile is the middle of its
// bucket, so its error is at most an eighth.
const bucketCount = 4 * 27

// Histogram is a histogram of response times.
type Histogram struct {
	total  uint32
	counts [bucketCount]uint32
}

// Add adds an answer that took d.
func (l *Histogram) Add(d time.Duration) {
	l.total++
	l.counts[bucketOf(d)]++
}

// Merge adds the answers of another histogram.
func (l *Histogram) Merge(other *Histogram) {
	if other.total == 0 {
		return
	}
	l.total += other.total
	for i, n := range other.counts {
		l.counts[i] += n
	}
}

// AddBucket adds n answers to a bucket, as Buckets returns them. It ignores a bucket that does not
// exist.
func (l *Histogram) AddBucket(bucket int, n uint32) {
	if bucket >= 0 && bucket < bucketCount {
		l.counts[bucket] += n
		l.total += n
	}
}

// Buckets returns the buckets that are not empty, with the number of their answers.
func (l *Histogram) Buckets() iter.Seq2[int, uint32] {
	return func(yield func(int, uint32) bool) {
		for bucket, n := range l.counts {
			if n > 0 && !yield(bucket, n) {
				return
			}
		}
	}
}

// Quantiles are those of a histogram; Known is false below MinAnswers.
type Quantiles struct {
	Known              bool
	P50, P90, P95, P99 time.Duration
}

// Quantiles returns the quantiles of the answers that were added.
func (l *Histogram) Quantiles() Quantiles {
	if l.total < MinAnswers {
		return Quantiles{}
	}
	q := Quantiles{Known: true}
	wanted := [...]struct {
		share float64
		into  *time.Duration
	}{{0.5, &q.P50}, {0.9, &q.P90}, {0.95, &q.P95}, {0.99, &q.P99}}
	next, seen := 0, uint32(0)
	for bucket, n := range l.counts {
		seen += n
		for next < len(wanted) && float64(seen) > wanted[next].share*float64(l.total) {
			*wanted[next].into = BucketMiddle(bucket)
			next++
		}
	}
	return q
}

func bucketOf(d time.Duration) int {
	micros := uint64(max(d.Microseconds(), 1)) //nolint:gosec // positive
	power := bits.Len64(micros) - 1
	quarter := 0
	if power >= 2 {
		quarter = int(micros >> (power - 2) & 3) //nolint:gosec // below four
	}
	return min(4*power+quarter, bucketCount-1)
}

// BucketMiddle returns the response time in the middle of a bucket.
func BucketMiddle(bucket int) time.Duration {
	power, quarter := bucket/4, bucket%4
	return time.Duration(float64(uint64(1)<<power) * (1 + (float64(quarter)+0.5)/4) * float64(time.Microsecond))
}
