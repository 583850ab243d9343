package dashboard

import (
	"slices"
	"strings"
	"time"

	"github.com/chainaccess/gateway/plan"
)

// dayUsage is what was used on one day.
type dayUsage struct {
	day      time.Time // its first instant, in the zone that the days are cut in
	standard plan.Units
	heavy    plan.Units
	other    plan.Units
	requests int64
}

func (d *dayUsage) total() plan.Units { return d.standard + d.heavy + d.other }

// The chart's own coordinates: they are stretched to whatever place there is, so they have no unit.
const (
	chartHeight = 1000
	dayWidth    = 100
	barWidth    = 72
	// leastBar is the height of a bar that stands for something, however little.
	leastBar = 8
)

// chart is a bar chart by day: its drawing, and the same numbers as a table.
type chart struct {
	Label   string // what it shows, for those who do not see it
	Summary string // what is read when no day is chosen
	Width   int
	Height  int
	Ceiling string // labels of the scale, from above
	Middle  string
	Grid    []int // heights of the lines of the scale
	First   string
	Last    string
	Days    []chartDay
	// Whether any day has units of these classes: without them the chart needs no legend.
	Heavy, Other bool
}

// chartDay is one bar, and one line of the table.
type chartDay struct {
	Label    string // 20 Nov 2026
	Says     string // the whole reading
	Partial  bool
	Standard string
	Heavies  string
	Others   string
	Total    string
	Requests string

	X, BarX, Width, BarWidth int
	StandardY, StandardH     int
	HeavyY, HeavyH           int
	OtherY, OtherH           int
}

// newChart draws days, oldest first. The last one is partial when it is not over.
func (r reader) newChart(days []dayUsage) chart {
	var most, sum plan.Units
	for i := range days {
		total := days[i].total()
		most, sum = max(most, total), sum+total
	}
	ceiling := niceCeiling(most)
	c := chart{
		Width: len(days) * dayWidth, Height: chartHeight,
		Ceiling: compact(ceiling), Middle: compact(ceiling / 2), Grid: []int{0, chartHeight / 2, chartHeight},
	}
	for i := range days {
		c.Days = append(c.Days, r.chartDay(i, &days[i], ceiling))
		c.Heavy, c.Other = c.Heavy || days[i].heavy > 0, c.Other || days[i].other > 0
	}
	if len(days) > 0 {
		first, last := days[0].day, days[len(days)-1].day
		c.First, c.Last = first.Format(shortDay), last.Format(shortDay)
		if c.Days[len(days)-1].Partial {
			c.Last += ", so far"
		}
		c.Summary = units(sum) + " from " + first.Format(dayLayout) + " to " + last.Format(dayLayout)
		c.Label = "Units by day: " + c.Summary
	}
	return c
}

func (r reader) chartDay(i int, d *dayUsage, ceiling plan.Units) chartDay {
	day := chartDay{
		Label:    d.day.Format(dayLayout),
		Partial:  r.now.Before(d.day.AddDate(0, 0, 1)),
		Standard: d.standard.Grouped(), Heavies: d.heavy.Grouped(), Others: d.other.Grouped(), Total: d.total().Grouped(), Requests: number(d.requests),
		X: i * dayWidth, BarX: i*dayWidth + (dayWidth-barWidth)/2, Width: dayWidth, BarWidth: barWidth,
	}
	day.StandardH, day.HeavyH, day.OtherH = height(d.standard, ceiling), height(d.heavy, ceiling), height(d.other, ceiling)
	day.StandardY = chartHeight - day.StandardH
	day.HeavyY = day.StandardY - day.HeavyH
	day.OtherY = day.HeavyY - day.OtherH
	said := []string{day.Label + ": " + units(d.total())}
	if d.heavy > 0 {
		said = append(said, day.Heavies+" of them heavy")
	}
	if d.other > 0 {
		said = append(said, day.Others+" of toolbox and data")
	}
	said = append(said, count(d.requests, "request"))
	if day.Partial {
		said = append(said, "the day is not over")
	}
	day.Says = strings.Join(said, ", ")
	return day
}

// height is the part of the chart that units take, visible when there are any.
func height(u, ceiling plan.Units) int {
	if u <= 0 {
		return 0
	}
	return max(leastBar, int(u*chartHeight/ceiling))
}

// niceCeiling is the next number of whole units that reads well above what has to fit, and half of it does too.
func niceCeiling(most plan.Units) plan.Units {
	steps := []plan.Units{2, 4, 6, 8, 10}
	for size := plan.Unit; ; size *= 10 {
		if i := slices.IndexFunc(steps, func(step plan.Units) bool { return most <= step*size }); i >= 0 {
			return steps[i] * size
		}
	}
}
