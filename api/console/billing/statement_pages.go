package billing

import (
	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/view"
)

// statementsPage lists billing periods, newest first.
type statementsPage struct{ Periods []periodRow }

func (statementsPage) Head() view.Head {
	return view.Head{
		Template: "statements", Title: "Statements", Section: view.SectionStatements,
		Scripts: []string{view.ScriptTable},
	}
}

// periodRow is a billing period.
type periodRow struct {
	Key, Days       string
	Status          view.Status
	Requests, Units string
}

// statementPage shows what was used and invoiced in a period, on screen and printed.
type statementPage struct {
	Period, Days    string
	Status          view.Status
	Hash, Table     string
	Facts           []view.Fact
	Requests, Units view.Sum
	Limits          []view.Fact
	Invoices        invoiceTable
	Usage           usageTable
	Adjustments     []usageTable
}

func (p *statementPage) Head() view.Head {
	return view.Head{
		Template: "statement", Title: "Statement of " + p.Days, Section: view.SectionStatements,
		Crumbs: []view.Link{{Text: "Statements", To: paths.Statements}}, Scripts: []string{view.ScriptTable},
	}
}

// usageTable is a table of figures, grouped by key, with their total.
type usageTable struct {
	Title  string
	Groups []usageGroup
	Total  usageRow
	Note   string // what is not shown; empty when everything is
}

// usageGroup is the usage of a key by chain and class.
type usageGroup struct {
	Head usageRow
	Rows []usageRow
}

// usageRow is a row of a group. Charged, hits and refused add up to the requests.
type usageRow struct {
	Name, About                             string
	Requests, Charged, Hits, Refused, Units string
}

// invoiceTable lists invoices with their sums, which are empty when currencies differ.
type invoiceTable struct {
	Rows            []statementInvoice
	Net, VAT, Total string
	Void            bool // the sums omit void invoices
}

// statementInvoice is an invoice of a statement. Net and VAT add up to the total.
type statementInvoice struct {
	Number, Day, For string
	Status           view.Status
	Net, VAT, Total  string
}
