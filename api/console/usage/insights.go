package usage

import (
	"strconv"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/advice"
	"github.com/chainaccess/gateway/service/usage"
)

// insightsOf shows the projected usage, what the cache saved, and the cheapest plan. It returns
// nothing for an account without usage.
func insightsOf(r view.Reader, in *advice.UsageInsights) []view.Insight {
	if in.Volume == 0 && in.Cache.Hits == 0 && in.Spend.Used == 0 {
		return nil
	}
	list := []view.Insight{paceInsight(r, &in.Spend), cacheInsight(&in.Cache), planInsight(in)}
	for _, a := range in.Advice {
		if to, known := adviceLinks[a.Kind]; known {
			list = append(list, view.Insight{
				Title: adviceTitles[a.Kind], Status: view.Status{Tone: view.Warn, Text: "worth a look"},
				Text: a.Finding, To: &to,
			})
		}
	}
	return list
}

// Links of insights that the overview has nowhere else.
var (
	adviceLinks = map[string]view.Link{
		"pack_expires": {Text: "Packs", To: paths.Billing + "#packs"}, "heavy_ranges": {
			Text: "Usage by method", To: paths.Usage + "?range=30d#by-method",
		},
		"founding_offer": {Text: "Prices at your volume", To: paths.Billing + "#ladder"},
	}
	adviceTitles = map[string]string{
		"pack_expires": "A pack expires", "heavy_ranges": "Heavy calls", "founding_offer": "An offer is open",
	}
)

var riskWords = map[usage.Risk]view.Status{
	usage.LowRisk: {Tone: view.Good, Text: "enough"}, usage.MediumRisk: {Tone: view.Warn, Text: "may end early"},
	usage.HighRisk: {Tone: view.Bad, Text: "ends early"},
}

// paceInsight shows the projected usage at the end of the period.
func paceInsight(r view.Reader, s *usage.SpendSummary) view.Insight {
	in := view.Insight{
		Title: "Usage by the end of the period", Status: riskWords[s.Risk], To: &view.Link{
			Text: "Usage of the period", To: paths.Usage + "?range=period",
		},
	}
	in.Text = "At the pace of the last 7 days, " + view.Units(whole(s.Pace)) + " a day, usage reaches " +
		view.Units(whole(s.Projected)) + " by " + r.Day(s.PeriodEnd)
	if s.Limit == nil {
		in.Status = view.Status{Text: "no limit"}
		in.Text += "."
		return in
	}
	in.Text += ", of " + view.Units(*s.Limit) + " in the plan"
	if s.Packs > 0 {
		in.Text += " and " + s.Packs.Grouped() + " in packs"
	}
	in.Text += "."
	if s.ExhaustsAt != nil {
		in.Text += " These run out on " + r.Moment(*s.ExhaustsAt).Exact + "; calls are then " + s.Then + "."
		in.To = &view.Link{Text: "Plans and packs", To: paths.Billing + "#ladder"}
	}
	return in
}

// whole removes fractions of units, which a projection cannot predict.
func whole(u plan.Units) plan.Units { return u / plan.Unit * plan.Unit }

// cacheInsight shows what the cache saved.
func cacheInsight(c *usage.CacheSummary) view.Insight {
	in := view.Insight{
		Title: "Saved by the cache in 30 days", Status: view.Status{Text: "nothing yet"},
		To: &view.Link{Text: "Usage of 30 days", To: paths.Usage + "?range=30d"},
	}
	if c.Hits == 0 {
		in.Text = "No call was answered from the cache, which costs nothing. Data that never changes, such as a " +
			"receipt or a block by its hash, is cached once it is " + view.Count(chain.FinalDepth, "block") +
			" below the head."
		return in
	}
	in.Status = view.Status{Tone: view.Good, Text: view.Units(c.Saved)}
	in.Text = view.Number(c.Hits) + " of " + view.Count(c.Hits+c.Misses, "call") + " (" +
		shareOf(c.Hits, c.Hits+c.Misses) +
		") came from the cache and cost nothing, instead of " +
		view.Units(c.Saved)
	if c.Money != nil && *c.Money > 0 {
		in.Text += ", worth " + view.Dollars(plan.Cents(*c.Money)) + " at your price"
	}
	in.Text += "."
	return in
}

// planInsight shows the cheapest way to pay at the account's volume.
func planInsight(in *advice.UsageInsights) view.Insight {
	r := &in.Recommendation
	i := view.Insight{
		Title: "Cheapest for your last 30 days", Text: r.Title + ". " + r.Why + " " + in.BreakEven,
		To: &view.Link{Text: "Prices at your volume", To: paths.Billing + "#ladder"},
	}
	i.Status = view.Status{Tone: view.Warn, Text: r.Title}
	if r.Current {
		i.Status = view.Status{Tone: view.Good, Text: "what you have"}
	}
	return i
}

// refusedNotices shows why calls were refused in the last 24 hours, each reason with its next
// steps.
func refusedNotices(refused []usage.Refused) []view.Notice {
	list := make([]view.Notice, len(refused))
	for i := range refused {
		f := &refused[i]
		n := view.Notice{
			Tone: view.Warn, Title: f.Title, Text: view.Count(f.Requests, "request") + ". " + view.ForPeople(f.Meaning),
			Steps: view.StepsForPeople(f.Steps),
		}
		if f.Code != 0 {
			n.Code = view.CodeOf(f.Code)
			n.Links = append(n.Links, view.Link{
				Text: "What " + strconv.Itoa(f.Code) + " means",
				To:   failurePage(f.Code),
			})
		}
		n.Links = append(n.Links, view.Link{Text: "The requests", To: paths.Usage + "?range=24h#failed"})
		if f.RequestID != "" {
			n.Links = append(n.Links, view.Link{Text: "Ask for help with the newest", To: paths.AskAbout + f.RequestID})
		}
		list[i] = n
	}
	return list
}
