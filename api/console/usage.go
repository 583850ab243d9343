package console

import (
	"cmp"
	"errors"
	"math/bits"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service"
)

const (
	pathUsage      = "/usage"
	pathUsageTable = "/usage.csv"
)

// usageRanges are the ranges of the page, by the operation's names.
var usageRanges = []link{{"24 hours", "24h"}, {"7 days", "7d"}, {"30 days", "30d"}, {"This period", periodRange}}

const (
	defaultRange = "7d"
	periodRange  = "period"
)

// usageInput returns the range, the key and the chain in the URL. An empty field means all.
func (v *request) usageInput() service.ExploreUsageInput {
	q := v.r.URL.Query()
	return service.ExploreUsageInput{
		Range: cmp.Or(q.Get("range"), defaultRange), KeyID: q.Get("key"), Chain: chain.ID(q.Get("chain")),
	}
}

// usageAddress returns the URL of the page for a range, a key and a chain.
func usageAddress(path string, in *service.ExploreUsageInput) string {
	q := url.Values{"range": {in.Range}}
	if in.KeyID != "" {
		q.Set("key", in.KeyID)
	}
	if in.Chain != "" {
		q.Set("chain", string(in.Chain))
	}
	return path + "?" + q.Encode()
}

// usage shows the usage of a range in every recorded dimension.
func (v *request) usage() error {
	in := v.usageInput()
	var used service.ExploredUsage
	var list service.KeyList
	err := v.inParallel(asked(v, v.Calls.ExploreUsage, in, &used), asked(v, v.Calls.ListKeys, service.ListKeysInput{},
		&list))
	if err != nil {
		return noUsage(err)
	}
	p := v.reader.usagePage(&used, &in, keySelection(list.Keys, in.KeyID, v.usedSince(&used)))
	if used.Total.Requests == 0 && !p.Filtered {
		p.Start = v.noUsageYet(len(list.Keys), in.Range)
	}
	return v.show(http.StatusOK, p)
}

// usedSince returns the first hour of the range. For a period, that is its exact start and not the
// start of that day.
func (v *request) usedSince(used *service.ExploredUsage) time.Time {
	if began := v.session.PeriodStart.Truncate(time.Hour); used.Range == periodRange && began.After(used.Since) {
		return began
	}
	return used.Since
}

func (r reader) usagePage(used *service.ExploredUsage, in *service.ExploreUsageInput, keys selection) *usagePage {
	p := &usagePage{
		Range: in.Range, Table: usageAddress(pathUsageTable, in), Since: r.usageSince(used), Filtered: in.KeyID != "" ||
			in.Chain != "",
		Keys: keys, Chains: chainSelection(in.Chain), Stats: usageStats(used),
		Units: r.unitsChart(used), Requests: r.requestsChart(used), Latency: r.latencyChart(used),
		Groups: usageGroups(used, in), Reasons: failureRows(used.Reasons),
	}
	if used.AsOf != nil {
		p.AsOf = r.moment(*used.AsOf).Exact
	}
	for _, choice := range usageRanges {
		to := *in
		to.Range = choice.To
		p.Ranges = append(p.Ranges, choiceLink{link{choice.Text, usageAddress(pathUsage, &to)}, choice.To == in.Range})
	}
	for _, l := range used.Latency {
		p.LatencyByChain = append(p.LatencyByChain, latencyRow{
			chainTitle(l.Chain), number(l.Calls), millis(l.P50), millis(l.P95),
		})
	}
	if used.Beyond > 0 {
		p.Beyond = number(used.Beyond)
	}
	for i := range used.Recent {
		p.Failed = append(p.Failed, r.failedRow(&used.Recent[i]))
	}
	return p
}

// usageTable sends the usage of a range as CSV.
func (v *request) usageTable() error {
	t, err := ask(v, v.Calls.ExportUsage, v.usageInput())
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Data["most_rows"] != nil {
		return err // it says what to choose instead
	}
	if err != nil {
		return noUsage(err)
	}
	return v.sendTable(t.Document())
}

// noUsage returns the error for a URL whose filters match nothing.
func noUsage(err error) error {
	if refusedFor(err, fault.NotYours) || refusedFor(err, fault.FieldRefused) {
		return &refusal{
			status: http.StatusNotFound, heading: "There is no such usage", cause: err,
			text: "This address names a range, key or chain that this account does not have. Usage in the menu shows " +
				"everything.",
		}
	}
	return err
}

