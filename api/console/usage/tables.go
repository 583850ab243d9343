package usage

import (
	"strconv"
	"time"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service/usage"
)

// stretchOf returns the time that a step covers.
func stretchOf(u *usage.ExploredUsage, s *usage.ExploredStep) view.Stretch {
	return view.Stretch{
		Start: s.Start.UTC(), Hour: u.StepSeconds < int64(view.DayLength/time.Second),
		Partial: s.Partial,
	}
}

// unitsChart draws the units of a range, by class where classes are known.
func unitsChart(r view.Reader, u *usage.ExploredUsage) view.Chart {
	days := make([]view.DayUsage, len(u.Steps))
	for i := range u.Steps {
		s := &u.Steps[i]
		days[i] = view.DayUsage{
			Stretch: stretchOf(u, s), Standard: s.Units - s.Heavy - s.Other, Heavy: s.Heavy,
			Other: s.Other, Requests: s.Requests,
		}
	}
	return r.NewChart(days)
}

// requestsChart draws the outcomes of the requests of a range.
func requestsChart(r view.Reader, u *usage.ExploredUsage) view.Chart {
	p := view.Plot{
		ID: "requests", What: "Requests", Sum: view.Count(u.Total.Requests, "request"),
		Columns: []string{"Charged", "From the cache", "Refused", "Requests"}, Series: []view.Series{
			{Name: "charged", Class: "accent"},
			{Name: "from the cache", Class: "muted"},
			{Name: "refused or failed", Class: "bad"},
		},
	}
	for i := range u.Steps {
		s := &u.Steps[i]
		at := stretchOf(u, s)
		p.Head = at.Head()
		charged := s.Requests - s.Hits - s.Refusals
		p.Bars = append(p.Bars, view.Bar{
			Label: r.Label(at), Short: r.ShortLabel(at), Partial: s.Partial,
			Heights: []plan.Units{
				plan.Units(charged) * plan.Unit, plan.Units(s.Hits) * plan.Unit, plan.Units(s.Refusals) * plan.Unit,
			},
			Cells: []string{
				view.Number(charged), view.Number(s.Hits), view.Number(s.Refusals),
				view.Number(s.Requests),
			},
			Says: view.Count(s.Requests, "request") + ", " + view.Number(s.Hits) + " from the cache, " +
				view.Number(s.Refusals) +
				" refused or failed" + at.NotOver(),
		})
	}
	return p.Draw()
}

// latencyChart draws the latency of answers: p95 above p50. It returns nil when nothing was
// measured.
func latencyChart(r view.Reader, u *usage.ExploredUsage) *view.Chart {
	if u.P50.Value == nil {
		return nil
	}
	p := view.Plot{
		ID: "latency", What: "Latency", Sum: "p50 " + millis(u.P50) + ", p95 " + millis(u.P95),
		Columns: []string{"p50", "p95", "Requests"}, Series: []view.Series{
			{Name: "p50, milliseconds", Class: "accent"}, {Name: "p95, milliseconds", Class: "muted"},
		},
	}
	for i := range u.Steps {
		s := &u.Steps[i]
		at := stretchOf(u, s)
		p.Head = at.Head()
		b := view.Bar{
			Label: r.Label(at), Short: r.ShortLabel(at), Partial: s.Partial, Cells: []string{
				millis(s.P50), millis(s.P95), view.Number(s.Requests),
			},
			Says: "no answers measured" + at.NotOver(),
		}
		if s.P50.Value != nil && s.P95.Value != nil {
			b.Heights = []plan.Units{plan.Units(*s.P50.Value), plan.Units(*s.P95.Value - *s.P50.Value)}
			b.Says = "p50 " + millis(s.P50) + ", p95 " + millis(s.P95) + ", " + view.Count(s.Requests, "request") +
				at.NotOver()
		}
		p.Bars = append(p.Bars, b)
	}
	c := p.Draw()
	return &c
}

