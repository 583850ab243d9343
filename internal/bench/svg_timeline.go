package main

import (
	"fmt"
	"math"
	"strings"
	"time"
)

const (
	plotLeft   = 84.0
	plotRight  = pictureWidth - margin
	plotHeight = 190.0
)

// timeline draws p99 per window around the kill of an upstream.
func (c *canvas) timeline(t *timeline) {
	back := "p99 is not back"
	if t.back >= 0 && t.back < time.Hour {
		back = fmt.Sprintf("p99 is back after %d ms", t.back.Milliseconds())
	}
	c.heading("One of two upstreams killed under load",
		fmt.Sprintf("%s reads, %d failed; %s", thousands(float64(t.reads)), len(t.failed), back))
	c.text(margin, c.y+2, "soft small", "start",
		fmt.Sprintf("p99 by windows of %d ms; green: at most %.1f times what it was before",
			window.Milliseconds(), backFactor))
	c.y += 18
	all := append(append([]float64{}, t.before...), t.after...)
	top := niceTop(all, backFactor*t.usual)
	bottom := c.y + plotHeight
	x := func(i float64) float64 { return plotLeft + i*(plotRight-plotLeft)/float64(len(all)) }
	y := func(ms float64) float64 { return bottom - min(ms, top)/top*plotHeight }

	c.rect(plotLeft, y(backFactor*t.usual), plotRight-plotLeft, bottom-y(backFactor*t.usual), "band")
	for i := range 5 {
		ms := top * float64(i) / 4
		c.line(plotLeft, y(ms), plotRight, y(ms), "grid")
		c.text(plotLeft-8, y(ms)+4, "soft small", "end", fmt.Sprintf("%g ms", ms))
	}
	perSecond := int(time.Second / window)
	for i := 0; i <= len(all); i += perSecond {
		seconds := (i - len(t.before)) / perSecond
		c.text(x(float64(i)), bottom+18, "soft small", "middle", strings.TrimPrefix(fmt.Sprintf("%+d s", seconds), "+"))
	}
	c.line(x(float64(len(t.before))), c.y-2, x(float64(len(t.before))), bottom, "kill")
	c.text(x(float64(len(t.before)))+6, c.y+11, "killed small", "start", "upstream killed")
	for _, path := range paths(all, func(i int) (float64, float64) { return x(float64(i) + 0.5), y(all[i]) }) {
		fmt.Fprintf(&c.shapes, `<path class="p99" d="%s"/>`+"\n", path)
	}
	for _, at := range t.failed {
		middle := x(float64(len(t.before)) + float64(at)/float64(window))
		fmt.Fprintf(&c.shapes, `<circle class="killed" cx="%.1f" cy="%.1f" r="3"><title>a failed read</title></circle>`+
			"\n", middle, bottom-4)
	}
	c.y = bottom + 44
}

// paths connects the points that are numbers; a window without answers leaves a gap.
func paths(values []float64, at func(i int) (x, y float64)) []string {
	var all []string
	path := &strings.Builder{}
	for i, v := range values {
		if math.IsNaN(v) {
			if path.Len() > 0 {
				all = append(all, path.String())
				path.Reset()
			}
			continue
		}
		x, y := at(i)
		step := "L"
		if path.Len() == 0 {
			step = "M"
		}
		fmt.Fprintf(path, "%s%.1f %.1f", step, x, y)
	}
	if path.Len() > 0 {
		all = append(all, path.String())
	}
	return all
}

// niceTop returns a round number above all values, as the top of an axis in quarters.
func niceTop(values []float64, least float64) float64 {
	limit := least
	for _, v := range values {
		if v > limit { // NaN is not
			limit = v
		}
	}
	step := math.Pow(10, math.Floor(math.Log10(max(limit, 0.001))))
	for _, factor := range []float64{1, 1.2, 1.6, 2, 3, 4, 6, 8} {
		if step*factor >= limit {
			return step * factor
		}
	}
	return 10 * step
}
