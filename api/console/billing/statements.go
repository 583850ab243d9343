package billing

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/statements"
)

// tableSuffix ends the URL of a statement that is downloaded as CSV.
const tableSuffix = ".csv"

// listStatements lists the billing periods of the account.
func listStatements(v *site.Request) error {
	list, err := site.Ask(v, v.Calls.ListStatements, operation.Nothing{})
	if err != nil {
		return err
	}
	p := statementsPage{Periods: make([]periodRow, len(list.Periods))}
	for i := range list.Periods {
		s := &list.Periods[i]
		row := periodRow{
			Key: s.Period, Days: view.Period(s.StartsAt, s.EndsAt), Status: periodStatus(s.Status),
			Requests: "–", Units: "–",
		}
		if s.Requests != nil {
			row.Requests = view.Number(*s.Requests)
		}
		if s.Units != nil {
			row.Units = s.Units.Grouped()
		}
		p.Periods[i] = row
	}
	return v.Show(http.StatusOK, p)
}

func periodStatus(s statement.Status) view.Status {
	switch s {
	case statement.Open:
		return view.Status{Text: "in progress"}
	case statement.Closing:
		return view.Status{Tone: view.Warn, Text: "closing"}
	case statement.Closed:
	}
	return view.Status{Tone: view.Good, Text: "closed"}
}

// showStatement shows the statement of a period, on screen and printed, or sends it as CSV.
func showStatement(v *site.Request) error {
	key := v.R.PathValue("period")
	if table, ok := strings.CutSuffix(key, tableSuffix); ok {
		return sendStatement(v, table)
	}
	s, err := site.Ask(v, v.Calls.GetStatement, statements.StatementInput{Period: key})
	if err != nil {
		return noPeriod(err)
	}
	return v.Show(http.StatusOK, statementPageOf(v, &s))
}

// noPeriod returns the error for a period that the account does not have.
func noPeriod(err error) error {
	if site.RefusedFor(err, fault.NotYours) || site.RefusedFor(err, fault.FieldRefused) {
		return &site.PageError{
			Status: http.StatusNotFound, Heading: "There is no such statement", Cause: err,
			Text: "No billing period of this account began on this date. Statements lists all periods.",
		}
	}
	return err
}

// sendStatement sends a statement as CSV.
func sendStatement(v *site.Request, key string) error {
	t, err := site.Ask(v, v.Calls.ExportStatement, statements.ExportStatementInput{Period: key})
	if err != nil {
		return noPeriod(err)
	}
	return v.SendTable(t.Document())
}

func statementPageOf(v *site.Request, s *statement.Statement) *statementPage {
	p := &statementPage{
		Period: s.Period, Days: view.Period(s.StartsAt, s.EndsAt), Status: periodStatus(s.Status), Hash: s.ContentHash,
		Table: paths.Statements + "/" + s.Period + tableSuffix,
		Facts: []view.Fact{
			{Name: "Account", Value: view.AccountTitle(v.Session.AccountName, v.Session.Email)},
			{Name: "Account id", Value: s.Account},
			{Name: "Plan", Value: view.PlanTitle(s.Plan)},
			{Name: "From", Value: view.UTC(s.StartsAt)},
			{Name: "To", Value: view.UTC(s.EndsAt) + ", exclusive"},
		},
		Requests: requestsSum(&s.Totals), Units: unitsSum(&s.Totals), Limits: limitRows(s.AtTheLimit),
		Invoices: invoicesTable(s.Invoices),
	}
	switch {
	case s.Status == statement.Closed:
		p.Facts = append(p.Facts, view.Fact{Name: "Closed", Value: view.UTC(s.GeneratedAt)})
	case s.AsOf != nil:
		p.Facts = append(p.Facts, view.Fact{Name: "Complete up to", Value: view.UTC(*s.AsOf)})
	}
	p.Usage = usageTableOf(v.Reader, "Usage by key, chain and method class", s.Keys, s.Totals)
	for i := range s.Adjustments {
		a := &s.Adjustments[i]
		title := "Of the period that began on " + a.Period
		p.Adjustments = append(p.Adjustments, usageTableOf(v.Reader, title, a.Keys, a.Totals))
	}
	return p
}

func requestsSum(t *statement.Totals) view.Sum {
	s := view.Sum{
		Title: "Requests", Total: view.Fact{Name: "All", Value: view.Number(t.Requests)},
		Lines: []view.Fact{
			{Name: "Charged", Value: view.Number(t.Billable)},
			{Name: "From the cache, free", Value: view.Number(t.CacheHits)},
			{Name: "Refused, free", Value: view.Number(t.Refusals)},
		},
	}
	if t.Refunded > 0 {
		s.Note = view.Number(t.Refunded) + " of the refused requests were charged first and then refunded."
	}
	return s
}

