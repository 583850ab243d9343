package console

import (
	"slices"
	"strings"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

// The chart's own coordinates: they are stretched to whatever place there is, so they have no unit.
const (
	chartHeight = 1000
	dayWidth    = 100
	barWidth    = 72
	// leastBar is the height of a bar that stands for something, however little.
	leastBar = 8
)

// plotted is what a bar chart is drawn from. Heights and figures are its maker's; the chart only
// draws.
type plotted struct {
	id      string // unique on the page
	what    string // Units by day
	sum     string // all of it: 250 units
	head    string // what a bar is: Day
	series  []series
	columns []string // of the table, after the head
	bars    []bar
}

// series is a part that bars have.
type series struct {
	Name  string
	Class string // of the style sheet: accent, warn, muted, bad
}

// bar is one bar, and one line of the table.
type bar struct {
	label, short string // 20 Nov 2026; 20 Nov
	says         string // the reading, without the label
	partial      bool
	heights      []plan.Units // in thousandths of whatever is drawn, from below, in the order of the series
	cells        []string     // in the order of the columns
}

// chart is a bar chart: its drawing, and the same numbers as a table.
type chart struct {
	ID      string
	Label   string // what it shows, for those who do not see it
	What    string
	Summary string // what is read when no bar is chosen
	Width   int
	Height  int
	Ceiling string // labels of the scale, from above
	Middle  string
	Grid    []int // heights of the lines of the scale
	First   string
	Last    string
	Zone    string // at the axis: in which zone the bars are cut, where it is not the reader's
	Head    string
	Legend  []series // none for a chart of one
	Columns []string
	Bars    []chartBar
}

// chartBar is a bar at its place.
type chartBar struct {
	Label   string
	Says    string // the whole reading
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

// draw places everything. The first series is always in the legend, others when any bar has them.
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

// stretch is the time that a bar stands for.
type stretch struct {
	start   time.Time
	hour    bool // else a UTC day
	partial bool // it is not over
}

// label names a stretch in full: hours in the reader's zone, days as the record cuts them, in UTC.
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

// dayHead is what a day is called.
const dayHead = "Day"

// head is what a stretch is called.
func (s stretch) head() string {
	if s.hour {
		return "Hour"
	}
	return dayHead
}

// notOver is what the reading of a stretch ends with.
func (s stretch) notOver() string {
	switch {
	case !s.partial:
		return ""
	case s.hour:
		return ", the hour is not over"
	}
	return ", the day is not over"
}

// dayUsage is what was used in a stretch.
type dayUsage struct {
	stretch

	standard plan.Units
	heavy    plan.Units
	other    plan.Units
	requests int64
}

func (d *dayUsage) total() plan.Units { return d.standard + d.heavy + d.other }

// newChart draws units, oldest first, by the class of their calls.
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

// height is the part of the chart that units take, visible when there are any.
func height(u, ceiling plan.Units) int {
	if u <= 0 {
		return 0
	}
	return max(leastBar, int(u*chartHeight/ceiling))
}

// niceCeiling is the next number of whole units that reads well above what has to fit, and half of
// it does too.
func niceCeiling(limit plan.Units) plan.Units {
	steps := []plan.Units{2, 4, 6, 8, 10}
	for size := plan.Unit; ; size *= 10 {
		if i := slices.IndexFunc(steps, func(step plan.Units) bool { return limit <= step*size }); i >= 0 {
			return steps[i] * size
		}
	}
}
