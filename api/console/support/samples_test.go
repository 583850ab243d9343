package support

import (
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/console/internal/consoletest"
	"github.com/chainaccess/gateway/api/console/paths"
	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/api/console/tickets"
	"github.com/chainaccess/gateway/api/console/view"
	"github.com/chainaccess/gateway/messaging/ticket"
	ticketing "github.com/chainaccess/gateway/service/tickets"
)

// samples are the pages of support.
func samples(name string) map[string]view.Page {
	v, desk := &site.Request{Reader: consoletest.Reader()}, consoletest.SampleDesk(name)
	list := ticketsPage{
		Filters: view.FiltersOf(paths.Tickets, ticketFilters, "unresolved"), Ask: paths.NewTicket,
		Older: "/tickets?cursor=CAG-1000", Newest: paths.Tickets,
	}
	for i := range desk.Tickets.Tickets {
		list.Tickets = append(list.Tickets, tickets.RowOf(v.Reader,
			&desk.Tickets.Tickets[i], paths.Tickets, tickets.Statuses[desk.Tickets.Tickets[i].Status]))
	}
	none := ticketsPage{
		Filters: list.Filters, Ask: paths.NewTicket, Empty: noTickets(v, "unresolved"), With: "cag_aHCrXoRO",
	}
	bare := desk.Preview
	bare.Evidence.Call, bare.Evidence.Chain, bare.Evidence.Refusals = nil, nil, nil
	bare.SuggestedPaths = nil
	typed := ticketTyped{request: name, subject: name, message: name, category: "billing"}
	resolved, closed := desk.Ticket, desk.Ticket
	closes := consoletest.Now.Add(100 * time.Hour)
	resolved.Status, resolved.ClosesAt, closed.Status = ticket.Resolved, &closes, ticket.Closed
	given := feedbackPage{
		Kind: view.Choose("kind", "Kind", tickets.FeedbackKinds, "chain", ""),
		Chain: view.Choose("chain", "Chain", servedChains(nil), "",
			""), Title: view.Field{Name: "title", Label: "Title", Value: name, Error: name},
		Body:    view.Area{Name: "body", Label: "More about it", Value: name, Error: name, Rows: 4},
		Filters: view.FiltersOf(pathFeedback, tickets.FeedbackStatuses, "new"), Older: "/feedback?cursor=1",
	}
	for i := range desk.Feedback.Feedback {
		given.Given = append(given.Given, tickets.FeedbackOf(v.Reader, &desk.Feedback.Feedback[i]))
	}
	shown := func(t *ticketing.TicketDetail, typed string) tickets.Page {
		p := tickets.PageOf(v.Reader, t, typed, typed)
		p.Action, p.Crumb = paths.Tickets+"/"+t.Reference, tickets.Crumb
		return p
	}
	return map[string]view.Page{
		"tickets": list, "tickets-empty": none, "ticket": shown(&desk.Ticket, ""),
		"ticket-resolved": shown(&resolved, name), "ticket-closed": shown(&closed, ""),
		"new-ticket": newTicketPageOf(v, &desk.Preview, ticketTyped{}, nil),
		"new-ticket-refused": newTicketPageOf(v, &bare, typed, site.Mistakes{
			"subject": name, view.MessageField: name, requestField: name,
		}),
		"support-door": supportDoorPage{
			Request: name, SignIn: view.Link{Text: "Sign in", To: "/sign-in?next=%2Fsupport%2Fnew"},
			Key: consoletest.SampleField(keyField, "API key"), Next: paths.Ask, Kept: name,
		}, "feedback": given,
		"feedback-empty": feedbackPage{
			Kind: given.Kind, Chain: given.Chain, Title: given.Title, Body: given.Body,
			Filters: given.Filters, Empty: &view.Empty{Title: "No feedback yet", Text: "x"},
		},
	}
}

func TestPages_KeepToTheRules(t *testing.T) {
	t.Parallel()
	consoletest.CheckSection(t, templates, samples)
}
