package upstream

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit/expect"
)

func TestQuantile_IsAtMostAnEighthOff(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same on every run
	var l latencies
	var all []time.Duration
	for range 10_000 {
		d := time.Duration(float64(50*time.Microsecond) * (1 + random.ExpFloat64()*random.ExpFloat64()*1000))
		l.add(d)
		all = append(all, d)
	}
	slices.Sort(all)
	q := l.quantiles()
	for _, row := range []struct {
		share float64
		got   time.Duration
	}{{0.5, q.p50}, {0.9, q.p90}, {0.95, q.p95}, {0.99, q.p99}} {
		want := all[int(row.share*float64(len(all)))]
		if off := float64(row.got)/float64(want) - 1; off < -0.13 || off > 0.13 {
			t.Errorf("the quantile %v is %s, want %s", row.share, row.got, want)
		}
	}
}

func TestQuantile_NeedsTenSamples(t *testing.T) {
	t.Parallel()
	var l, more latencies
	for range minSamples - 1 {
		l.add(time.Millisecond)
	}
	if l.quantiles().known {
		t.Error("known from nine")
	}
	more.add(time.Hour) // longer than the last bucket
	l.merge(&more)
	q := l.quantiles()
	in := expect.In(t, "of nine milliseconds and an hour")
	expect.True(in, q.known)
	expect.AtMost(in, q.p50, 2*time.Millisecond)
	expect.AtLeast(in, q.p99, time.Minute)
	expect.Equal(in, q.p90, q.p99)
}

func TestLatencyBuckets_AreInOrder(t *testing.T) {
	t.Parallel()
	last := -1
	for _, d := range []time.Duration{
		0, 1, time.Microsecond, 2 * time.Microsecond, 5 * time.Microsecond, time.Millisecond, time.Second, time.Hour,
	} {
		b := latencyBucket(d)
		if b < last || b >= latencyBuckets {
			t.Errorf("%s is in bucket %d, after %d", d, b, last)
		}
		last = b
	}
	for b := 9; b < latencyBuckets; b++ {
		if latencyBucket(latencyMiddle(b)) != b {
			t.Errorf("the middle of bucket %d is in bucket %d", b, latencyBucket(latencyMiddle(b)))
		}
		if latencyMiddle(b) > time.Duration(float64(latencyMiddle(b-1))*clearlyBetter) {
			t.Errorf("bucket %d alone is clearly worse than the one before", b)
		}
	}
}
