package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/chainaccess/gateway/cmd/internal/operator"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/metering/plan"
)

// writeAccount writes an account as text: its terms, and a table of each thing that it has several
// of.
func writeAccount(out io.Writer, v *operator.AccountView) error {
	sections := []func(io.Writer, *operator.AccountView){
		writeTerms, writeLimits, writePacks, writeKeys, writeDue, writeChanges,
	}
	for _, section := range sections {
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		section(table, v)
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// line writes a row of cells. It replaces unprintable characters, which a terminal could interpret:
// names and reasons are untrusted text.
func line(table io.Writer, cells ...string) {
	for i, cell := range cells {
		cells[i] = strings.Map(func(r rune) rune {
			if !unicode.IsPrint(r) {
				return '?'
			}
			return r
		}, cell)
	}
	fmt.Fprintln(table, strings.Join(cells, "\t"))
}

func writeTerms(table io.Writer, v *operator.AccountView) {
	line(table, "ACCOUNT", fmt.Sprintf("%s (%s), since %s", v.ID, v.Kind, day(v.CreatedAt)))
	line(table, "STATUS", string(v.Status))
	terms := "plan " + v.Plan
	if v.Contract {
		terms += ", by contract"
	}
	switch {
	case v.Quota != nil:
		terms += ", " + quotaWords(*v.Quota)
	case v.SoftCeiling != nil:
		terms += ", slower after " + v.SoftCeiling.Grouped() + " units a period"
	default:
		terms += ", " + quotaWords(account.Unlimited)
	}
	per := v.RatePer
	if d, err := time.ParseDuration(per); err == nil {
		per = duration(d)
	}
	line(table, "TERMS", fmt.Sprintf("%s, %s requests per %s", terms, number(v.RateLimit), per))
	months := "calendar month"
	if v.CycleAnchor != nil {
		months = "subscription of " + day(*v.CycleAnchor)
	}
	line(table, "PERIOD", fmt.Sprintf("%s to %s (%s)", moment(v.PeriodStart), moment(v.PeriodEnd), months))
	r := &v.Recorded
	line(table, "REQUESTS", fmt.Sprintf("%s: %s billable, %s, %s refused (%s of them refunded)",
		number(r.Requests), number(r.Billable), counted(int(r.Hits), "cache hit"), number(r.Refused),
		number(r.Refunded)))
	line(table, "UNITS", fmt.Sprintf("%s: %s from the plan, %s from packs", r.Units.Grouped(), r.PlanUnits.Grouped(),
		r.PackUnits.Grouped()))
	until := "never flushed"
	if v.CompleteUntil != nil {
		until = moment(*v.CompleteUntil)
	}
	line(table, "COMPLETE UNTIL", until)
	line(table, "SERVICES OFF", listed(v.ServicesOff))
	line(table, "FENCES VERSION", number(v.Version))
}

func writeLimits(table io.Writer, v *operator.AccountView) {
	if len(v.Fences) == 0 {
		return
	}
	line(table, "")
	line(table, "FENCE", "USED", "LIMIT", "REMAINING")
	for i := range v.Fences {
		f := &v.Fences[i]
		line(table, f.Name, f.Used.Grouped(), f.Limit.Grouped(), f.Remaining.Grouped())
	}
}

func writePacks(table io.Writer, v *operator.AccountView) {
	if len(v.Packs) == 0 {
		return
	}
	line(table, "")
	line(table, "PACK", "KIND", "GRANTED", "USED", "REMAINING", "EXPIRES", "ORIGIN")
	for i := range v.Packs {
		p := &v.Packs[i]
		expires := day(p.ExpiresAt)
		if p.Expired {
			expires += ", expired"
		}
		line(table, p.ID.String(), p.Kind, p.Granted.Grouped(), units(p.Used), units(p.Remaining), expires, p.Origin)
	}
	if !v.DrawsPacks {
		line(table, "packs are not used: these terms have no quota")
	}
}

func writeKeys(table io.Writer, v *operator.AccountView) {
	line(table, "")
	line(table, "KEY", "PREFIX", "NAME", "DOOR", "STATUS", "CAP", "SERVICES OFF", "LAST CHANGE")
	for i := range v.Keys {
		k := &v.Keys[i]
		limit := "-"
		if k.MonthlyCap > 0 {
			limit = k.MonthlyCap.Grouped()
		}
		line(table, k.ID.String(), k.Prefix, orDash(k.Name), string(k.Door), string(k.Status), limit,
			listed(k.ServicesOff), moment(k.ChangedAt))
	}
	if v.MoreKeys > 0 {
		line(table, "and "+counted(v.MoreKeys, "key")+" more")
	}
}

func writeDue(table io.Writer, v *operator.AccountView) {
	if len(v.Due) == 0 {
		return
	}
	line(table, "")
	line(table, "NOT IN FORCE YET", "VERSION", "SINCE")
	for _, d := range v.Due {
		of := "the account"
		if d.Key != "" {
			of = "key " + d.Key
		}
		line(table, of, number(d.Version), moment(d.Since))
	}
}

func writeChanges(table io.Writer, v *operator.AccountView) {
	if len(v.Changes) == 0 {
		return
	}
	line(table, "")
	line(table, "CHANGED", "WHO", "FROM", "WHAT", "WHY")
	for i := range v.Changes {
		c := &v.Changes[i]
		what := c.Action
		if c.Key != "" {
			what += " " + c.Key
		}
		line(table, moment(c.At), c.Actor, c.Origin, what, orDash(c.Reason))
	}
}

func number(n int64) string { return plan.Group(strconv.FormatInt(n, 10)) }

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func moment(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

func units(u *plan.Units) string {
	if u == nil {
		return "?"
	}
	return u.Grouped()
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func listed(names []string) string { return orDash(strings.Join(names, " ")) }

func quotaWords(quota plan.Units) string {
	if quota == account.Unlimited {
		return "no quota"
	}
	return quota.Grouped() + " units a period"
}

// duration formats d without the zero parts that Go writes: 15m, not 15m0s.
func duration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
