package usage

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/metering/plan"
)

func TestOverview_CountsThePeriod(t *testing.T) {
	t.Parallel()
	text := consoletest.SignedIn(t, consoletest.NewOperations(), Register).Get("/overview").Body
	for _, want := range []string{
		"812,340.5", "of 1,000,000 in the plan", "812,340.5 of 1,000,000 units",
		"At 100 %, calls are refused with -32007 until 1 Dec 2026.", "2 from the cache, free",
		"20 Nov 2026: 4 units, 4 of them heavy, 0 requests, the day is not over", "indexer", "1 hour ago",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the overview does not say %q", want)
		}
	}
}

func TestOverview_ShowsTheNextStepBeforeTheFirstCall(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	h.Keys[0].LastUsedAt = nil
	if text := consoletest.SignedIn(t, h, Register).Get("/overview").Body; !strings.Contains(text, "No call yet") ||
		!strings.Contains(text, "/rpc/eth_mainnet") {
		t.Error("with an unused key it shows no call to make")
	}
	h.Keys = nil
	if text := consoletest.SignedIn(t, h, Register).Get("/overview").Body; !strings.Contains(text, "No key yet") {
		t.Error("without a key it does not say to make one")
	}
}

func TestOverview_ShowsTheStatusOfChains(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	if body := consoletest.SignedIn(t, h, Register).Get("/overview").Body; !strings.Contains(body, "Arbitrum One") ||
		!strings.Contains(body, `href="/status"`) {
		t.Error("the overview does not say how chains stand")
	}
	h.StatusRefused = fault.New(fault.RateWindow, "")
	if got := consoletest.SignedIn(t, h, Register).Get("/overview"); got.Status != http.StatusOK ||
		strings.Contains(got.Body, `href="/status">Status and incidents`) {
		t.Errorf("while nobody says how chains stand it answers %d", got.Status)
	}
}

func TestChart_SaysTheSameInBarsTableAndReadOut(t *testing.T) {
	t.Parallel()
	first := time.Date(2026, time.November, 18, 0, 0, 0, 0, time.UTC)
	c := consoletest.Reader().NewChart([]view.DayUsage{
		{Stretch: view.Stretch{Start: first}, Standard: 100 * plan.Unit, Requests: 101},
		{Stretch: view.Stretch{Start: first.AddDate(0, 0, 1)}},
		{
			Stretch: view.Stretch{Start: first.AddDate(0, 0, 2), Partial: true}, Standard: 50 * plan.Unit,
			Heavy: 100 * plan.Unit, Requests: 1,
		},
	})
	expect.Equal(t, c.Ceiling, "200")
	expect.Equal(t, c.Middle, "100")
	expect.Equal(t, c.First, "18 Nov")
	expect.Equal(t, c.Last, "20 Nov, so far")
	if c.Summary != "250 units from 18 Nov 2026 to 20 Nov 2026" || len(c.Legend) != 2 {
		t.Errorf("the summary reads %q, legend %v", c.Summary, c.Legend)
	}
	full, none, part := c.Bars[0], c.Bars[1], c.Bars[2]
	if !slices.Equal(full.Parts, []view.ChartPart{{Class: "accent", Y: 500, H: 500}}) || full.Partial {
		t.Errorf("100 of 200 units are drawn as %+v", full)
	}
	if len(none.Parts) != 0 || none.Says != "19 Nov 2026: 0 units, 0 requests" {
		t.Errorf("a day without use is %+v", none)
	}
	if !slices.Equal(part.Parts, []view.ChartPart{
		{Class: "accent", Y: 750, H: 250},
		{Class: "warn", Y: 250, H: 500},
	}) || !part.Partial {
		t.Errorf("50 standard and 100 heavy of 200 units are drawn as %+v", part)
	}
	if want := "20 Nov 2026: 150 units, 100 of them heavy, 1 request, the day is not over"; part.Says != want {
		t.Errorf("the read-out says %q, want %q", part.Says, want)
	}
	pages, err := view.ParsePages(templates)
	if err != nil {
		t.Fatal(err)
	}
	body := consoletest.Document(t, pages, overviewPage{Chart: c})
	for _, want := range []string{part.Says, `<td class="number">150</td>`, "(so far)", `height="250"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
}

func TestChart_SaysAtTheAxisThatDaysAreUTC(t *testing.T) {
	t.Parallel()
	h := consoletest.NewOperations()
	b := consoletest.SignedIn(t, h, Register)
	for path, charts := range map[string]int{"/overview": 1, "/usage": 3} {
		if body := b.Get(path).Body; strings.Count(body, "<span>UTC days</span>") != charts ||
			strings.Count(body, `<th scope="col">Day (UTC)</th>`) != charts {
			t.Errorf("%s does not say of its %d charts which days they show", path, charts)
		}
	}
	h.Explored.StepSeconds = 3_600
	if body := b.Get("/usage?range=24h").Body; strings.Contains(body, "UTC days") {
		t.Error("hours, which are the reader's, are said to be UTC days")
	}
}
