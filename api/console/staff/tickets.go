// Package staff has the desk, on which the staff answer tickets and feedback of all accounts.
package staff

import (
	"cmp"
	"embed"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/tickets"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/ticket"
	ticketing "github.com/chainaccess/gateway/service/tickets"
)

const (
	pathFeedback  = "/staff/feedback"
	priorityField = "priority"
	accountField  = "account_id"
)

//go:embed templates
var templates embed.FS

// Register registers the desk, on which staff answer.
func Register(s *site.Site) error {
	if err := s.AddTemplates(templates); err != nil {
		return err
	}
	handle(s, "GET "+paths.StaffTickets, listTickets)
	handle(s, "GET "+paths.StaffTickets+"/{reference}", getTicket)
	handle(s, "POST "+paths.StaffTickets+"/{reference}", answerTicket)
	handle(s, "GET "+pathFeedback, listFeedback)
	handle(s, "POST "+pathFeedback+"/{id}", answerFeedback)
	return nil
}

// handle serves a page for staff. Everybody else gets 404.
func handle(s *site.Site, pattern string, f func(*site.Request) error) {
	s.HandleSignedIn(pattern, func(v *site.Request) error {
		if !v.Session.Staff {
			return v.NotFound()
		}
		return f(v)
	})
}

// statuses are the statuses of a ticket from the staff's point of view.
var statuses = map[ticket.Status]view.Status{
	ticket.Open: {Tone: view.Warn, Text: "New"}, ticket.WaitingCustomer: {Text: "Waiting for the customer"},
	ticket.WaitingUs: {Tone: view.Warn, Text: "Waiting for us"}, ticket.Resolved: {Tone: view.Good, Text: "Resolved"},
	ticket.Closed: {Tone: view.Good, Text: "Closed"},
}

// ticketFilters are the filters of the desk's list, the default first.
var ticketFilters = [][2]string{
	{"to_answer", "To answer"},
	{"unresolved", "Unresolved"},
	{string(ticket.Open), "New"},
	{string(ticket.WaitingUs), "Waiting for us"},
	{string(ticket.WaitingCustomer), "Waiting for the customer"},
	{string(ticket.Resolved), "Resolved"},
	{string(ticket.Closed), "Closed"},
	{"all", "All"},
}

var priorities = [][2]string{
	{"", "All"}, {"urgent", "Urgent"}, {"high", "High"}, {"normal", "Normal"}, {"low", "Low"},
}

// listTickets lists the tickets of all accounts in pages: those to answer oldest first, others
// newest first.
func listTickets(v *site.Request) error {
	query := v.R.URL.Query()
	chosen := cmp.Or(query.Get(view.StatusField), ticketFilters[0][0])
	in := ticketing.DeskTicketsInput{
		Status: query.Get(view.StatusField), Priority: query.Get(priorityField),
		AccountID: strings.TrimSpace(query.Get(accountField)), Cursor: query.Get(view.CursorField),
	}
	list, err := site.Ask(v, v.Calls.DeskListTickets, in)
	wrong := site.MistakesOf(err, view.StatusField, priorityField, accountField, view.CursorField)
	p := ticketsPage{
		Status:   view.Choose(view.StatusField, "Status", ticketFilters, chosen, wrong[view.StatusField]),
		Priority: view.Choose(priorityField, "Priority", priorities, in.Priority, wrong[priorityField]),
		Account: view.Field{
			Name: accountField, Label: "Account", Most: 36, Value: in.AccountID, Error: wrong[accountField],
			Hint: "account id",
		},
	}
	if wrong != nil {
		p.Empty = &view.Empty{
			Title: "The list cannot be shown", Text: strings.TrimSpace(wrong[view.CursorField] + wrong[""]),
			Action: &view.Link{Text: "To the tickets to answer", To: paths.StaffTickets},
		}
		return v.Show(http.StatusUnprocessableEntity, p)
	}
	if err != nil {
		return err
	}
	p.Stats = stats(v, list.Unresolved)
	for i := range list.Tickets {
		p.Tickets = append(p.Tickets, ticketRowOf(v, &list.Tickets[i]))
	}
	if list.NextCursor != "" {
		p.Next = pageAt(query, list.NextCursor)
	}
	if in.Cursor != "" {
		p.First = pageAt(query, "")
	}
	if len(p.Tickets) == 0 {
		p.Empty = &view.Empty{
			Title:  "No tickets here",
			Text:   "No ticket matches. Choose another status above to see older tickets.",
			Action: &view.Link{Text: "To all tickets", To: paths.StaffTickets + "?status=all"},
		}
	}
	return v.Show(http.StatusOK, p)
}

