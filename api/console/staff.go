package console

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/service"
)

const (
	pathStaffTickets  = "/staff/tickets"
	pathStaffFeedback = "/staff/feedback"
	sectionDesk       = "desk"
	seenField         = "seen"
	priorityField     = "priority"
	accountField      = "account_id"
)

// deskItem is the navigation entry that only staff have.
var deskItem = railItem{
	link{"Desk", pathStaffTickets},
	sectionDesk,
	"M2 9.5V8a6 6 0 0 1 12 0v1.5M2 9.5h2v3H2zm10 0h2v3h-2zm1 3c0 1.2-1.5 2-3.5 2",
}

func (p *Pages) staffRoutes() {
	p.staff("GET "+pathStaffTickets, (*request).staffTickets)
	p.staff("GET "+pathStaffTickets+"/{reference}", (*request).staffTicket)
	p.staff("POST "+pathStaffTickets+"/{reference}", (*request).answerAsStaff)
	p.staff("GET "+pathStaffFeedback, (*request).staffFeedback)
	p.staff("POST "+pathStaffFeedback+"/{id}", (*request).answerFeedback)
}

// staff serves a page for staff. Everybody else gets 404.
func (p *Pages) staff(pattern string, f func(*request) error) {
	p.console(pattern, func(v *request) error {
		if !v.session.Staff {
			return v.notFound()
		}
		return f(v)
	})
}

// deskStatuses are the statuses of a ticket from the staff's point of view.
var deskStatuses = map[ticket.Status]status{
	ticket.Open: {warn, "New"}, ticket.WaitingCustomer: {"", "Waiting for the customer"},
	ticket.WaitingUs: {warn, "Waiting for us"}, ticket.Resolved: {good, "Resolved"}, ticket.Closed: {good, "Closed"},
}

// deskFilters are the filters of the desk's list, the default first.
var deskFilters = [][2]string{
	{"to_answer", "To answer"},
	{"unresolved", "Unresolved"},
	{string(ticket.Open), "New"},
	{string(ticket.WaitingUs), "Waiting for us"},
	{string(ticket.WaitingCustomer), "Waiting for the customer"},
	{string(ticket.Resolved), "Resolved"},
	{string(ticket.Closed), "Closed"},
	{"all", "All"},
}

var deskPriorities = [][2]string{
	{"", "All"}, {"urgent", "Urgent"}, {"high", "High"}, {"normal", "Normal"}, {"low", "Low"},
}

// staffTickets lists the tickets of all accounts in pages: those to answer oldest first, others
// newest first.
func (v *request) staffTickets() error {
	query := v.r.URL.Query()
	chosen := cmp.Or(query.Get(statusField), deskFilters[0][0])
	in := service.DeskTicketsInput{
		Status: query.Get(statusField), Priority: query.Get(priorityField),
		AccountID: strings.TrimSpace(query.Get(accountField)), Cursor: query.Get(cursorField),
	}
	list, err := ask(v, v.Calls.DeskListTickets, in)
	wrong := mistakesOf(err, statusField, priorityField, accountField, cursorField)
	p := staffTicketsPage{
		Status:   choose(statusField, "Status", deskFilters, chosen, wrong[statusField]),
		Priority: choose(priorityField, "Priority", deskPriorities, in.Priority, wrong[priorityField]),
		Account: field{
			Name: accountField, Label: "Account", Most: 36, Value: in.AccountID, Error: wrong[accountField],
			Hint: "account id",
		},
	}
	if wrong != nil {
		p.Empty = &empty{
			Title: "The list cannot be shown", Text: strings.TrimSpace(wrong[cursorField] + wrong[""]),
			Action: &link{"To the tickets to answer", pathStaffTickets},
		}
		return v.show(http.StatusUnprocessableEntity, p)
	}
	if err != nil {
		return err
	}
	p.Stats = v.deskStats(list.Unresolved)
	for i := range list.Tickets {
		p.Tickets = append(p.Tickets, v.deskRow(&list.Tickets[i]))
	}
	if list.NextCursor != "" {
		p.Next = deskPage(query, list.NextCursor)
	}
	if in.Cursor != "" {
		p.First = deskPage(query, "")
	}
	if len(p.Tickets) == 0 {
		p.Empty = &empty{
			Title:  "No tickets here",
			Text:   "No ticket matches. Choose another status above to see older tickets.",
			Action: &link{"To all tickets", pathStaffTickets + "?status=all"},
		}
	}
	return v.show(http.StatusOK, p)
}

