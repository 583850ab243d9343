package account_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

func TestLatencyBuckets_CoverEveryDurationOnce(t *testing.T) {
	t.Parallel()
	before := time.Duration(0)
	for i := range account.LatencyBuckets {
		low, high := account.LatencyBounds(i)
		if low != before {
			t.Errorf("bucket %d begins at %s, the one before ends at %s", i, low, before)
		}
		last := i == account.LatencyBuckets-1
		if high <= low && !last {
			t.Errorf("bucket %d is %s to %s", i, low, high)
		}
		if grown := float64(high) / float64(low); i > 0 && !last && (grown < 1.18 || grown > 1.20) {
			t.Errorf("bucket %d grows by %.3f, want about the fourth root of 2", i, grown)
		}
		for _, d := range []time.Duration{low, low + (high-low)/2, high - time.Nanosecond} {
			if d < low {
				continue // of the last
			}
			if got := account.LatencyBucketOf(d); got != i {
				t.Errorf("%s is in bucket %d, want %d (%s to %s)", d, got, i, low, high)
			}
			if got := account.LatencyBucketOf(d.Truncate(time.Microsecond)); got != i {
				t.Errorf("%s as it is recorded is in bucket %d, want %d", d, got, i)
			}
		}
		before = high
	}
	if before < 30*time.Minute {
		t.Errorf("the last bound is %s; an answer may stream for half an hour", before)
	}
}

func TestLatencyBuckets_OfKnownDurations(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]int{
		-time.Second:                     0,
		0:                                0,
		99*time.Microsecond + 999:        0,
		100 * time.Microsecond:           1,
		118*time.Microsecond + 999:       1,
		119 * time.Microsecond:           2,
		141 * time.Microsecond:           3,
		168 * time.Microsecond:           4,
		199 * time.Microsecond:           4,
		200 * time.Microsecond:           5,
		time.Millisecond:                 14,
		100 * time.Millisecond:           40,
		30 * time.Second:                 73,
		2 * time.Hour:                    account.LatencyBuckets - 1,
		time.Duration(math.MaxInt64):     account.LatencyBuckets - 1,
		time.Duration(math.MinInt64 + 1): 0,
	} {
		t.Run(d.String(), func(t *testing.T) {
			if got := account.LatencyBucketOf(d); got != want {
				t.Errorf("%s is in bucket %d, want %d", d, got, want)
			}
		})
	}
}

func TestQuantiles_OfKnownHistograms(t *testing.T) {
	t.Parallel()
	var none account.Latency
	if got, ok := none.Quantile(0.5); ok || got != 0 {
		t.Errorf("the median of nothing is %s, %t", got, ok)
	}
	var l account.Latency
	l[5], l[9] = 90, 10 // 200 to 238 µs, 400 to 476 µs
	for _, tc := range []struct {
		q    float64
		want time.Duration
	}{
		{-1, 200 * time.Microsecond},
		{0, 200 * time.Microsecond},
		{0.45, 219 * time.Microsecond},
		{0.9, 238 * time.Microsecond},
		{0.95, 438 * time.Microsecond},
		{1, 476 * time.Microsecond},
		{2, 476 * time.Microsecond},
	} {
		t.Run(fmt.Sprint(tc.q), func(t *testing.T) {
			if got, ok := l.Quantile(tc.q); !ok || got != tc.want {
				t.Errorf("quantile %v is %s, want %s", tc.q, got, tc.want)
			}
		})
	}
	var endless account.Latency
	endless[account.LatencyBuckets-1] = 3
	low, _ := account.LatencyBounds(account.LatencyBuckets - 1)
	if got, _ := endless.Quantile(0.5); got != low {
		t.Errorf("the median of the bucket without an end is %s, want where it begins, %s", got, low)
	}
}

// For any durations in any number of histograms, a quantile of the merged ones is in the bucket of
// the true one, so its error is less than the bucket's width.
func TestQuantiles_OfMergedHistogramsAreOffByLessThanABucket(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // repeatable, not secret
		parts := make([]account.Latency, 1+r.IntN(8))
		durations := make([]time.Duration, 1+r.IntN(3000))
		middle, spread := 4+r.Float64()*16, r.Float64()*2 // of the logarithm of nanoseconds
		for i := range durations {
			durations[i] = time.Duration(min(math.Exp(middle+spread*r.NormFloat64()), float64(time.Hour/2)))
			parts[r.IntN(len(parts))][account.LatencyBucketOf(durations[i])]++
		}
		var merged account.Latency
		for i := range parts {
			merged.Add(&parts[i])
		}
		if merged.Calls() != int64(len(durations)) {
			t.Fatalf("seed %d: %d calls are %d when merged", seed, len(durations), merged.Calls())
		}
		slices.Sort(durations)
		for _, q := range []float64{0, 0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 1} {
			rank := max(1, int(math.Ceil(q*float64(len(durations)))))
			want := durations[rank-1]
			low, high := account.LatencyBounds(account.LatencyBucketOf(want))
			got, ok := merged.Quantile(q)
			in := expect.In(t, "seed %d", seed)
			require.True(in, ok, q)
			expect.Between(in, got, low, high)
		}
	}
}
