package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// rule is the side of a bar on which a value must be.
type rule uint8

const (
	noBar rule = iota
	atLeast
	atMost
	below
)

// bar is the limit of a value. The limits are the project's definition of "fast enough", see
// internal/bench/README.md.
type bar struct {
	rule  rule
	limit float64
	aim   float64 // zero for none
}

// met reports whether a value is on the right side of the bar.
func (b bar) met(value float64) bool {
	switch b.rule {
	case atLeast:
		return value >= b.limit
	case atMost:
		return value <= b.limit
	case below:
		return value < b.limit
	default:
		return true
	}
}

// result is one measured value with its bar. A value that was never reached is infinite.
type result struct {
	name, key string
	value     float64
	decimals  int
	bar       bar
}

// String formats the result as one line.
func (r result) String() string {
	line := fmt.Sprintf("%s %s=%s", r.name, r.key, r.text())
	if r.bar.rule == noBar {
		return line
	}
	line += " bar=" + strconv.FormatFloat(r.bar.limit, 'f', r.decimals, 64)
	if r.bar.aim != 0 {
		line += " aim=" + strconv.FormatFloat(r.bar.aim, 'f', r.decimals, 64)
	}
	if r.met() {
		return line + " met=yes"
	}
	return line + " met=no"
}

// shown returns the value as printed. With a bar, it is rounded to the worse side, so that no
// figure looks better than it is.
func (r result) shown() float64 {
	const slack = 1e-9 // rounding error of the multiplication
	unit := math.Pow10(r.decimals)
	switch r.bar.rule {
	case atLeast:
		return math.Floor(r.value*unit+slack) / unit
	case atMost, below:
		return max(0, math.Ceil(r.value*unit-slack)/unit) // max removes the sign of a negative zero
	default:
		return math.Round(r.value*unit) / unit
	}
}

func (r result) met() bool { return r.bar.met(r.shown()) }

func (r result) text() string {
	if math.IsInf(r.value, 0) {
		return "never"
	}
	return strconv.FormatFloat(r.shown(), 'f', r.decimals, 64)
}

// report collects the results of a run.
type report struct {
	out      io.Writer // the comparisons
	progress io.Writer // everything else

	results []result
	loads   []compared
	kill    *timeline
}

// add prints a result and keeps it.
func (r *report) add(result result) {
	fmt.Fprintln(r.out, result)
	r.results = append(r.results, result)
}

func (r *report) sayf(format string, args ...any) { fmt.Fprintf(r.progress, format+"\n", args...) }

// unmet returns the names of the results that miss their bars.
func (r *report) unmet() []string {
	var names []string
	for _, result := range r.results {
		if !result.met() {
			names = append(names, result.name+" "+result.key)
		}
	}
	return names
}

// find returns the result with a name and key.
func (r *report) find(name, key string) (result, bool) {
	for _, result := range r.results {
		if result.name == name && result.key == key {
			return result, true
		}
	}
	return result{}, false
}

// The files that --record writes.
var (
	tableFile   = filepath.Join("internal", "bench", "results.md")
	pictureFile = filepath.Join("internal", "bench", "results.svg")
)

// keep writes the files that the options request.
func (r *report) keep(o options, now time.Time) error {
	var err error
	if o.chart != "" {
		err = writePicture(o.chart, r, now)
	}
	if o.record {
		err = errors.Join(err, r.record(tableFile, now), writePicture(pictureFile, r, now))
	}
	return err
}

func writePicture(path string, r *report, now time.Time) error {
	//nolint:gosec // a picture, for everybody
	if err := os.WriteFile(path, []byte(picture(r, now)), 0o644); err != nil {
		return fmt.Errorf("draw the results: %w", err)
	}
	r.sayf("drew %s", path)
	return nil
}
