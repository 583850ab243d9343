package console

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/service"
)

// tableSuffix ends the URL of a statement that is downloaded as CSV.
const tableSuffix = ".csv"

// statements lists the billing periods of the account.
func (v *request) statements() error {
	list, err := ask(v, v.Calls.ListStatements, service.Nothing{})
	if err != nil {
		return err
	}
	p := statementsPage{Periods: make([]periodRow, len(list.Periods))}
	for i := range list.Periods {
		s := &list.Periods[i]
		row := periodRow{
			Key: s.Period, Days: period(s.StartsAt, s.EndsAt), Status: periodStatus(s.Status),
			Requests: "–", Units: "–",
		}
		if s.Requests != nil {
			row.Requests = number(*s.Requests)
		}
		if s.Units != nil {
			row.Units = s.Units.Grouped()
		}
		p.Periods[i] = row
	}
	return v.show(http.StatusOK, p)
}

func periodStatus(s statement.Status) status {
	switch s {
	case statement.Open:
		return status{"", "in progress"}
	case statement.Closing:
		return status{warn, "closing"}
	case statement.Closed:
	}
	return status{good, "closed"}
}

// statement shows the statement of a period, on screen and printed, or sends it as CSV.
func (v *request) statement() error {
	key := v.r.PathValue("period")
	if table, ok := strings.CutSuffix(key, tableSuffix); ok {
		return v.statementTable(table)
	}
	s, err := ask(v, v.Calls.GetStatement, service.StatementInput{Period: key})
	if err != nil {
		return noPeriod(err)
	}
	return v.show(http.StatusOK, v.statementPage(&s))
}

// noPeriod returns the error for a period that the account does not have.
func noPeriod(err error) error {
	if refusedFor(err, fault.NotYours) || refusedFor(err, fault.FieldRefused) {
		return &refusal{
			status: http.StatusNotFound, heading: "There is no such statement", cause: err,
			text: "No billing period of this account began on this date. Statements lists all periods.",
		}
	}
	return err
}

// statementTable sends a statement as CSV.
func (v *request) statementTable(key string) error {
	t, err := ask(v, v.Calls.ExportStatement, service.ExportStatementInput{Period: key})
	if err != nil {
		return noPeriod(err)
	}
	return v.sendTable(t.Document())
}

// sendTable sends a table as a file.
func (v *request) sendTable(name, media, text string) error {
	v.w.Header().Set("Content-Type", media)
	v.w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	v.w.WriteHeader(http.StatusOK)
	//nolint:gosec // sent as a file, not as a page; an error means that the client has left
	_, _ = v.w.Write([]byte(text))
	return nil
}

func (v *request) statementPage(s *statement.Statement) *statementPage {
	p := &statementPage{
		Period: s.Period, Days: period(s.StartsAt, s.EndsAt), Status: periodStatus(s.Status), Hash: s.ContentHash,
		Table: pathStatements + "/" + s.Period + tableSuffix,
		Facts: []fact{
			{"Account", accountTitle(v.session.AccountName, v.session.Email)},
			{"Account id", s.Account},
			{"Plan", planTitle(s.Plan)},
			{"From", utc(s.StartsAt)},
			{"To", utc(s.EndsAt) + ", exclusive"},
		},
		Requests: requestsSum(&s.Totals), Units: unitsSum(&s.Totals), Limits: limitRows(s.AtTheLimit),
		Invoices: invoicesTable(s.Invoices),
	}
	switch {
	case s.Status == statement.Closed:
		p.Facts = append(p.Facts, fact{"Closed", utc(s.GeneratedAt)})
	case s.AsOf != nil:
		p.Facts = append(p.Facts, fact{"Complete up to", utc(*s.AsOf)})
	}
	p.Usage = usageTable("Usage by key, chain and method class", s.Keys, s.Totals)
	for i := range s.Adjustments {
		a := &s.Adjustments[i]
		p.Adjustments = append(p.Adjustments, usageTable("Of the period that began on "+a.Period, a.Keys, a.Totals))
	}
	return p
}

