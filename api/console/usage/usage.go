package usage

import (
	"cmp"
	"errors"
	"math/bits"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/keys"
	"github.com/chainaccess/gateway/service/usage"
)

const pathUsageTable = "/usage.csv"

// usageRanges are the ranges of the page, by the operation's names.
var usageRanges = []view.Link{
	{Text: "24 hours", To: "24h"},
	{Text: "7 days", To: "7d"},
	{Text: "30 days", To: "30d"},
	{Text: "This period", To: periodRange},
}

const (
	defaultRange = "7d"
	periodRange  = "period"
)

// usageInput returns the range, the key and the chain in the URL. An empty field means all.
func usageInput(v *site.Request) usage.ExploreUsageInput {
	q := v.R.URL.Query()
	return usage.ExploreUsageInput{
		Range: cmp.Or(q.Get("range"), defaultRange), KeyID: q.Get("key"), Chain: chain.ID(q.Get("chain")),
	}
}

// addressOf returns the URL of the page for a range, a key and a chain.
func addressOf(path string, in *usage.ExploreUsageInput) string {
	q := url.Values{"range": {in.Range}}
	if in.KeyID != "" {
		q.Set("key", in.KeyID)
	}
	if in.Chain != "" {
		q.Set("chain", string(in.Chain))
	}
	return path + "?" + q.Encode()
}

// showUsage shows the usage of a range in every recorded dimension.
func showUsage(v *site.Request) error {
	in := usageInput(v)
	var used usage.ExploredUsage
	var list keys.KeyList
	err := v.InParallel(site.Asked(v, v.Calls.ExploreUsage, in, &used),
		site.Asked(v, v.Calls.ListKeys, keys.ListKeysInput{},
			&list))
	if err != nil {
		return noUsage(err)
	}
	p := usagePageOf(v.Reader, &used, &in, keySelection(list.Keys, in.KeyID, usedSince(v, &used)))
	if used.Total.Requests == 0 && !p.Filtered {
		p.Start = noUsageYet(v, len(list.Keys), in.Range)
	}
	return v.Show(http.StatusOK, p)
}

// usedSince returns the first hour of the range. For a period, that is its exact start and not the
// start of that day.
func usedSince(v *site.Request, used *usage.ExploredUsage) time.Time {
	if began := v.Session.PeriodStart.Truncate(time.Hour); used.Range == periodRange && began.After(used.Since) {
		return began
	}
	return used.Since
}

func usagePageOf(r view.Reader, used *usage.ExploredUsage, in *usage.ExploreUsageInput,
	keys view.Selection,
) *usagePage {
	p := &usagePage{
		Range: in.Range, Table: addressOf(pathUsageTable, in), Since: usageSince(r, used), Filtered: in.KeyID != "" ||
			in.Chain != "",
		Keys: keys, Chains: chainSelection(r.Chains, in.Chain), Stats: usageStats(used),
		Units: unitsChart(r, used), Requests: requestsChart(r, used), Latency: latencyChart(r, used),
		Groups: usageGroups(r, used, in), Reasons: failureRows(used.Reasons),
	}
	if used.AsOf != nil {
		p.AsOf = r.Moment(*used.AsOf).Exact
	}
	for _, choice := range usageRanges {
		to := *in
		to.Range = choice.To
		p.Ranges = append(p.Ranges, view.ChoiceLink{Link: view.Link{
			Text: choice.Text,
			To:   addressOf(paths.Usage, &to),
		}, Current: choice.To == in.Range})
	}
	for _, l := range used.Latency {
		p.LatencyByChain = append(p.LatencyByChain, latencyRow{
			r.ChainTitle(l.Chain), view.Number(l.Calls), millis(l.P50), millis(l.P95),
		})
	}
	if used.Beyond > 0 {
		p.Beyond = view.Number(used.Beyond)
	}
	for i := range used.Recent {
		p.Failed = append(p.Failed, failedRowOf(r, &used.Recent[i]))
	}
	return p
}