func unitsSum(t *statement.Totals) view.Sum {
	return view.Sum{
		Title: "Weighted units", Total: view.Fact{Name: "All", Value: t.Units.Grouped()},
		Lines: []view.Fact{
			{Name: "From the plan", Value: t.PlanUnits.Grouped()},
			{Name: "From packs", Value: t.PackUnits.Grouped()},
		},
	}
}

func limitRows(limits []statement.Limit) []view.Fact {
	rows := make([]view.Fact, len(limits))
	for i, l := range limits {
		rows[i] = view.Fact{
			Name:  view.LimitTitle(l.Reason) + " (" + view.CodeOf(l.Code) + ")",
			Value: view.Number(l.Requests),
		}
	}
	return rows
}

// maxUsageLines is how many lines of usage a page shows. A statement of many keys has thousands,
// which only its CSV file contains.
const maxUsageLines = 100

// usageTableOf returns usage by key, and for each key by chain and class, with totals. When it is
// too long, it shows the keys with the most requests and sums up the others in one line.
func usageTableOf(r view.Reader, title string, keys []statement.Key, totals statement.Totals) usageTable {
	u := usageTable{Title: title, Total: usageCells("All", "", &totals)}
	shown, others := mostUsed(keys)
	for i := range shown {
		k := &shown[i]
		group := usageGroup{Head: usageCells(usedKeyTitle(k), k.Prefix, &k.Totals)}
		if k.Agent != nil {
			group.Head.About = strings.TrimSpace(group.Head.About + " agent " + k.Agent.Name)
		}
		for c := range k.Chains {
			of := &k.Chains[c]
			for _, class := range of.Classes {
				t := class.Totals()
				group.Rows = append(group.Rows, usageCells(r.ChainTitle(of.Chain), view.ClassTitle(class.Class), &t))
			}
		}
		u.Groups = append(u.Groups, group)
	}
	if len(others) > 0 {
		var left statement.Totals
		for i := range others {
			left = left.Plus(others[i].Totals)
		}
		u.Groups = append(u.Groups, usageGroup{Head: usageCells("All other keys", view.Number(int64(len(others))),
			&left)})
		u.Note = "These are the keys with the most requests. The CSV has all lines of all " +
			view.Number(int64(len(keys))) + "."
	}
	return u
}

// mostUsed returns the keys that a page shows and the others. When there are too many, it shows
// those with the most requests.
func mostUsed(keys []statement.Key) (shown, others []statement.Key) {
	lines := func(k *statement.Key) int {
		n := 1
		for i := range k.Chains {
			n += len(k.Chains[i].Classes)
		}
		return n
	}
	all := 0
	for i := range keys {
		all += lines(&keys[i])
	}
	if all <= maxUsageLines {
		return keys, nil
	}
	sorted := slices.Clone(keys)
	//nolint:gocritic // there are only a few
	slices.SortStableFunc(sorted, func(a, b statement.Key) int {
		return cmp.Compare(b.Totals.Requests, a.Totals.Requests)
	})
	left, n := maxUsageLines, 0
	for n < len(sorted) && (n == 0 || lines(&sorted[n]) <= left) {
		left -= lines(&sorted[n])
		n++
	}
	return sorted[:n], sorted[n:]
}

func usedKeyTitle(k *statement.Key) string {
	switch {
	case k.Name != "":
		return k.Name
	case k.Prefix != "":
		return "Key without a name"
	}
	return "Key now in another account"
}

func usageCells(name, about string, t *statement.Totals) usageRow {
	return usageRow{
		Name: name, About: about, Requests: view.Number(t.Requests), Charged: view.Number(t.Billable),
		Hits:    view.Number(t.CacheHits),
		Refused: view.Number(t.Refusals), Units: t.Units.Grouped(),
	}
}

// invoicesTable lists the invoices with their sums. Void invoices are shown but not summed. There
// are no sums when currencies differ.
func invoicesTable(invoices []statement.Invoice) invoiceTable {
	var table invoiceTable
	var net, vat, total plan.Cents
	one := ""
	for i := range invoices {
		n := &invoices[i]
		table.Rows = append(table.Rows, statementInvoice{
			Number: view.AccountTitle(n.Number, n.ID), Day: n.CreatedAt.UTC().Format(view.DayLayout),
			For: view.Period(n.PeriodStart, n.PeriodEnd), Status: view.InvoiceStatus(n.Status, false),
			Net: view.Amount(n.NetCents, n.Currency), VAT: view.Amount(n.VATCents, n.Currency),
			Total: view.Amount(n.TotalCents, n.Currency),
		})
		if i == 0 {
			one = n.Currency
		} else if one != n.Currency {
			one = ""
		}
		if n.Status == view.InvoiceVoid {
			table.Void = true
			continue
		}
		net, vat, total = net+n.NetCents, vat+n.VATCents, total+n.TotalCents
	}
	if one != "" {
		table.Net, table.VAT, table.Total = view.Amount(net, one), view.Amount(vat, one), view.Amount(total, one)
	}
	return table
}