// planTitle returns the title of a plan, or its key when this version does not know it.
func planTitle(key string) string {
	if p, known := plan.Lookup(key); known {
		return p.Title
	}
	return key
}

func requestsSum(t *statement.Totals) sum {
	s := sum{
		Title: "Requests", Total: fact{"All", number(t.Requests)},
		Lines: []fact{
			{"Charged", number(t.Billable)},
			{"From the cache, free", number(t.CacheHits)},
			{"Refused, free", number(t.Refusals)},
		},
	}
	if t.Refunded > 0 {
		s.Note = number(t.Refunded) + " of the refused requests were charged first and then refunded."
	}
	return s
}

func unitsSum(t *statement.Totals) sum {
	return sum{
		Title: "Weighted units", Total: fact{"All", t.Units.Grouped()},
		Lines: []fact{{"From the plan", t.PlanUnits.Grouped()}, {"From packs", t.PackUnits.Grouped()}},
	}
}

func limitRows(limits []statement.Limit) []fact {
	rows := make([]fact, len(limits))
	for i, l := range limits {
		rows[i] = fact{limitTitle(l.Reason) + " (" + codeOf(l.Code) + ")", number(l.Requests)}
	}
	return rows
}

// limitTitle returns the title of a limit, or its reason when this version has none.
func limitTitle(reason string) string {
	all := fault.Table()
	if i := slices.IndexFunc(all, func(e fault.Entry) bool { return e.Name == reason }); i >= 0 {
		return all[i].Title
	}
	return reason
}

// maxUsageLines is how many lines of usage a page shows. A statement of many keys has thousands,
// which only its CSV file contains.
const maxUsageLines = 100

// usageTable returns usage by key, and for each key by chain and class, with totals. When it is too
// long, it shows the keys with the most requests and sums up the others in one line.
func usageTable(title string, keys []statement.Key, totals statement.Totals) usage {
	u := usage{Title: title, Total: usageCells("All", "", &totals)}
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
				group.Rows = append(group.Rows, usageCells(chainTitle(of.Chain), classTitle(class.Class), &t))
			}
		}
		u.Groups = append(u.Groups, group)
	}
	if len(others) > 0 {
		var left statement.Totals
		for i := range others {
			left = left.Plus(others[i].Totals)
		}
		u.Groups = append(u.Groups, usageGroup{Head: usageCells("All other keys", number(int64(len(others))), &left)})
		u.Note = "These are the keys with the most requests. The CSV has all lines of all " +
			number(int64(len(keys))) + "."
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

func chainTitle(id string) string {
	if id == "" {
		return "no chain"
	}
	if c, known := chain.Lookup(id); known {
		return c.Title
	}
	return id
}

func classTitle(class string) string {
	if class == "" {
		return "method not known"
	}
	return class
}

func usageCells(name, about string, t *statement.Totals) usageRow {
	return usageRow{
		Name: name, About: about, Requests: number(t.Requests), Charged: number(t.Billable), Hits: number(t.CacheHits),
		Refused: number(t.Refusals), Units: t.Units.Grouped(),
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
			Number: accountTitle(n.Number, n.ID), Day: n.CreatedAt.UTC().Format(dayLayout),
			For: period(n.PeriodStart, n.PeriodEnd), Status: invoiceStatus(n.Status, false),
			Net: amount(n.NetCents, n.Currency), VAT: amount(n.VATCents, n.Currency),
			Total: amount(n.TotalCents, n.Currency),
		})
		if i == 0 {
			one = n.Currency
		} else if one != n.Currency {
			one = ""
		}
		if n.Status == invoiceVoid {
			table.Void = true
			continue
		}
		net, vat, total = net+n.NetCents, vat+n.VATCents, total+n.TotalCents
	}
	if one != "" {
		table.Net, table.VAT, table.Total = amount(net, one), amount(vat, one), amount(total, one)
	}
	return table
}
