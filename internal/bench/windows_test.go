package main

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

func TestP99_IsByNearestRank(t *testing.T) {
	t.Parallel()
	took := make([]time.Duration, 0, 200)
	for i := range 200 {
		took = append(took, time.Duration(200-i)*time.Millisecond)
	}
	if got := p99(took); got != 198 {
		t.Errorf("of 1 to 200 ms it is %g ms, want 198", got)
	}
	if got := p99(took[199:]); got != 1 {
		t.Errorf("of one call it is %g ms, want 1", got)
	}
	if got := p99(nil); !math.IsNaN(got) {
		t.Errorf("of nothing it is %g", got)
	}
}

func TestP99_RecoversWhereARunWithinTheLimitBegins(t *testing.T) {
	t.Parallel()
	repeated := func(values ...float64) []float64 {
		for len(values) < 30 {
			values = append(values, 5)
		}
		return values
	}
	never := make([]float64, 30)
	for i := range never {
		never[i] = 100
	}
	const ms = time.Millisecond
	for name, tc := range map[string]struct {
		windows []float64
		want    time.Duration
	}{
		"at once":                            {repeated(), 100 * ms},
		"after three windows":                {repeated(90, 50, 20), 400 * ms},
		"no answer counts as slow":           {repeated(math.NaN(), math.NaN()), 300 * ms},
		"one slow window later is noise":     {repeated(5, 5, 5, 90), 100 * ms},
		"two are not":                        {repeated(5, 5, 5, 90, 5, 90), 500 * ms},
		"slow again after a second":          {repeated(append(make([]float64, 10), 90, 90, 90)...), 100 * ms},
		"never":                              {never, -1},
		"only at the end, too short to tell": {append(append([]float64{}, never[:25]...), 5, 5, 5, 5, 5), -1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := backAfter(tc.windows, 7.5); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestTimeline_SortsCallsByTheirEndAroundTheKill(t *testing.T) {
	t.Parallel()
	const killed = 4 * time.Second
	var samples []sample
	for at := time.Duration(0); at < 10*time.Second; at += 10 * time.Millisecond {
		took := 4 * time.Millisecond
		if at >= killed && at < killed+250*time.Millisecond {
			took = 140 * time.Millisecond
		}
		samples = append(samples, sample{ended: at, took: took})
	}
	samples = append(samples, sample{ended: killed + 20*time.Millisecond, took: time.Second, err: errors.New("reset")})
	line := newTimeline(samples, killed, 3*time.Second, 5*time.Second)
	require.Len(t, line.before, 30)
	require.Len(t, line.after, 50)
	expect.Equal(t, line.usual, 4)
	expect.Equal(t, line.reads, 801)
	in := expect.In(t, "p99 after the kill")
	expect.Equal(in, line.before[29], 4)
	expect.Equal(in, line.after[0], 140)
	expect.Equal(in, line.after[2], 140)
	expect.Equal(in, line.after[3], 4)
	expect.Equal(in, line.back, 400*time.Millisecond)
	if len(line.failed) != 1 || line.failed[0] != 20*time.Millisecond {
		t.Errorf("failed: %v", line.failed)
	}
}
