package console

// statementsPage lists billing periods, newest first.
type statementsPage struct{ Periods []periodRow }

func (statementsPage) head() head {
	return head{Template: "statements", Title: "Statements", Section: sectionStatements, Scripts: []string{scriptTable}}
}

// periodRow is a billing period.
type periodRow struct {
	Key, Days       string
	Status          status
	Requests, Units string
}

// statementPage shows what was used and invoiced in a period, on screen and printed.
type statementPage struct {
	Period, Days    string
	Status          status
	Hash, Table     string
	Facts           []fact
	Requests, Units sum
	Limits          []fact
	Invoices        invoiceTable
	Usage           usage
	Adjustments     []usage
}

func (p *statementPage) head() head {
	return head{
		Template: "statement", Title: "Statement of " + p.Days, Section: sectionStatements,
		Crumbs: []link{{"Statements", pathStatements}}, Scripts: []string{scriptTable},
	}
}

// usage is a table of figures, grouped by key, with their total.
type usage struct {
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
	Status           status
	Net, VAT, Total  string
}