// usageGroups returns the tables of a range: by chain, method, key and class.
func usageGroups(r view.Reader, u *usage.ExploredUsage, in *usage.ExploreUsageInput) []usageGroupTable {
	chains := usageGroupTable{ID: "by-chain", Title: "By chain", Head: "Chain", Find: "Find a chain"}
	for i := range u.ByChain {
		row := groupRow(u, &u.ByChain[i], r.ChainTitle(u.ByChain[i].Name), "chain")
		if id := u.ByChain[i].Name; id != "" && in.Chain == "" && !row.Rest {
			to := *in
			to.Chain = chain.ID(id)
			row.To = addressOf(paths.Usage, &to)
		}
		chains.Rows = append(chains.Rows, row)
	}
	methods := usageGroupTable{ID: "by-method", Title: "By method", Head: "Method", Find: "Find a method"}
	for i := range u.ByMethod {
		methods.Rows = append(methods.Rows, groupRow(u, &u.ByMethod[i], view.ClassTitle(u.ByMethod[i].Name), "method"))
	}
	keys := usageGroupTable{ID: "by-key", Title: "By key", Head: "Key", Find: "Find a key"}
	for i := range u.ByKey {
		e := &u.ByKey[i]
		row := groupRow(u, e, usageKeyTitle(e), "key")
		if row.About = e.Agent; e.Agent != "" {
			row.About = "agent " + e.Agent
		}
		if e.KeyPrefix != "" && in.KeyID == "" {
			to := *in
			to.KeyID = e.KeyID
			row.To = addressOf(paths.Usage, &to)
		}
		keys.Rows = append(keys.Rows, row)
	}
	classes := usageGroupTable{ID: "by-class", Title: "By class", Head: "Class", Find: "Find a class"}
	for i := range u.ByClass {
		classes.Rows = append(classes.Rows, groupRow(u, &u.ByClass[i], view.ClassTitle(u.ByClass[i].Name), "class"))
	}
	return []usageGroupTable{chains, methods, keys, classes}
}

func usageKeyTitle(e *usage.UsageEntry) string {
	if e.Name == "" && e.KeyPrefix == "" {
		return "Key now in another account"
	}
	return view.KeyTitle(e.Name, e.KeyPrefix+"…")
}

func groupRow(u *usage.ExploredUsage, e *usage.UsageEntry, name, noun string) usageGroupRow {
	row := usageGroupRow{
		Name: name, Requests: view.Number(e.Requests), Units: e.Units.Grouped(),
		Share: shareOf(int64(e.Units), int64(u.Total.Units)), Hits: view.Number(e.CacheHits),
		Lost: view.Number(e.Refusals),
		Rest: e.Rest > 0,
	}
	if row.Rest {
		row.Name = view.Count(e.Rest, "further "+noun)
	}
	return row
}

// failurePage returns the path of the page that explains a code.
func failurePage(code int) string {
	if code == 0 {
		return ""
	}
	return "/docs/errors/" + strconv.Itoa(code)
}

func failureRows(reasons []usage.FailedReason) []failureRow {
	rows := make([]failureRow, len(reasons))
	for i, f := range reasons {
		rows[i] = failureRow{
			Title: f.Title, Code: view.CodeOf(f.Code), Page: failurePage(f.Code), Requests: view.Number(f.Requests),
		}
		if reason, known := fault.Named(f.Reason); known {
			rows[i].Step = view.ForPeople(reason.Entry().Steps[0])
		}
	}
	return rows
}

func failedRowOf(r view.Reader, f *usage.FailedCall) failedRow {
	row := failedRow{
		At: r.Moment(f.At), Request: f.RequestID, Help: paths.AskAbout + f.RequestID,
		Chain:  r.ChainTitle(string(f.Chain)),
		Method: view.ClassTitle(f.Method), Title: view.LimitTitle(f.Reason), Code: view.CodeOf(f.Code),
		Page:   failurePage(f.Code),
		Status: strconv.Itoa(f.HTTPStatus),
	}
	duration := f.DurationMS
	row.Duration = millis(usage.MaybeFigure{Value: &duration})
	return row
}
