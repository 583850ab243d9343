package usage

import "github.com/chainaccess/gateway/api/console/view"

// overviewPage shows the units of the period against the allowance, by day, and refusals.
type overviewPage struct {
	Stats    []view.Stat
	Limits   []view.MeterBar
	Chart    view.Chart
	Refusals []view.Notice
	Insights []view.Insight
	Chains   *view.Chains // nil when not available
	Keys     []view.KeyRow
	MoreKeys int // number of keys that are not listed here
	Start    *view.Empty
}

func (overviewPage) Head() view.Head {
	return view.Head{
		Template: "overview", Title: "Overview", Section: view.SectionOverview, Scripts: []string{
			view.ScriptCopy, view.ScriptChart, view.ScriptTable,
		},
	}
}

// usagePage shows the usage of a range, of all keys and chains or of one.
type usagePage struct {
	Ranges         []view.ChoiceLink
	Range          string // for links and forms
	Keys, Chains   view.Selection
	Filtered       bool
	Since, AsOf    string
	Table          string // URL of the same as CSV
	Stats          []view.Stat
	Units          view.Chart
	Requests       view.Chart
	Latency        *view.Chart // nil when nothing was measured
	LatencyByChain []latencyRow
	Groups         []usageGroupTable
	Reasons        []failureRow
	Failed         []failedRow
	Beyond         string // how many more refusals there were, of which only the number is stored; empty for none
	Start          *view.Empty
}

func (*usagePage) Head() view.Head {
	return view.Head{
		Template: "usage", Title: "Usage", Section: view.SectionUsage, Scripts: []string{
			view.ScriptCopy, view.ScriptChart, view.ScriptTable,
		},
	}
}

// latencyRow is the latency of answered calls of a chain. The values are the sort keys of the
// cells.
type latencyRow struct{ Chain, Calls, P50, P95 string }

// usageGroupTable is usage grouped by one dimension.
type usageGroupTable struct {
	ID, Title, Head, Find string
	Rows                  []usageGroupRow
}

// usageGroupRow is the usage of one group.
type usageGroupRow struct {
	Name, About                        string
	To                                 string // URL of the page for this group; empty for none
	Requests, Units, Share, Hits, Lost string
	Rest                               bool // the remaining groups, always sorted last
}

// failureRow is a reason for which calls were refused or failed.
type failureRow struct{ Title, Code, Page, Requests, Step string }

// failedRow is a call that was refused or failed.
type failedRow struct {
	At                                  view.Moment
	Request, Help, Chain, Method        string
	Title, Code, Page, Status, Duration string
}
