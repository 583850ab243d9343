package latency

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit/expect"
)

func TestQuantile_IsAtMostAnEighthOff(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same on every run
	var l Histogram
	var all []time.Duration
	for range 10_000 {
		d := time.Duration(float64(50*time.Microsecond) * (1 + random.ExpFloat64()*random.ExpFloat64()*1000))
		l.Add(d)
		all = append(all, d)
	}
	slices.Sort(all)
	q := l.Quantiles()
	for _, row := range []struct {
		share float64
		got   time.Duration
	}{{0.5, q.P50}, {0.9, q.P90}, {0.95, q.P95}, {0.99, q.P99}} {
		t.Run(fmt.Sprint(row.share), func(t *testing.T) {
			want := all[int(row.share*float64(len(all)))]
			if off := float64(row.got)/float64(want) - 1; off < -0.13 || off > 0.13 {
				t.Errorf("the quantile %v is %s, want %s", row.share, row.got, want)
			}
		})
	}
}

func TestQuantile_NeedsTenSamples(t *testing.T) {
	t.Parallel()
	var l, more Histogram
	for range MinAnswers - 1 {
		l.Add(time.Millisecond)
	}
	if l.Quantiles().Known {
		t.Error("known from nine")
	}
	more.Add(time.Hour) // longer than the last bucket
	l.Merge(&more)
	q := l.Quantiles()
	in := expect.In(t, "of nine milliseconds and an hour")
	expect.True(in, q.Known)
	expect.AtMost(in, q.P50, 2*time.Millisecond)
	expect.AtLeast(in, q.P99, time.Minute)
	expect.Equal(in, q.P90, q.P99)
}

func TestLatencyBuckets_AreInOrder(t *testing.T) {
	t.Parallel()
	last := -1
	for _, d := range []time.Duration{
		0, 1, time.Microsecond, 2 * time.Microsecond, 5 * time.Microsecond, time.Millisecond, time.Second, time.Hour,
	} {
		b := bucketOf(d)
		if b < last || b >= bucketCount {
			t.Errorf("%s is in bucket %d, after %d", d, b, last)
		}
		last = b
	}
	for b := 9; b < bucketCount; b++ {
		if bucketOf(BucketMiddle(b)) != b {
			t.Errorf("the middle of bucket %d is in bucket %d", b, bucketOf(BucketMiddle(b)))
		}
		if BucketMiddle(b) > time.Duration(float64(BucketMiddle(b-1))*1.25) {
			t.Errorf("bucket %d is more than a quarter above the one before", b)
		}
	}
}