// deskPage returns the URL of another page of the same list.
func deskPage(query url.Values, cursor string) string {
	next := url.Values{}
	for _, name := range []string{statusField, priorityField, accountField} {
		if value := query.Get(name); value != "" {
			next.Set(name, value)
		}
	}
	if cursor != "" {
		next.Set(cursorField, cursor)
	}
	if len(next) == 0 {
		return pathStaffTickets
	}
	return pathStaffTickets + "?" + next.Encode()
}

// deskStats summarises the open tickets.
func (v *request) deskStats(counts []service.DeskCount) []stat {
	var ours, urgent, theirs int64
	oldest := v.reader.now
	for _, c := range counts {
		if c.Status == ticket.WaitingCustomer {
			theirs += c.Tickets
			continue
		}
		ours += c.Tickets
		if c.Priority == ticket.Urgent || c.Priority == ticket.High {
			urgent += c.Tickets
		}
		if c.Oldest.Before(oldest) {
			oldest = c.Oldest
		}
	}
	waits := "nobody waits"
	if ours > 0 {
		waits = "longest since " + v.reader.moment(oldest).Exact
	}
	return []stat{
		{Label: "To answer", Value: number(ours), Unit: plural(ours, "ticket"), Note: waits},
		{
			Label: "High and urgent", Value: number(urgent), Unit: plural(urgent, "ticket"),
			Note: "among those to answer",
		},
		{Label: "Waiting for customers", Value: number(theirs), Unit: plural(theirs, "ticket")},
	}
}