// pageAt returns the URL of another page of the same list.
func pageAt(query url.Values, cursor string) string {
	next := url.Values{}
	for _, name := range []string{view.StatusField, priorityField, accountField} {
		if value := query.Get(name); value != "" {
			next.Set(name, value)
		}
	}
	if cursor != "" {
		next.Set(view.CursorField, cursor)
	}
	if len(next) == 0 {
		return paths.StaffTickets
	}
	return paths.StaffTickets + "?" + next.Encode()
}

// stats summarises the open tickets.
func stats(v *site.Request, counts []ticketing.DeskCount) []view.Stat {
	var ours, urgent, theirs int64
	oldest := v.Reader.Now
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
		waits = "longest since " + v.Reader.Moment(oldest).Exact
	}
	return []view.Stat{
		{Label: "To answer", Value: view.Number(ours), Unit: view.Plural(ours, "ticket"), Note: waits},
		{
			Label: "High and urgent", Value: view.Number(urgent), Unit: view.Plural(urgent, "ticket"),
			Note: "among those to answer",
		},
		{Label: "Waiting for customers", Value: view.Number(theirs), Unit: view.Plural(theirs, "ticket")},
	}
}

func ticketRowOf(v *site.Request, t *ticketing.DeskTicket) ticketRow {
	return ticketRow{
		Row:     tickets.RowOf(v.Reader, &t.TicketView, paths.StaffTickets, statuses[t.Status]),
		Account: t.Account, Short: shortID(t.AccountID), AccountID: t.AccountID,
		OfAccount: pageAt(url.Values{accountField: {t.AccountID}, view.StatusField: {"all"}}, ""),
		Plan:      view.PlanTitle(t.Plan),
		Messages:  view.Number(int64(t.Messages)), Rank: priorityRank(t.Priority),
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

func findTicket(v *site.Request) (ticketing.DeskTicketDetail, error) {
	found, err := site.Ask(v, v.Calls.DeskGetTicket, ticketing.DeskTicketInput{Reference: v.R.PathValue("reference")})
	if site.RefusedFor(err, fault.NotYours) || site.MistakesOf(err, "reference") != nil {
		return found, &site.PageError{
			Status: http.StatusNotFound, Heading: "There is no such ticket",
			Text: "No ticket has this reference. The desk lists all of them.", Cause: err,
		}
	}
	return found, err
}

// getTicket shows a ticket of any account.
func getTicket(v *site.Request) error {
	found, err := findTicket(v)
	if err != nil {
		return err
	}
	return showTicket(v, http.StatusOK, &found, "", nil)
}

func showTicket(v *site.Request, code int, t *ticketing.DeskTicketDetail, typed string, wrong site.Mistakes) error {
	p := ticketPageOf(v, t, typed, wrong[view.MessageField])
	var err error
	if p.Form, err = v.FormID(wrong); err != nil {
		return err
	}
	return v.Show(code, p, wrong.Notices()...)
}

// ticketPageOf formats a ticket for staff, with what was typed and its errors.
func ticketPageOf(v *site.Request, t *ticketing.DeskTicketDetail, typed, wrong string) ticketPage {
	p := ticketPage{
		Page: tickets.PageOf(v.Reader, &t.TicketDetail, typed, wrong), Seen: strconv.Itoa(len(t.Messages)),
	}
	p.Status, p.Action = statuses[t.Status], paths.StaffTickets+"/"+t.Reference
	p.Crumb = []view.Link{{Text: "Desk", To: paths.StaffTickets}}
	p.Reply.Rule = "Plain text, up to 5,000 characters. It is mailed to the person who filed the ticket, or else to " +
		"the owners of the account. A key that has no owner gets no mail."
	switch t.Status {
	case ticket.Closed:
		p.Reply.Label = "Reply"
	case ticket.Resolved:
		p.Buttons = []view.Button{
			{Do: tickets.DoReply, Text: "Send a final reply", Primary: true},
			{Do: tickets.DoReopen, Text: "Reopen ticket", Primary: false},
		}
	case ticket.Open, ticket.WaitingUs, ticket.WaitingCustomer:
		p.Buttons = []view.Button{
			{Do: tickets.DoReply, Text: "Send reply", Primary: true},
			{Do: tickets.DoResolve, Text: "Resolve, with or without a reply", Primary: false},
		}
	}
	for i := range p.Notes {
		if m := &t.Messages[i]; m.Author == ticket.Customer {
			p.Notes[i].Who = "The customer"
			if m.Writer != nil && m.Writer.Name != "" {
				p.Notes[i].Who += ", " + tickets.Writer(m.Writer)
			}
		}
	}
	if t.Account != "" {
		p.Of = []view.Detail{{Label: "Account", Value: t.Account, Code: false}}
	}
	p.Of = append(p.Of, []view.Detail{
		{Label: "Account id", Value: t.AccountID, Code: true},
		{Label: "Plan", Value: view.PlanTitle(t.Plan), Code: false},
		{Label: "Account is", Value: string(t.AccountStatus), Code: false},
		{Label: "Filed by", Value: t.FiledBy, Code: false},
	}...)
	for _, l := range t.History {
		p.History = append(p.History, event{
			v.Reader.Moment(l.At), l.Actor, l.Origin, deeds[l.Action], statuses[l.Status],
		})
	}
	return p
}

// deeds are the confirmations of actions.
var deeds = map[string]string{
	"file": "filed it", "join": "reported the same problem again", "reply": "wrote", "resolve": "resolved it",
	"reopen": "reopened it", "close": "closed it",
}

// answerTicket answers, resolves or reopens a ticket. When that is refused, for example because
// somebody else wrote in the meantime, the form keeps what was typed.
func answerTicket(v *site.Request) error {
	form := v.R.PostForm
	do, typed := form.Get(view.DoField), site.UnixLines(form.Get(view.MessageField))
	if tickets.Moves[do] == "" {
		do = tickets.DoReply
	}
	seen, _ := strconv.Atoi(form.Get(tickets.SeenField)) // 0 when malformed
	moved, err := site.Ask(v, v.Calls.DeskReplyTicket, ticketing.DeskReplyInput{
		Reference: v.R.PathValue("reference"), Message: typed, Resolve: do == tickets.DoResolve,
		Reopen: do == tickets.DoReopen,
		Seen:   max(seen, 1), Form: form.Get(site.FormField),
	})
	if wrong := site.MistakesOf(err, view.MessageField, tickets.SeenField, tickets.DoReopen, tickets.DoResolve,
		site.FormField); wrong != nil {
		found, err := findTicket(v)
		if err != nil {
			return err
		}
		if said := strings.TrimSpace(strings.Join([]string{
			wrong[""], wrong[tickets.SeenField], wrong[tickets.DoReopen], wrong[tickets.DoResolve],
		}, " ")); said != "" {
			wrong[""] = said
		}
		return showTicket(v, http.StatusUnprocessableEntity, &found, typed, wrong)
	}
	if err != nil {
		return err
	}
	v.Flash(view.Good, tickets.Moves[do],
		fmt.Sprintf("%s: %s.", moved.Reference, strings.ToLower(statuses[moved.Status].Text)))
	return v.Redirect(paths.StaffTickets + "/" + moved.Reference)
}
