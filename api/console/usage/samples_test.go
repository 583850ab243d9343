package usage

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/usage"
)

// samples are the pages of usage; name is a text that somebody chose.
func samples(name string) map[string]view.Page {
	r, rows := consoletest.Reader(), consoletest.SampleKeys(name)
	refused := fault.New(fault.KeyBudget, "")
	return map[string]view.Page{
		"overview": overviewPage{
			Stats: []view.Stat{
				{Label: "Units this period", Value: "812,340.5", Unit: "units", Note: "81 % of 1,000,000"},
				{Label: "Requests", Value: "944,120", Note: "13.9 % from the cache, free"},
				{Label: "Today", Value: "49,457", Unit: "units", Note: "so far, UTC"},
				{Label: "Refused", Value: "212", Note: "in the last 24 hours"},
			},
			Limits: []view.MeterBar{
				view.NewMeterBar("Plan, Free", 812_340_500, 1_000_000_000,
					"At 100 % calls are refused with -32007 until 1 Dec 2026, unless a pack has units."),
				view.NewMeterBar("RPC cap", 1_000_000, 1_000_000,
					"RPC is refused with -32014. Raise the cap in the settings."),
				view.NewMeterBar("Gas cap", 1_000_000, 20_000_000, ""),
			},
			Chart: r.NewChart(sampleDays()), Refusals: []view.Notice{
				view.RefusalCard(refused, "019a9f2e-1111-7000-8000-0000000000ff"),
			},
			Keys: rows, MoreKeys: 2, Insights: sampleInsightRows(),
		},
		"overview-first": overviewPage{
			Stats: []view.Stat{
				{Label: "Units this period", Value: "0", Unit: "units", Note: "0 % of 1,000,000"},
				{Label: "Requests", Value: "0"},
			},
			Chart: r.NewChart([]view.DayUsage{{Stretch: view.Stretch{
				Start:   consoletest.Now.Truncate(view.DayLength),
				Partial: true,
			}}}),
			Start: &view.Empty{
				Title: "No call yet", Text: "Create a key, then make a first call.",
				Action: &view.Link{Text: "Create key", To: "/keys/new"},
			},
		},
		"usage": sampleUsagePage(name),
	}
}

func sampleDays() []view.DayUsage {
	var days []view.DayUsage
	for i := range 20 {
		d := view.DayUsage{
			Stretch:  view.Stretch{Start: time.Date(2026, time.November, 1+i, 0, 0, 0, 0, time.UTC), Partial: i == 19},
			Standard: plan.Units(i*i*137+900) * plan.Unit, Requests: int64(i*i*140 + 1000),
		}
		if i%3 == 0 {
			d.Heavy = plan.Units(i*800) * plan.Unit
		}
		if i == 7 {
			d = view.DayUsage{Stretch: d.Stretch}
		}
		days = append(days, d)
	}
	return days
}

func sampleUsagePage(name string) *usagePage {
	used := consoletest.SampleExplored(name)
	keys := keySelection([]keys.KeyView{{ID: consoletest.KeyOne, Name: name, Prefix: "cag_aHCrXoRO"}},
		consoletest.KeyOne, used.Since)
	return usagePageOf(consoletest.Reader(), &used, &usage.ExploreUsageInput{Range: "7d"}, keys)
}

func sampleInsightRows() []view.Insight {
	in := consoletest.SampleInsights()
	return insightsOf(consoletest.Reader(), &in)
}

func TestPages_KeepToTheRules(t *testing.T) {
	t.Parallel()
	consoletest.CheckSection(t, templates, samples)
}
