package usage

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/advice"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/operation"
	usagereport "github.com/chainaccess/gateway/service/usage"
)

// overviewKeys is the number of keys on the overview.
const overviewKeys = 5

// showOverview shows the units of the period against the allowance, by day, and the keys that used
// them.
func showOverview(v *site.Request) error {
	var usage usagereport.UsageByDay
	var list keys.KeyList
	var insights advice.UsageInsights
	var chains *view.Chains
	err := v.InParallel(
		site.Asked(v, v.Calls.GetInsights, operation.Nothing{}, &insights), // the slowest first
		site.Asked(v, v.Calls.UsageByDay, usagereport.UsageByDayInput{}, &usage),
		site.Asked(v, v.Calls.ListKeys, keys.ListKeysInput{}, &list),
		func(context.Context) error {
			chains = v.Chains() //nolint:contextcheck // it uses the context of the request
			return nil
		},
	)
	if err != nil {
		return err
	}
	keys, _ := v.Reader.KeyRows(list.Keys)
	days, err := daysOf(v.Reader, usage.Days)
	if err != nil {
		return err
	}
	p := overviewPage{
		Stats: stats(v, &usage), Chart: v.Reader.NewChart(days), Limits: planLimits(v, &usage), Chains: chains,
	}
	p.Insights, p.Refusals = insightsOf(v.Reader, &insights), refusedNotices(insights.Refused)
	used := slices.DeleteFunc(slices.Clone(keys), func(k view.KeyRow) bool { return k.Used.IsZero() })
	slices.SortFunc(used, func(a, b view.KeyRow) int { return cmp.Compare(b.Used.Machine, a.Used.Machine) })
	p.Keys = used[:min(len(used), overviewKeys)]
	p.MoreKeys = len(keys) - len(p.Keys)
	if len(used) == 0 {
		p.Start = firstSteps(v, len(keys))
	}
	return v.Show(http.StatusOK, p)
}

// firstSteps shows what to do before the first call.
func firstSteps(v *site.Request, keys int) *view.Empty {
	if keys == 0 {
		return &view.Empty{
			Title: "No key yet", Text: "Create a key, then send it with each call.",
			Action: &view.Link{Text: "Create key", To: "/keys/new"},
		}
	}
	call := view.FirstCall(v.PublicURL)
	return &view.Empty{
		Title: "No call yet", Text: "Put your key into this command. The first call shows up here some seconds later.",
		Command: &call,
	}
}

// daysOf converts the days of a usage report.
func daysOf(r view.Reader, reported []usagereport.DayUsage) ([]view.DayUsage, error) {
	days := make([]view.DayUsage, len(reported))
	for i, d := range reported {
		day, err := time.Parse(time.DateOnly, d.Day)
		if err != nil {
			return nil, err
		}
		over := !r.Now.Before(day.AddDate(0, 0, 1))
		days[i] = view.DayUsage{
			Stretch: view.Stretch{Start: day, Partial: !over}, Standard: d.Standard, Heavy: d.Heavy,
			Other: d.Other, Requests: d.Requests,
		}
	}
	return days, nil
}

func stats(v *site.Request, u *usagereport.UsageByDay) []view.Stat {
	var requests, hits, refused int64
	var today plan.Units
	for _, d := range u.Days {
		requests, hits, refused = requests+d.Requests, hits+d.Hits, refused+d.Refused
		today = d.Standard + d.Heavy + d.Other
	}
	used := view.Stat{Label: "Units this period", Value: u.Used.Grouped(), Unit: "units", Note: "no limit"}
	if u.Allowance != nil {
		used.Note = "of " + u.Allowance.Grouped() + " in the plan"
	}
	return []view.Stat{
		used,
		{Label: "Today", Value: today.Grouped(), Unit: "units", Note: todayNote(v, u.PeriodStart)},
		{Label: "Requests this period", Value: view.Number(requests), Note: view.Number(hits) +
			" from the cache, free"},
		{Label: "Refused this period", Value: view.Number(refused), Note: "cost nothing"},
	}
}

// todayNote notes when today's count began, because the period may have begun today.
func todayNote(v *site.Request, period time.Time) string {
	if v.Reader.Now.UTC().Truncate(24 * time.Hour).Before(period) {
		return "in the period that began today"
	}
	return "so far, UTC"
}

// planLimits returns the plan's allowance and what is left in packs.
func planLimits(v *site.Request, u *usagereport.UsageByDay) []view.MeterBar {
	limit := account.Unlimited
	next := ""
	end := v.Reader.Day(u.PeriodEnd)
	switch {
	case u.Allowance == nil:
	case !u.Refuses:
		limit, next = *u.Allowance, "Beyond 100 %, calls continue at a lower rate until "+end+"."
	case u.PackUnits > 0:
		limit, next = *u.Allowance, "Beyond 100 %, calls use packs, which have "+view.Units(u.PackUnits)+" left."
	default:
		limit, next = *u.Allowance, "At 100 %, calls are refused with -32007 until "+end+"."
	}
	return []view.MeterBar{view.NewMeterBar("Plan "+u.PlanTitle, u.Used, limit, next)}
}
