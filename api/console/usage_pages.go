package console

// usagePage is all that was used in a range, of all keys and chains or of one.
type usagePage struct {
	Ranges         []choiceLink
	Range          string // of the links and forms
	Keys, Chains   selection
	Filtered       bool
	Since, AsOf    string
	Table          string // address of the same as a file
	Stats          []stat
	Units          chart
	Requests       chart
	Latency        *chart // none when nothing was measured
	LatencyByChain []latencyRow
	Groups         []usageGroupTable
	Reasons        []failureRow
	Failed         []failedRow
	Beyond         string // how many more were refused, of which only the number is kept; empty for none
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

// latencyRow is how long answered calls of a chain took. Values are what the cells are sorted by.
type latencyRow struct{ Chain, Calls, P50, P95 string }

// usageGroupTable is usage that is told apart by a word.
type usageGroupTable struct {
	ID, Title, Head, Find string
	Rows                  []usageGroupRow
}

// usageGroupRow is usage that shares a word.
type usageGroupRow struct {
	Name, About                        string
	To                                 string // address of the same page for it alone; empty for none
	Requests, Units, Share, Hits, Lost string
	Rest                               bool // what is left, which no order moves
}

// failureRow is a reason for which calls were refused or failed.
type failureRow struct{ Title, Code, Page, Requests, Step string }

// failedRow is a call that was refused or failed.
type failedRow struct {
	At                                  moment
	Request, Help, Chain, Method        string
	Title, Code, Page, Status, Duration string
}
