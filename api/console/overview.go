package console

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
)

// overviewKeys is the number of keys on the overview.
const overviewKeys = 5

// overview shows the units of the period against the allowance, by day, and the keys that used
// them.
func (v *request) overview() error {
	var usage service.UsageByDay
	var list service.KeyList
	var insights service.UsageInsights
	var chains *chainsView
	err := v.inParallel(
		asked(v, v.Calls.GetInsights, service.Nothing{}, &insights), // the slowest first
		asked(v, v.Calls.UsageByDay, service.UsageByDayInput{}, &usage),
		asked(v, v.Calls.ListKeys, service.ListKeysInput{}, &list),
		func(context.Context) error {
			chains = v.chainsView() //nolint:contextcheck // it uses the context of the request
			return nil
		},
	)
	if err != nil {
		return err
	}
	keys, _ := v.keyRows(list.Keys)
	days, err := v.reader.daysOf(usage.Days)
	if err != nil {
		return err
	}
	p := overviewPage{
		Stats: v.stats(&usage), Chart: v.reader.newChart(days), Fences: v.planFences(&usage), Chains: chains,
	}
	p.Insights, p.Refusals = v.reader.insights(&insights), refusedNotices(insights.Refused)
	used := slices.DeleteFunc(slices.Clone(keys), func(k keyRow) bool { return k.Used.IsZero() })
	slices.SortFunc(used, func(a, b keyRow) int { return cmp.Compare(b.Used.Machine, a.Used.Machine) })
	p.Keys = used[:min(len(used), overviewKeys)]
	p.MoreKeys = len(keys) - len(p.Keys)
	if len(used) == 0 {
		p.Start = v.firstSteps(len(keys))
	}
	return v.show(http.StatusOK, p)
}

// firstSteps shows what to do before the first call.
func (v *request) firstSteps(keys int) *empty {
	if keys == 0 {
		return &empty{
			Title: "No key yet", Text: "Create a key, then send it with each call.",
			Action: &link{"Create key", "/keys/new"},
		}
	}
	call := firstCall(v.PublicURL)
	return &empty{
		Title: "No call yet", Text: "Put your key into this command. The first call shows up here some seconds later.",
		Command: &call,
	}
}

// daysOf converts the days of a usage report.
func (r reader) daysOf(reported []service.DayUsage) ([]dayUsage, error) {
	days := make([]dayUsage, len(reported))
	for i, d := range reported {
		day, err := time.Parse(time.DateOnly, d.Day)
		if err != nil {
			return nil, err
		}
		over := !r.now.Before(day.AddDate(0, 0, 1))
		days[i] = dayUsage{
			stretch: stretch{start: day, partial: !over}, standard: d.Standard, heavy: d.Heavy,
			other: d.Other, requests: d.Requests,
		}
	}
	return days, nil
}

func (v *request) stats(u *service.UsageByDay) []stat {
	var requests, hits, refused int64
	var today plan.Units
	for _, d := range u.Days {
		requests, hits, refused = requests+d.Requests, hits+d.Hits, refused+d.Refused
		today = d.Standard + d.Heavy + d.Other
	}
	used := stat{Label: "Units this period", Value: u.Used.Grouped(), Unit: "units", Note: "no limit"}
	if u.Allowance != nil {
		used.Note = "of " + u.Allowance.Grouped() + " in the plan"
	}
	return []stat{
		used,
		{Label: "Today", Value: today.Grouped(), Unit: "units", Note: v.todayNote(u.PeriodStart)},
		{Label: "Requests this period", Value: number(requests), Note: number(hits) + " from the cache, free"},
		{Label: "Refused this period", Value: number(refused), Note: "cost nothing"},
	}
}

// todayNote notes when today's count began, because the period may have begun today.
func (v *request) todayNote(period time.Time) string {
	if v.reader.now.UTC().Truncate(24 * time.Hour).Before(period) {
		return "in the period that began today"
	}
	return "so far, UTC"
}

// planFences returns the plan's allowance and what is left in packs.
func (v *request) planFences(u *service.UsageByDay) []meterBar {
	limit := account.Unlimited
	next := ""
	end := v.reader.day(u.PeriodEnd)
	switch {
	case u.Allowance == nil:
	case !u.Refuses:
		limit, next = *u.Allowance, "Beyond 100 %, calls continue at a lower rate until "+end+"."
	case u.PackUnits > 0:
		limit, next = *u.Allowance, "Beyond 100 %, calls use packs, which have "+units(u.PackUnits)+" left."
	default:
		limit, next = *u.Allowance, "At 100 %, calls are refused with -32007 until "+end+"."
	}
	return []meterBar{newMeterBar("Plan "+u.PlanTitle, u.Used, limit, next)}
}
