package console

// usagePage shows the usage of a range, of all keys and chains or of one.
type usagePage struct {
	Ranges         []choiceLink
	Range          string // for links and forms
	Keys, Chains   selection
	Filtered       bool
	Since, AsOf    string
	Table          string // URL of the same as CSV
	Stats          []stat
	Units          chart
	Requests       chart
	Latency        *chart // nil when nothing was measured
	LatencyByChain []latencyRow
	Groups         []usageGroupTable
	Reasons        []failureRow
	Failed         []failedRow
	Beyond         string // how many more refusals there were, of which only the number is stored; empty for none
	Start          *empty
}

func (*usagePage) head() head {
	return head{
		Template: "usage", Title: "Usage", Section: sectionUsage, Scripts: []string{
			scriptCopy, scriptChart, scriptTable,
		},
	}
}

// choiceLink is one of several views of a page.
type choiceLink struct {
	link

	Current bool
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
	At                                  moment
	Request, Help, Chain, Method        string
	Title, Code, Page, Status, Duration string
}
