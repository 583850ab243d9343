package console

import (
	"strconv"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service"
)

// stretchOf returns the time that a step covers.
func stretchOf(u *service.ExploredUsage, s *service.ExploredStep) stretch {
	return stretch{start: s.Start.UTC(), hour: u.StepSeconds < int64(dayLength/time.Second), partial: s.Partial}
}

// unitsChart draws the units of a range, by class where classes are known.
func (r reader) unitsChart(u *service.ExploredUsage) chart {
	days := make([]dayUsage, len(u.Steps))
	for i := range u.Steps {
		s := &u.Steps[i]
		days[i] = dayUsage{
			stretch: stretchOf(u, s), standard: s.Units - s.Heavy - s.Other, heavy: s.Heavy,
			other: s.Other, requests: s.Requests,
		}
	}
	return r.newChart(days)
}

// requestsChart draws the outcomes of the requests of a range.
func (r reader) requestsChart(u *service.ExploredUsage) chart {
	p := plotted{
		id: "requests", what: "Requests", sum: count(u.Total.Requests, "request"),
		columns: []string{"Charged", "From the cache", "Refused", "Requests"}, series: []series{
			{"charged", "accent"}, {"from the cache", "muted"}, {"refused or failed", "bad"},
		},
	}
	for i := range u.Steps {
		s := &u.Steps[i]
		at := stretchOf(u, s)
		p.head = at.head()
		charged := s.Requests - s.Hits - s.Refusals
		p.bars = append(p.bars, bar{
			label: r.label(at), short: r.shortLabel(at), partial: s.Partial,
			heights: []plan.Units{
				plan.Units(charged) * plan.Unit, plan.Units(s.Hits) * plan.Unit, plan.Units(s.Refusals) * plan.Unit,
			},
			cells: []string{number(charged), number(s.Hits), number(s.Refusals), number(s.Requests)},
			says: count(s.Requests, "request") + ", " + number(s.Hits) + " from the cache, " + number(s.Refusals) +
				" refused or failed" + at.notOver(),
		})
	}
	return p.draw()
}

// latencyChart draws the latency of answers: p95 above p50. It returns nil when nothing was
// measured.
func (r reader) latencyChart(u *service.ExploredUsage) *chart {
	if u.P50.Value == nil {
		return nil
	}
	p := plotted{
		id: "latency", what: "Latency", sum: "p50 " + millis(u.P50) + ", p95 " + millis(u.P95),
		columns: []string{"p50", "p95", "Requests"}, series: []series{
			{"p50, milliseconds", "accent"}, {"p95, milliseconds", "muted"},
		},
	}
	for i := range u.Steps {
		s := &u.Steps[i]
		at := stretchOf(u, s)
		p.head = at.head()
		b := bar{
			label: r.label(at), short: r.shortLabel(at), partial: s.Partial, cells: []string{
				millis(s.P50), millis(s.P95), number(s.Requests),
			},
			says: "no answers measured" + at.notOver(),
		}
		if s.P50.Value != nil && s.P95.Value != nil {
			b.heights = []plan.Units{plan.Units(*s.P50.Value), plan.Units(*s.P95.Value - *s.P50.Value)}
			b.says = "p50 " + millis(s.P50) + ", p95 " + millis(s.P95) + ", " + count(s.Requests, "request") +
				at.notOver()
		}
		p.bars = append(p.bars, b)
	}
	c := p.draw()
	return &c
}

// usageGroups returns the tables of a range: by chain, method, key and class.
func usageGroups(u *service.ExploredUsage, in *service.ExploreUsageInput) []usageGroupTable {
	chains := usageGroupTable{ID: "by-chain", Title: "By chain", Head: "Chain", Find: "Find a chain"}
	for i := range u.ByChain {
		row := groupRow(u, &u.ByChain[i], chainTitle(u.ByChain[i].Name), "chain")
		if id := u.ByChain[i].Name; id != "" && in.Chain == "" && !row.Rest {
			to := *in
			to.Chain = chain.ID(id)
			row.To = usageAddress(pathUsage, &to)
		}
		chains.Rows = append(chains.Rows, row)
	}
	methods := usageGroupTable{ID: "by-method", Title: "By method", Head: "Method", Find: "Find a method"}
	for i := range u.ByMethod {
		methods.Rows = append(methods.Rows, groupRow(u, &u.ByMethod[i], classTitle(u.ByMethod[i].Name), "method"))
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
			row.To = usageAddress(pathUsage, &to)
		}
		keys.Rows = append(keys.Rows, row)
	}
	classes := usageGroupTable{ID: "by-class", Title: "By class", Head: "Class", Find: "Find a class"}
	for i := range u.ByClass {
		classes.Rows = append(classes.Rows, groupRow(u, &u.ByClass[i], classTitle(u.ByClass[i].Name), "class"))
	}
	return []usageGroupTable{chains, methods, keys, classes}
}

func usageKeyTitle(e *service.UsageEntry) string {
	if e.Name == "" && e.KeyPrefix == "" {
		return "Key now in another account"
	}
	return keyTitle(e.Name, e.KeyPrefix+"…")
}

func groupRow(u *service.ExploredUsage, e *service.UsageEntry, name, noun string) usageGroupRow {
	row := usageGroupRow{
		Name: name, Requests: number(e.Requests), Units: e.Units.Grouped(),
		Share: shareOf(int64(e.Units), int64(u.Total.Units)), Hits: number(e.CacheHits), Lost: number(e.Refusals),
		Rest: e.Rest > 0,
	}
	if row.Rest {
		row.Name = count(e.Rest, "further "+noun)
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

func failureRows(reasons []service.FailedReason) []failureRow {
	rows := make([]failureRow, len(reasons))
	for i, f := range reasons {
		rows[i] = failureRow{
			Title: f.Title, Code: codeOf(f.Code), Page: failurePage(f.Code), Requests: number(f.Requests),
		}
		if reason, known := fault.Named(f.Reason); known {
			rows[i].Step = forPeople(reason.Entry().Steps[0])
		}
	}
	return rows
}

func (r reader) failedRow(f *service.FailedCall) failedRow {
	row := failedRow{
		At: r.moment(f.At), Request: f.RequestID, Help: supportPath + f.RequestID, Chain: chainTitle(string(f.Chain)),
		Method: classTitle(f.Method), Title: limitTitle(f.Reason), Code: codeOf(f.Code), Page: failurePage(f.Code),
		Status: strconv.Itoa(f.HTTPStatus),
	}
	duration := f.DurationMS
	row.Duration = millis(service.MaybeFigure{Value: &duration})
	return row
}
