package console

import (
	"slices"
	"strings"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

// Coordinates of the chart. It is scaled to its container, so they have no unit.
const (
	chartHeight = 1000
	dayWidth    = 100
	barWidth    = 72
	// leastBar is the minimum height of a bar that is not zero.
	leastBar = 8
)

// plotted is the input of a bar chart. Its creator computes heights and figures; the chart only
// places them.
type plotted struct {
	id      string // unique on the page
	what    string // Units by day
	sum     string // the total: 250 units
	head    string // what a bar stands for: Day
	series  []series
	columns []string // of the table, after the head
	bars    []bar
}

// series is one part of the bars.
type series struct {
	Name  string
	Class string // CSS class: accent, warn, muted, bad
}

// bar is a bar, and a row of the table.
type bar struct {
	label, short string // 20 Nov 2026; 20 Nov
	says         string // the reading without the label
	partial      bool
	heights      []plan.Units // in thousandths of the drawn unit, bottom first, in the order of the series
	cells        []string     // in the order of the columns
}

// chart is a bar chart: a drawing, and the same numbers as a table.
type chart struct {
	ID      string
	Label   string // what it shows, for screen readers
	What    string
	Summary string // the reading while no bar is selected
	Width   int
	Height  int
	Ceiling string // labels of the scale, top first
	Middle  string
	Grid    []int // heights of the grid lines
	First   string
	Last    string
	Zone    string // time zone of the bars, at the axis, when it is not the reader's
	Head    string
	Legend  []series // empty for a chart with one series
	Columns []string
	Bars    []chartBar
}

// chartBar is a bar with its position.
type chartBar struct {
	Label   string
	Says    string // the complete reading
	Partial bool
	Cells   []string
	Parts   []chartPart

	X, BarX, Width, BarWidth int
}

// chartPart is a part of a bar.
type chartPart struct {
	Class string
	Y, H  int
}

// draw places the bars. The legend has the first series always, and others when a bar has them.
func (p *plotted) draw() chart {
	var limit plan.Units
	for i := range p.bars {
		limit = max(limit, sumOf(p.bars[i].heights))
	}
	ceiling := niceCeiling(limit)
	c := chart{
		ID: p.id, What: p.what, Head: p.head, Columns: p.columns, Width: len(p.bars) * dayWidth, Height: chartHeight,
		Ceiling: compact(ceiling), Middle: compact(ceiling / 2), Grid: []int{0, chartHeight / 2, chartHeight},
	}
	if p.head == dayHead {
		c.Head, c.Zone = dayHead+" (UTC)", "UTC days"
	}
	used := make([]bool, len(p.series))
	for i := range p.bars {
		b := &p.bars[i]
		drawn := chartBar{
			Label: b.label, Says: b.label + ": " + b.says, Partial: b.partial, Cells: b.cells,
			X: i * dayWidth, BarX: i*dayWidth + (dayWidth-barWidth)/2, Width: dayWidth, BarWidth: barWidth,
		}
		y := chartHeight
		for j, value := range b.heights {
			if h := height(value, ceiling); h > 0 {
				y -= h
				used[j] = true
				drawn.Parts = append(drawn.Parts, chartPart{p.series[j].Class, y, h})
			}
		}
		c.Bars = append(c.Bars, drawn)
	}
	for j := range p.series {
		if j == 0 || used[j] {
			c.Legend = append(c.Legend, p.series[j])
		}
	}
	if len(c.Legend) == 1 {
		c.Legend = nil
	}
	if len(p.bars) > 0 {
		first, last := &p.bars[0], &p.bars[len(p.bars)-1]
		c.First, c.Last = first.short, last.short
		if last.partial {
			c.Last += ", so far"
		}
		c.Summary = p.sum + " from " + first.label + " to " + last.label
		c.Label = p.what + ": " + c.Summary
	}
	return c
}

func sumOf(values []plan.Units) plan.Units {
	var sum plan.Units
	for _, v := range values {
		sum += v
	}
	return sum
}

// stretch is the time that a bar covers.
type stretch struct {
	start   time.Time
	hour    bool // otherwise a UTC day
	partial bool // it has not ended
}

// label returns the full name of a stretch: an hour in the reader's zone, a day in UTC, as usage is
// recorded.
func (r reader) label(s stretch) string {
	if s.hour {
		return s.start.In(r.zone).Format(momentLayout)
	}
	return s.start.Format(dayLayout)
}

func (r reader) shortLabel(s stretch) string {
	if s.hour {
		return s.start.In(r.zone).Format("15:04")
	}
	return s.start.Format(shortDay)
}

// dayHead is the heading for days.
const dayHead = "Day"

// head returns the heading for a stretch.
func (s stretch) head() string {
	if s.hour {
		return "Hour"
	}
	return dayHead
}

// notOver returns the end of the reading of a stretch.
func (s stretch) notOver() string {
	switch {
	case !s.partial:
		return ""
	case s.hour:
		return ", the hour is not over"
	}
	return ", the day is not over"
}

// dayUsage is the usage of a stretch.
type dayUsage struct {
	stretch

	standard plan.Units
	heavy    plan.Units
	other    plan.Units
	requests int64
}

func (d *dayUsage) total() plan.Units { return d.standard + d.heavy + d.other }

// newChart draws units by class of calls, oldest first.
func (r reader) newChart(days []dayUsage) chart {
	p := plotted{
		id: "units", what: "Units by day", head: dayHead, series: []series{
			{"standard", "accent"}, {"heavy", "warn"}, {"toolbox and data", "muted"},
		},
		columns: []string{"Standard", "Heavy", "Units", "Requests"},
	}
	if len(days) > 0 {
		p.head = days[0].head()
		p.what = "Units by " + strings.ToLower(p.head)
	}
	other := slices.ContainsFunc(days, func(d dayUsage) bool { return d.other > 0 })
	if other {
		p.columns = slices.Insert(p.columns, 2, "Other")
	}
	var sum plan.Units
	for i := range days {
		d := &days[i]
		sum += d.total()
		b := bar{
			label: r.label(d.stretch), short: r.shortLabel(d.stretch), partial: d.partial,
			heights: []plan.Units{d.standard, d.heavy, d.other}, cells: []string{
				d.standard.Grouped(), d.heavy.Grouped(), d.total().Grouped(), number(d.requests),
			},
			says: units(d.total()),
		}
		if other {
			b.cells = slices.Insert(b.cells, 2, d.other.Grouped())
		}
		if d.heavy > 0 {
			b.says += ", " + d.heavy.Grouped() + " of them heavy"
		}
		if d.other > 0 {
			b.says += ", " + d.other.Grouped() + " for toolbox and data"
		}
		b.says += ", " + count(d.requests, "request") + d.notOver()
		p.bars = append(p.bars, b)
	}
	p.sum = units(sum)
	return p.draw()
}

// height returns the height of a bar of u units, at least leastBar unless u is 0.
func height(u, ceiling plan.Units) int {
	if u <= 0 {
		return 0
	}
	return max(leastBar, int(u*chartHeight/ceiling))
}

// niceCeiling returns the smallest round number of whole units that is at least limit, and whose
// half is round as well.
func niceCeiling(limit plan.Units) plan.Units {
	steps := []plan.Units{2, 4, 6, 8, 10}
	for size := plan.Unit; ; size *= 10 {
		if i := slices.IndexFunc(steps, func(step plan.Units) bool { return limit <= step*size }); i >= 0 {
			return steps[i] * size
		}
	}
}
