package support

import (
	"net/http"
	"strings"

	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/tickets"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/ticket"
	ticketing "github.com/chainaccess/gateway/service/tickets"
)

// ticketFilters are the filters of the list in the order of the page, the default first.
var ticketFilters = [][2]string{
	{"unresolved", "Unresolved"},
	{string(ticket.Open), "Open"},
	{string(ticket.WaitingCustomer), "Waiting for you"},
	{string(ticket.WaitingUs), "Waiting for us"},
	{string(ticket.Resolved), "Resolved"},
	{string(ticket.Closed), "Closed"},
	{"all", "All"},
}

const ticketsPerPage = 50

// listTickets lists tickets, newest first, in pages.
func listTickets(v *site.Request) error {
	at, query := ticketsAt(v), v.R.URL.Query()
	chosen, cursor := query.Get(view.StatusField), query.Get(view.CursorField)
	current := chosen
	if current == "" {
		current = ticketFilters[0][0]
	}
	p := ticketsPage{Filters: view.FiltersOf(at, ticketFilters, current), Ask: askAt(v), With: v.AskingWith()}
	list, err := site.Ask(v, v.Calls.ListTickets, ticketing.ListTicketsInput{
		Status: chosen, Cursor: cursor, Limit: ticketsPerPage,
	})
	if wrong := site.MistakesOf(err, view.StatusField, view.CursorField); wrong != nil {
		p.Empty = &view.Empty{
			Title: "The list cannot be shown", Text: wrong[view.StatusField] + wrong[view.CursorField] + wrong[""],
			Action: &view.Link{Text: "To all unresolved tickets", To: at},
		}
		return v.Show(http.StatusUnprocessableEntity, p)
	}
	if err != nil {
		return err
	}
	for i := range list.Tickets {
		p.Tickets = append(p.Tickets, tickets.RowOf(v.Reader, &list.Tickets[i], at,
			tickets.Statuses[list.Tickets[i].Status]))
	}
	if list.NextCursor != "" {
		p.Older = view.PageAt(at, chosen, list.NextCursor)
	}
	if cursor != "" {
		p.Newest = view.PageAt(at, chosen, "")
	}
	if len(p.Tickets) == 0 {
		p.Empty = noTickets(v, current)
	}
	return v.Show(http.StatusOK, p)
}

// noTickets explains an empty list and how to file a ticket.
func noTickets(v *site.Request, chosen string) *view.Empty {
	if chosen != ticketFilters[0][0] && chosen != "all" {
		return &view.Empty{
			Title: "No tickets with this status", Text: "Choose another status above.",
			Action: &view.Link{Text: "To all tickets", To: view.PageAt(ticketsAt(v), "all", "")},
		}
	}
	return &view.Empty{
		Title: "No open tickets",
		Text: "Every error has a path in error.data.support. It opens a form with the call already attached. " +
			"For anything else, file a ticket here.",
		Action: &view.Link{Text: "File a ticket", To: askAt(v)},
	}
}

// findTicket returns the ticket of the path. A ticket of another account is not found.
func findTicket(v *site.Request) (ticketing.TicketDetail, error) {
	found, err := site.Ask(v, v.Calls.GetTicket, ticketing.TicketInput{Reference: v.R.PathValue("reference")})
	if site.RefusedFor(err, fault.NotYours) || site.MistakesOf(err, "reference") != nil {
		return found, noSuchTicket(err)
	}
	return found, err
}

func noSuchTicket(cause error) error {
	return &site.PageError{
		Status: http.StatusNotFound, Heading: "There is no such ticket",
		Text: "You have no ticket with this reference. Tickets lists all of yours.", Cause: cause,
	}
}

// getTicket shows a ticket.
func getTicket(v *site.Request) error {
	found, err := findTicket(v)
	if err != nil {
		return err
	}
	return showTicket(v, http.StatusOK, &found, "", nil)
}

func showTicket(v *site.Request, code int, found *ticketing.TicketDetail, typed string, wrong site.Mistakes) error {
	p := tickets.PageOf(v.Reader, found, typed, wrong[view.MessageField])
	p.Action, p.With, p.Crumb = ticketsAt(v)+"/"+found.Reference, v.AskingWith(), ticketsCrumb(v)
	var err error
	if p.Form, err = v.FormID(wrong); err != nil {
		return err
	}
	return v.Show(code, p, wrong.Notices()...)
}

// ticketsCrumb links back to the list.
func ticketsCrumb(v *site.Request) []view.Link {
	return []view.Link{{Text: "Tickets", To: ticketsAt(v)}}
}

// answerTicket replies to a ticket, resolves it or reopens it. When that is refused, the form keeps
// what was typed.
func answerTicket(v *site.Request) error {
	do, typed := v.R.PostForm.Get(view.DoField), site.UnixLines(v.R.PostForm.Get(view.MessageField))
	reference := v.R.PathValue("reference")
	if tickets.Moves[do] == "" {
		do = tickets.DoReply
	}
	moved, err := site.Ask(v, v.Calls.ReplyTicket, ticketing.ReplyTicketInput{
		Reference: reference, Message: typed, Resolve: do == tickets.DoResolve, Reopen: do == tickets.DoReopen,
		Form: v.R.PostForm.Get(site.FormField),
	})
	if wrong := site.MistakesOf(err, view.MessageField, tickets.DoReopen, tickets.DoResolve,
		site.FormField); wrong != nil {
		found, err := findTicket(v)
		if err != nil {
			return err
		}
		wrong[""] = strings.TrimSpace(wrong[""] + " " + wrong[tickets.DoReopen] + " " + wrong[tickets.DoResolve])
		if wrong[""] == "" {
			delete(wrong, "")
		}
		return showTicket(v, http.StatusUnprocessableEntity, &found, typed, wrong)
	}
	if site.RefusedFor(err, fault.NotYours) {
		return noSuchTicket(err)
	}
	if err != nil {
		return err
	}
	text := tickets.Statuses[moved.Status].Text + "."
	if moved.Status == ticket.Resolved {
		text = "It closes automatically in seven days; a reply reopens it."
	}
	v.Flash(view.Good, tickets.Moves[do], text)
	return v.Redirect(ticketsAt(v) + "/" + moved.Reference)
}