func plural(n int64, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

func (v *request) deskRow(t *service.DeskTicket) deskRow {
	return deskRow{
		ticketRow: ticketRow{
			Reference: t.Reference, Subject: t.Subject, Category: sentenceCase(string(t.Category)),
			Priority: sentenceCase(string(t.Priority)), To: pathStaffTickets + "/" + t.Reference,
			Status: deskStatuses[t.Status], Filed: v.reader.moment(t.CreatedAt),
			Active: v.reader.moment(t.LastActivityAt),
		},
		Account: t.Account, Short: shortID(t.AccountID), AccountID: t.AccountID,
		OfAccount: deskPage(url.Values{accountField: {t.AccountID}, statusField: {"all"}}, ""), Plan: planTitle(t.Plan),
		Messages: number(int64(t.Messages)), Rank: priorityRank(t.Priority),
	}
}

// shortID returns the end of an id, because ids begin with their time and look alike there.
func shortID(id string) string {
	const shown = 8
	return "…" + id[max(0, len(id)-shown):]
}

// priorityRank is the sort key of a priority; the most urgent is last.
func priorityRank(p ticket.Priority) int {
	for i, one := range ticket.Priorities() {
		if one == p {
			return i
		}
	}
	return 0
}

func (v *request) findAsStaff() (service.DeskTicketDetail, error) {
	found, err := ask(v, v.Calls.DeskGetTicket, service.DeskTicketInput{Reference: v.r.PathValue("reference")})
	if refusedFor(err, fault.NotYours) || mistakesOf(err, "reference") != nil {
		return found, &refusal{
			status: http.StatusNotFound, heading: "There is no such ticket",
			text: "No ticket has this reference. The desk lists all of them.", cause: err,
		}
	}
	return found, err
}

// staffTicket shows a ticket of any account.
func (v *request) staffTicket() error {
	found, err := v.findAsStaff()
	if err != nil {
		return err
	}
	return v.showAsStaff(http.StatusOK, &found, "", nil)
}

func (v *request) showAsStaff(code int, t *service.DeskTicketDetail, typed string, wrong mistakes) error {
	p := v.staffTicketPage(t, typed, wrong[messageField])
	var err error
	if p.Form, err = v.formID(wrong); err != nil {
		return err
	}
	return v.show(code, p, wrong.notices()...)
}

// staffTicketPage formats a ticket for staff, with what was typed and its errors.
func (v *request) staffTicketPage(t *service.DeskTicketDetail, typed, wrong string) staffTicketPage {
	p := staffTicketPage{ticketPage: v.ticketPage(&t.TicketDetail, typed, wrong), Seen: strconv.Itoa(len(t.Messages))}
	p.Status, p.Action, p.With, p.Crumb = deskStatuses[t.Status], pathStaffTickets+"/"+t.Reference, "", []link{
		{"Desk", pathStaffTickets},
	}
	p.Reply.Rule = "Plain text, up to 5,000 characters. It is mailed to the person who filed the ticket, or else to " +
		"the owners of the account. A key that has no owner gets no mail."
	switch t.Status {
	case ticket.Closed:
		p.Reply.Label = "Reply"
	case ticket.Resolved:
		p.Buttons = []button{{doReply, "Send a final reply", true}, {doReopen, "Reopen ticket", false}}
	case ticket.Open, ticket.WaitingUs, ticket.WaitingCustomer:
		p.Buttons = []button{{doReply, "Send reply", true}, {doResolve, "Resolve, with or without a reply", false}}
	}
	for i := range p.Notes {
		if m := &t.Messages[i]; m.Author == ticket.Customer {
			p.Notes[i].Who = "The customer"
			if m.Writer != nil && m.Writer.Name != "" {
				p.Notes[i].Who += ", " + writerWords(m.Writer)
			}
		}
	}
	if t.Account != "" {
		p.Of = []detail{{"Account", t.Account, false}}
	}
	p.Of = append(p.Of, []detail{
		{"Account id", t.AccountID, true},
		{"Plan", planTitle(t.Plan), false},
		{"Account is", string(t.AccountStatus), false},
		{"Filed by", t.FiledBy, false},
	}...)
	for _, l := range t.History {
		p.History = append(p.History, deskEvent{
			v.reader.moment(l.At), l.Actor, l.Origin, deskDeeds[l.Action], deskStatuses[l.Status],
		})
	}
	return p
}

// deskDeeds are the confirmations of actions.
var deskDeeds = map[string]string{
	"file": "filed it", "join": "reported the same problem again", "reply": "wrote", "resolve": "resolved it",
	"reopen": "reopened it", "close": "closed it",
}

// answerAsStaff answers, resolves or reopens a ticket. When that is refused, for example because
// somebody else wrote in the meantime, the form keeps what was typed.
func (v *request) answerAsStaff() error {
	form := v.r.PostForm
	do, typed := form.Get(doField), unixLines(form.Get(messageField))
	if ticketMoves[do] == "" {
		do = doReply
	}
	seen, _ := strconv.Atoi(form.Get(seenField)) // 0 when malformed
	moved, err := ask(v, v.Calls.DeskReplyTicket, service.DeskReplyInput{
		Reference: v.r.PathValue("reference"), Message: typed, Resolve: do == doResolve, Reopen: do == doReopen,
		Seen: max(seen, 1), Form: form.Get(formField),
	})
	if wrong := mistakesOf(err, messageField, seenField, doReopen, doResolve, formField); wrong != nil {
		found, err := v.findAsStaff()
		if err != nil {
			return err
		}
		if said := strings.TrimSpace(strings.Join([]string{
			wrong[""], wrong[seenField], wrong[doReopen], wrong[doResolve],
		}, " ")); said != "" {
			wrong[""] = said
		}
		return v.showAsStaff(http.StatusUnprocessableEntity, &found, typed, wrong)
	}
	if err != nil {
		return err
	}
	v.flash(good, ticketMoves[do],
		fmt.Sprintf("%s: %s.", moved.Reference, strings.ToLower(deskStatuses[moved.Status].Text)))
	return v.redirect(pathStaffTickets + "/" + moved.Reference)
}