// sendUsageTable sends the usage of a range as CSV.
func sendUsageTable(v *site.Request) error {
	t, err := site.Ask(v, v.Calls.ExportUsage, usageInput(v))
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Data["most_rows"] != nil {
		return err // it says what to choose instead
	}
	if err != nil {
		return noUsage(err)
	}
	return v.SendTable(t.Document())
}

// noUsage returns the error for a URL whose filters match nothing.
func noUsage(err error) error {
	if site.RefusedFor(err, fault.NotYours) || site.RefusedFor(err, fault.FieldRefused) {
		return &site.PageError{
			Status: http.StatusNotFound, Heading: "There is no such usage", Cause: err,
			Text: "This address names a range, key or chain that this account does not have. Usage in the menu shows " +
				"everything.",
		}
	}
	return err
}

// noUsageYet shows what to do when there is no usage.
func noUsageYet(v *site.Request, keys int, in string) *view.Empty {
	if keys == 0 {
		return &view.Empty{
			Title: "No key yet", Text: "Create a key, then send it with each call. What it uses shows up here.",
			Action: &view.Link{Text: "Create key", To: "/keys/new"},
		}
	}
	if in != "30d" {
		return &view.Empty{
			Title: "Nothing was used in this range", Text: "A call shows up here some seconds after it was made.",
			Action: &view.Link{Text: "Look at 30 days", To: paths.Usage + "?range=30d"},
		}
	}
	call := view.FirstCall(v.PublicURL)
	return &view.Empty{
		Title: "Nothing was used in 30 days",
		Text:  "Put your key into this command. The call shows up here some seconds later.", Command: &call,
	}
}

// usageSince describes the range, in the time zone of its steps.
func usageSince(r view.Reader, u *usage.ExploredUsage) string {
	if u.StepSeconds < int64(view.DayLength/time.Second) {
		return r.Moment(u.Since).Exact
	}
	return view.UTC(u.Since)
}

// keySelection offers the chosen key and those used since an instant, because an account may have a
// thousand keys, most of them unused.
func keySelection(keys []keys.KeyView, chosen string, since time.Time) view.Selection {
	s := view.Selection{Name: "key", Label: "Key", Options: []view.Option{{Value: "", Text: "All keys"}}}
	for i := range keys {
		k := &keys[i]
		if k.ID != chosen && (k.LastUsedAt == nil || k.LastUsedAt.Before(since)) {
			continue
		}
		text := view.KeyTitle(k.Name, k.Prefix)
		if k.Status != account.Active {
			text += " (" + string(k.Status) + ")"
		}
		s.Options = append(s.Options, view.Option{Value: k.ID, Text: text, Chosen: k.ID == chosen})
	}
	return s
}

func chainSelection(known *chain.Set, chosen chain.ID) view.Selection {
	s := view.Selection{Name: "chain", Label: "Chain", Options: []view.Option{{Value: "", Text: "All chains"}}}
	for _, c := range known.All() {
		s.Options = append(s.Options, view.Option{Value: string(c.ID), Text: c.Title, Chosen: c.ID == chosen})
	}
	return s
}

func usageStats(u *usage.ExploredUsage) []view.Stat {
	t := &u.Total
	return []view.Stat{
		{Label: "Units", Value: t.Units.Grouped(), Unit: "units", Note: "charged"},
		{
			Label: "Requests", Value: view.Number(t.Requests),
			Note: shareOf(t.CacheHits, t.Requests) + " from the cache, free",
		},
		{
			Label: "Refused or failed", Value: view.Number(t.Refusals),
			Note: shareOf(t.Refusals, t.Requests) + " of the requests, free",
		},
		{
			Label: "Half of the answers within", Value: view.OrDash(bare(u.P50)), Unit: "ms",
			Note: "p50, from request to answer",
		},
		{
			Label: "95 % of the answers within", Value: view.OrDash(bare(u.P95)), Unit: "ms",
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
func bare(m usage.MaybeFigure) string {
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

// millis formats milliseconds with the unit; a dash when nothing was measured.
func millis(m usage.MaybeFigure) string {
	if text := bare(m); text != "" {
		return text + " ms"
	}
	return "–"
}