// noUsageYet shows what to do when there is no usage.
func (v *request) noUsageYet(keys int, in string) *empty {
	if keys == 0 {
		return &empty{
			Title: "No key yet", Text: "Create a key, then send it with each call. What it uses shows up here.",
			Action: &link{"Create key", "/keys/new"},
		}
	}
	if in != "30d" {
		return &empty{
			Title: "Nothing was used in this range", Text: "A call shows up here some seconds after it was made.",
			Action: &link{"Look at 30 days", pathUsage + "?range=30d"},
		}
	}
	call := firstCall(v.PublicURL)
	return &empty{
		Title: "Nothing was used in 30 days",
		Text:  "Put your key into this command. The call shows up here some seconds later.", Command: &call,
	}
}

// usageSince describes the range, in the time zone of its steps.
func (r reader) usageSince(u *service.ExploredUsage) string {
	if u.StepSeconds < int64(dayLength/time.Second) {
		return r.moment(u.Since).Exact
	}
	return utc(u.Since)
}

// keySelection offers the chosen key and those used since an instant, because an account may have a
// thousand keys, most of them unused.
func keySelection(keys []service.KeyView, chosen string, since time.Time) selection {
	s := selection{Name: "key", Label: "Key", Options: []option{{Value: "", Text: "All keys"}}}
	for i := range keys {
		k := &keys[i]
		if k.ID != chosen && (k.LastUsedAt == nil || k.LastUsedAt.Before(since)) {
			continue
		}
		text := keyTitle(k.Name, k.Prefix)
		if k.Status != account.Active {
			text += " (" + string(k.Status) + ")"
		}
		s.Options = append(s.Options, option{k.ID, text, k.ID == chosen})
	}
	return s
}

func chainSelection(chosen chain.ID) selection {
	s := selection{Name: "chain", Label: "Chain", Options: []option{{Value: "", Text: "All chains"}}}
	for _, c := range chain.All() {
		s.Options = append(s.Options, option{string(c.ID), c.Title, c.ID == chosen})
	}
	return s
}

func usageStats(u *service.ExploredUsage) []stat {
	t := &u.Total
	return []stat{
		{Label: "Units", Value: t.Units.Grouped(), Unit: "units", Note: "charged"},
		{
			Label: "Requests", Value: number(t.Requests),
			Note: shareOf(t.CacheHits, t.Requests) + " from the cache, free",
		},
		{
			Label: "Refused or failed", Value: number(t.Refusals),
			Note: shareOf(t.Refusals, t.Requests) + " of the requests, free",
		},
		{
			Label: "Half of the answers within", Value: orDash(bare(u.P50)), Unit: "ms",
			Note: "p50, from request to answer",
		},
		{
			Label: "95 % of the answers within", Value: orDash(bare(u.P95)), Unit: "ms",
			Note: "p95, from request to answer",
		},
	}
}

// shareOf formats a share with one decimal, rounded down; a dash when whole is 0.
func shareOf(part, whole int64) string {
	const thousand = 1000
	if whole <= 0 {
		return "–"
	}
	part = min(max(0, part), whole)
	high, low := bits.Mul64(uint64(part), thousand)
	tenths, _ := bits.Div64(high, low, uint64(whole))
	return strconv.FormatUint(tenths/10, 10) + "." + strconv.FormatUint(tenths%10, 10) + " %"
}

// bare formats milliseconds without the unit; empty when nothing was measured. From 10 ms on it
// shows no decimals.
func bare(m service.MaybeFigure) string {
	if m.Value == nil {
		return ""
	}
	figure := plan.Units(*m.Value)
	if figure >= 10*plan.Unit {
		figure = (figure + plan.Unit/2) / plan.Unit * plan.Unit
	} else {
		figure = figure / 10 * 10
	}
	return figure.Grouped()
}

func orDash(text string) string { return cmp.Or(text, "–") }

// millis formats milliseconds with the unit; a dash when nothing was measured.
func millis(m service.MaybeFigure) string {
	if text := bare(m); text != "" {
		return text + " ms"
	}
	return "–"
}
