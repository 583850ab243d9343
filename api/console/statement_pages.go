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

// statementPage is what was used and invoiced in a period, to read and to print.
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

// usage is a table of figures, grouped by key, that add up to their total.
type usage struct {
	Title  string
	Groups []usageGroup
	Total  usageRow
	Note   string // what is not shown; empty when all is
}

// usageGroup is a key with what it used by chain and class.
type usageGroup struct {
	Head usageRow
	Rows []usageRow
}

// usageRow is the figures of a group. Charged, hits and refused add up to the requests.
type usageRow struct {
	Name, About                             string
	Requests, Charged, Hits, Refused, Units string
}

// invoiceTable is invoices with their sums, which are empty where they would mix currencies.
type invoiceTable struct {
	Rows            []statementInvoice
	Net, VAT, Total string
	Void            bool // some are not in the sums
}

// statementInvoice is an invoice of a statement. Net and VAT add up to the total.
type statementInvoice struct {
	Number, Day, For string
	Status           status
	Net, VAT, Total  string
}
