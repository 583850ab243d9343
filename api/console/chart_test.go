package console

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/metering/plan"
)

func TestChart_SaysTheSameInBarsTableAndReadOut(t *testing.T) {
	t.Parallel()
	first := time.Date(2026, time.November, 18, 0, 0, 0, 0, time.UTC)
	c := sampleReader().newChart([]dayUsage{
		{stretch: stretch{start: first}, standard: 100 * plan.Unit, requests: 101},
		{stretch: stretch{start: first.AddDate(0, 0, 1)}},
		{
			stretch: stretch{start: first.AddDate(0, 0, 2), partial: true}, standard: 50 * plan.Unit,
			heavy: 100 * plan.Unit, requests: 1,
		},
	})
	if c.Ceiling != "200" || c.Middle != "100" || c.First != "18 Nov" || c.Last != "20 Nov, so far" {
		t.Errorf("the scale reads %q, %q from %q to %q", c.Ceiling, c.Middle, c.First, c.Last)
	}
	if c.Summary != "250 units from 18 Nov 2026 to 20 Nov 2026" || len(c.Legend) != 2 {
		t.Errorf("the summary reads %q, legend %v", c.Summary, c.Legend)
	}
	full, none, part := c.Bars[0], c.Bars[1], c.Bars[2]
	if !slices.Equal(full.Parts, []chartPart{{"accent", 500, 500}}) || full.Partial {
		t.Errorf("100 of 200 units are drawn as %+v", full)
	}
	if len(none.Parts) != 0 || none.Says != "19 Nov 2026: 0 units, 0 requests" {
		t.Errorf("a day without use is %+v", none)
	}
	if !slices.Equal(part.Parts, []chartPart{{"accent", 750, 250}, {"warn", 250, 500}}) || !part.Partial {
		t.Errorf("50 standard and 100 heavy of 200 units are drawn as %+v", part)
	}
	if want := "20 Nov 2026: 150 units, 100 of them heavy, 1 request, the day is not over"; part.Says != want {
		t.Errorf("the read-out says %q, want %q", part.Says, want)
	}
	body := document(t, newPages(t, "https://gateway.example"), overviewPage{Chart: c})
	for _, want := range []string{part.Says, `<td class="number">150</td>`, "(so far)", `height="250"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
}

func TestChart_FitsAnyUsage(t *testing.T) {
	t.Parallel()
	for _, limit := range []plan.Units{
		0, 1, plan.Unit, 2 * plan.Unit, 2*plan.Unit + 1, 10 * plan.Unit, 61_000 * plan.Unit,
		1_000_000_000_000 * plan.Unit,
	} {
		ceiling := niceCeiling(limit)
		if ceiling < limit || ceiling%(2*plan.Unit) != 0 || limit > 2*plan.Unit && ceiling > 4*limit {
			t.Errorf("the scale for %d ends at %d", limit, ceiling)
		}
		if h := height(limit, ceiling); h > chartHeight || limit > 0 && h < leastBar {
			t.Errorf("%d of %d is drawn %d high", limit, ceiling, h)
		}
	}
	if c := sampleReader().newChart(nil); len(c.Bars) != 0 || c.Width != 0 {
		t.Errorf("a chart of no days is %+v", c)
	}
}

func TestChart_SaysAtTheAxisThatDaysAreUTC(t *testing.T) {
	t.Parallel()
	h := newHouse()
	b := personOf(t, h)
	for path, charts := range map[string]int{"/overview": 1, "/usage": 3} {
		if body := b.get(path).body; strings.Count(body, "<span>UTC days</span>") != charts ||
			strings.Count(body, `<th scope="col">Day (UTC)</th>`) != charts {
			t.Errorf("%s does not say of its %d charts which days they show", path, charts)
		}
	}
	h.explored.StepSeconds = 3_600
	if body := b.get("/usage?range=24h").body; strings.Contains(body, "UTC days") {
		t.Error("hours, which are the reader's, are said to be UTC days")
	}
}
