package main

import (
	"math"
	"slices"
	"time"
)

const (
	window = 100 * time.Millisecond
	// The recovery from an upstream's death ends when p99 is within backFactor of its usual value:
	// at the first window that begins a run of runWindows of which at least runGood are within it.
	// A single slow window is blamed on the machine.
	backFactor = 1.5
	runWindows = 10
	runGood    = 9
)

// timeline is a load around the kill of an upstream.
type timeline struct {
	before, after []float64 // p99 in milliseconds per window; NaN where no call ended
	usual         float64   // the median p99 of the windows before
	failed        []time.Duration
	reads         int
	back          time.Duration // since the kill; negative for never
}

// newTimeline sorts samples into windows by when they ended.
func newTimeline(samples []sample, killed, lead, follow time.Duration) *timeline {
	t := &timeline{before: make([]float64, lead/window), after: make([]float64, follow/window)}
	took := make([][]time.Duration, len(t.before)+len(t.after))
	for _, s := range samples {
		at := s.ended - (killed - lead)
		i := int(at / window)
		if at < 0 || i >= len(took) {
			continue
		}
		t.reads++
		if s.err != nil {
			t.failed = append(t.failed, s.ended-killed)
			continue
		}
		took[i] = append(took[i], s.took)
	}
	for i, some := range took {
		p := p99(some)
		if i < len(t.before) {
			t.before[i] = p
		} else {
			t.after[i-len(t.before)] = p
		}
	}
	t.usual = middle(t.before)
	t.back = backAfter(t.after, backFactor*t.usual)
	return t
}

// backAfter returns the end of the first window from which p99 stays within the limit; negative
// when there is none.
func backAfter(windows []float64, limit float64) time.Duration {
	for i := range len(windows) - runWindows + 1 {
		good := 0
		for _, p := range windows[i : i+runWindows] {
			if p <= limit { // NaN is not
				good++
			}
		}
		if good >= runGood && windows[i] <= limit {
			return time.Duration(i+1) * window
		}
	}
	return -1
}

// p99 returns the 99th percentile in milliseconds by nearest rank; NaN for no values.
func p99(took []time.Duration) float64 { return percentile(took, 99) }

// percentile returns a percentile in milliseconds by nearest rank; NaN for no values. percent is
// from 1 to 100.
func percentile(took []time.Duration, percent int) float64 {
	if len(took) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(took))
	return float64(sorted[(percent*len(sorted)+99)/100-1]) / float64(time.Millisecond)
}

// middle returns the median of the values that are numbers; NaN when none is.
func middle(values []float64) float64 {
	sorted := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	if len(sorted) == 0 {
		return math.NaN()
	}
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}
