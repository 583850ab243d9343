package view

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

// Plot is the input of a bar chart. Its creator computes heights and figures; the chart only
// places them.
type Plot struct {
	ID      string // unique on the page
	What    string // Units by day
	Sum     string // the total: 250 units
	Head    string // what a bar stands for: Day
	Series  []Series
	Columns []string // of the table, after the head
	Bars    []Bar
}

// Series is one part of the bars.
type Series struct {
	Name  string
	Class string // CSS class: accent, warn, muted, bad
}

// Bar is a bar, and a row of the table.
type Bar struct {
	Label, Short string // 20 Nov 2026; 20 Nov
	Says         string // the reading without the label
	Partial      bool
	Heights      []plan.Units // in thousandths of the drawn unit, bottom first, in the order of the series
	Cells        []string     // in the order of the columns
}

// Chart is a bar chart: a drawing, and the same numbers as a table.
type Chart struct {
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
	Legend  []Series // empty for a chart with one series
	Columns []string
	Bars    []chartBar
}

// chartBar is a bar with its position.
type chartBar struct {
	Label   string
	Says    string // the complete reading
	Partial bool
	Cells   []string
	Parts   []ChartPart

	X, BarX, Width, BarWidth int
}

// ChartPart is a part of a bar.
type ChartPart struct {
	Class string
	Y, H  int
}

// Draw places the bars. The legend has the first series always, and others when a bar has them.
func (p *Plot) Draw() Chart {
	var limit plan.Units
	for i := range p.Bars {
		limit = max(limit, sumOf(p.Bars[i].Heights))
	}
	ceiling := niceCeiling(limit)
	c := Chart{
		ID: p.ID, What: p.What, Head: p.Head, Columns: p.Columns, Width: len(p.Bars) * dayWidth, Height: chartHeight,
		Ceiling: compact(ceiling), Middle: compact(ceiling / 2), Grid: []int{0, chartHeight / 2, chartHeight},
	}
	if p.Head == dayHead {
		c.Head, c.Zone = dayHead+" (UTC)", "UTC days"
	}
	used := make([]bool, len(p.Series))
	for i := range p.Bars {
		b := &p.Bars[i]
		drawn := chartBar{
			Label: b.Label, Says: b.Label + ": " + b.Says, Partial: b.Partial, Cells: b.Cells,
			X: i * dayWidth, BarX: i*dayWidth + (dayWidth-barWidth)/2, Width: dayWidth, BarWidth: barWidth,
		}
		y := chartHeight
		for j, value := range b.Heights {
			if h := height(value, ceiling); h > 0 {
				y -= h
				used[j] = true
				drawn.Parts = append(drawn.Parts, ChartPart{p.Series[j].Class, y, h})
			}
		}
		c.Bars = append(c.Bars, drawn)
	}
	for j := range p.Series {
		if j == 0 || used[j] {
			c.Legend = append(c.Legend, p.Series[j])
		}
	}
	if len(c.Legend) == 1 {
		c.Legend = nil
	}
	if len(p.Bars) > 0 {
		first, last := &p.Bars[0], &p.Bars[len(p.Bars)-1]
		c.First, c.Last = first.Short, last.Short
		if last.Partial {
			c.Last += ", so far"
		}
		c.Summary = p.Sum + " from " + first.Label + " to " + last.Label
		c.Label = p.What + ": " + c.Summary
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

// Stretch is the time that a bar covers.
type Stretch struct {
	Start   time.Time
	Hour    bool // otherwise a UTC day
	Partial bool // it has not ended
}

// Label returns the full name of a stretch: an hour in the reader's zone, a day in UTC, as usage is
// recorded.
func (r Reader) Label(s Stretch) string {
	if s.Hour {
		return s.Start.In(r.Zone).Format(momentLayout)
	}
	return s.Start.Format(DayLayout)
}

// ShortLabel returns the short name of a stretch, for the axis.
func (r Reader) ShortLabel(s Stretch) string {
	if s.Hour {
		return s.Start.In(r.Zone).Format("15:04")
	}
	return s.Start.Format(shortDay)
}

// dayHead is the heading for days.
const dayHead = "Day"

// Head returns the heading for a stretch.
func (s Stretch) Head() string {
	if s.Hour {
		return "Hour"
	}
	return dayHead
}

// NotOver returns the end of the reading of a stretch.
func (s Stretch) NotOver() string {
	switch {
	case !s.Partial:
		return ""
	case s.Hour:
		return ", the hour is not over"
	}
	return ", the day is not over"
}

// DayUsage is the usage of a stretch.
type DayUsage struct {
	Stretch

	Standard plan.Units
	Heavy    plan.Units
	Other    plan.Units
	Requests int64
}

func (d *DayUsage) total() plan.Units { return d.Standard + d.Heavy + d.Other }

// NewChart draws units by class of calls, oldest first.
func (r Reader) NewChart(days []DayUsage) Chart {
	p := Plot{
		ID: "units", What: "Units by day", Head: dayHead, Series: []Series{
			{"standard", "accent"}, {"heavy", "warn"}, {"toolbox and data", "muted"},
		},
		Columns: []string{"Standard", "Heavy", "Units", "Requests"},
	}
	if len(days) > 0 {
		p.Head = days[0].Head()
		p.What = "Units by " + strings.ToLower(p.Head)
	}
	other := slices.ContainsFunc(days, func(d DayUsage) bool { return d.Other > 0 })
	if other {
		p.Columns = slices.Insert(p.Columns, 2, "Other")
	}
	var sum plan.Units
	for i := range days {
		d := &days[i]
		sum += d.total()
		b := Bar{
			Label: r.Label(d.Stretch), Short: r.ShortLabel(d.Stretch), Partial: d.Partial,
			Heights: []plan.Units{d.Standard, d.Heavy, d.Other}, Cells: []string{
				d.Standard.Grouped(), d.Heavy.Grouped(), d.total().Grouped(), Number(d.Requests),
			},
			Says: Units(d.total()),
		}
		if other {
			b.Cells = slices.Insert(b.Cells, 2, d.Other.Grouped())
		}
		if d.Heavy > 0 {
			b.Says += ", " + d.Heavy.Grouped() + " of them heavy"
		}
		if d.Other > 0 {
			b.Says += ", " + d.Other.Grouped() + " for toolbox and data"
		}
		b.Says += ", " + Count(d.Requests, "request") + d.NotOver()
		p.Bars = append(p.Bars, b)
	}
	p.Sum = Units(sum)
	return p.Draw()
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
