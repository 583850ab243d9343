package console

import (
	"strconv"

	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service"
)

// insight is a conclusion from the account's own usage.
type insight struct {
	Title  string
	Status status
	Text   string
	To     *link
}

// insights shows the projected usage, what the cache saved, and the cheapest plan. It returns
// nothing for an account without usage.
func (r reader) insights(in *service.UsageInsights) []insight {
	if in.Volume == 0 && in.Cache.Hits == 0 && in.Spend.Used == 0 {
		return nil
	}
	list := []insight{r.paceInsight(&in.Spend), cacheInsight(&in.Cache), planInsight(in)}
	for _, a := range in.Advice {
		if to, known := adviceLinks[a.Kind]; known {
			list = append(list, insight{
				Title: adviceTitles[a.Kind], Status: status{warn, "worth a look"}, Text: a.Finding, To: &to,
			})
		}
	}
	return list
}

// Links of insights that the overview has nowhere else.
var (
	adviceLinks = map[string]link{
		"pack_expires": {"Packs", pathBilling + "#packs"}, "heavy_ranges": {
			"Usage by method", pathUsage + "?range=30d#by-method",
		},
		"founding_offer": {"Prices at your volume", pathBilling + "#ladder"},
	}
	adviceTitles = map[string]string{
		"pack_expires": "A pack expires", "heavy_ranges": "Heavy calls", "founding_offer": "An offer is open",
	}
)

var riskWords = map[service.Risk]status{
	service.LowRisk: {good, "enough"}, service.MediumRisk: {warn, "may end early"},
	service.HighRisk: {bad, "ends early"},
}

// paceInsight shows the projected usage at the end of the period.
func (r reader) paceInsight(s *service.SpendSummary) insight {
	in := insight{
		Title: "Usage by the end of the period", Status: riskWords[s.Risk], To: &link{
			"Usage of the period", pathUsage + "?range=period",
		},
	}
	in.Text = "At the pace of the last 7 days, " + units(whole(s.Pace)) + " a day, usage reaches " +
		units(whole(s.Projected)) + " by " + r.day(s.PeriodEnd)
	if s.Limit == nil {
		in.Status = status{"", "no limit"}
		in.Text += "."
		return in
	}
	in.Text += ", of " + units(*s.Limit) + " in the plan"
	if s.Packs > 0 {
		in.Text += " and " + s.Packs.Grouped() + " in packs"
	}
	in.Text += "."
	if s.ExhaustsAt != nil {
		in.Text += " These run out on " + r.moment(*s.ExhaustsAt).Exact + "; calls are then " + s.Then + "."
		in.To = &link{"Plans and packs", pathBilling + "#ladder"}
	}
	return in
}

// whole removes fractions of units, which a projection cannot predict.
func whole(u plan.Units) plan.Units { return u / plan.Unit * plan.Unit }

// cacheInsight shows what the cache saved.
func cacheInsight(c *service.CacheSummary) insight {
	in := insight{
		Title: "Saved by the cache in 30 days", Status: status{"", "nothing yet"},
		To: &link{"Usage of 30 days", pathUsage + "?range=30d"},
	}
	if c.Hits == 0 {
		in.Text = "No call was answered from the cache, which costs nothing. Data that never changes, such as a " +
			"receipt or a block by its hash, is cached once it is " + count(chain.FinalDepth, "block") +
			" below the head."
		return in
	}
	in.Status = status{good, units(c.Saved)}
	in.Text = number(c.Hits) + " of " + count(c.Hits+c.Misses, "call") + " (" + shareOf(c.Hits, c.Hits+c.Misses) +
		") came from the cache and cost nothing, instead of " +
		units(c.Saved)
	if c.Money != nil && *c.Money > 0 {
		in.Text += ", worth " + dollars(plan.Cents(*c.Money)) + " at your price"
	}
	in.Text += "."
	return in
}

// planInsight shows the cheapest way to pay at the account's volume.
func planInsight(in *service.UsageInsights) insight {
	r := &in.Recommendation
	i := insight{
		Title: "Cheapest for your last 30 days", Text: r.Title + ". " + r.Why + " " + in.BreakEven,
		To: &link{"Prices at your volume", pathBilling + "#ladder"},
	}
	i.Status = status{warn, r.Title}
	if r.Current {
		i.Status = status{good, "what you have"}
	}
	return i
}

// refusedNotices shows why calls were refused in the last 24 hours, each reason with its next
// steps.
func refusedNotices(refused []service.Refused) []notice {
	list := make([]notice, len(refused))
	for i := range refused {
		f := &refused[i]
		n := notice{
			Tone: warn, Title: f.Title, Text: count(f.Requests, "request") + ". " + forPeople(f.Meaning),
			Steps: stepsForPeople(f.Steps),
		}
		if f.Code != 0 {
			n.Code = codeOf(f.Code)
			n.Links = append(n.Links, link{"What " + strconv.Itoa(f.Code) + " means", failurePage(f.Code)})
		}
		n.Links = append(n.Links, link{"The requests", pathUsage + "?range=24h#failed"})
		if f.RequestID != "" {
			n.Links = append(n.Links, link{"Ask for help with the newest", supportPath + f.RequestID})
		}
		list[i] = n
	}
	return list
}
