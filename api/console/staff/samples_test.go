package staff

import (
	"testing"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/tickets"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/messaging/ticket"
)

// samples are the pages of the desk.
func samples(name string) map[string]view.Page {
	v, of, list := &site.Request{Reader: consoletest.Reader()}, consoletest.SampleDeskTicket(name),
		consoletest.SampleDeskList(name)
	listed := ticketsPage{
		Stats: stats(v, list.Unresolved), Status: view.Choose(view.StatusField, "Status", ticketFilters, "to_answer",
			""),
		Priority: view.Choose(priorityField, "Priority", priorities, "", ""), Account: view.Field{
			Name: accountField, Label: "Account", Value: name, Error: name, Rule: "x",
		},
		Next: "/staff/tickets?cursor=CAG-1000", First: paths.StaffTickets,
	}
	none := listed
	none.Empty = &view.Empty{Title: "No tickets here", Text: "x"}
	for i := range list.Tickets {
		listed.Tickets = append(listed.Tickets, ticketRowOf(v, &list.Tickets[i]))
	}
	resolved, closed := of, of
	resolved.Status, closed.Status = ticket.Resolved, ticket.Closed
	given := feedbackPage{
		Filters: view.FiltersOf(pathFeedback, tickets.FeedbackStatuses, "new"),
		Older:   "/staff/feedback?list=new&cursor=1",
	}
	all := consoletest.SampleDeskFeedback(name)
	for i := range all.Feedback {
		given.Given = append(given.Given, feedbackRowOf(v, &all.Feedback[i], all.Feedback[i].Status, name))
	}
	return map[string]view.Page{
		"staff-tickets": listed, "staff-tickets-empty": none, "staff-ticket": ticketPageOf(v, &of, "", ""),
		"staff-ticket-resolved": ticketPageOf(v, &resolved, name, name),
		"staff-ticket-closed":   ticketPageOf(v, &closed, "", ""), "staff-feedback": given,
	}
}

func TestPages_KeepToTheRules(t *testing.T) {
	t.Parallel()
	consoletest.CheckSection(t, templates, samples)
}
