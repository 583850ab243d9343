package consoletest

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/tickets"
)

// SampleDeskTicket returns a ticket as the staff see it.
func SampleDeskTicket(name string) tickets.DeskTicketDetail {
	of := SampleDesk(name).Ticket
	line := tickets.DeskLine{
		At: Now.Add(-30 * time.Hour), Actor: name, Origin: "console", Action: "file", Status: ticket.Open,
	}
	answer := line
	answer.At, answer.Actor, answer.Action, answer.Status = Now.Add(-2*time.Hour), "dee@staff.example", "reply",
		ticket.WaitingCustomer
	return tickets.DeskTicketDetail{
		TicketDetail: of, AccountID: KeyOne, Account: name, AccountStatus: account.Active, Plan: "pro", FiledBy: name,
		History: []tickets.DeskLine{line, answer},
	}
}

// SampleDeskList returns the first page of the desk.
func SampleDeskList(name string) tickets.DeskTickets {
	list := tickets.DeskTickets{NextCursor: "CAG-1000", Unresolved: []tickets.DeskCount{
		{Status: ticket.Open, Priority: ticket.Urgent, Tickets: 2, Oldest: Now.Add(-3 * time.Hour)},
		{Status: ticket.WaitingUs, Priority: ticket.Low, Tickets: 1203, Oldest: Now.Add(-30 * time.Hour)},
		{Status: ticket.WaitingCustomer, Priority: ticket.Normal, Tickets: 1, Oldest: Now},
	}}
	for _, t := range SampleDesk(name).Tickets.Tickets {
		list.Tickets = append(list.Tickets, tickets.DeskTicket{
			TicketView: t, AccountID: KeyOne, Account: name, Plan: "pro", Messages: 3,
		})
	}
	return list
}

// SampleDeskFeedback returns feedback as the staff see it.
func SampleDeskFeedback(name string) tickets.DeskFeedbackList {
	list := tickets.DeskFeedbackList{NextCursor: RequestOne}
	for _, f := range SampleDesk(name).Feedback.Feedback {
		list.Feedback = append(list.Feedback, tickets.DeskFeedback{
			FeedbackView: f, AccountID: KeyOne, Account: name, Plan: "free", Answers: 1,
		})
	}
	return list
}

// staffCalls adds the desk; unread is its answer to a reply that overlooks a message.
func (h *Operations) staffCalls(c site.Calls) site.Calls {
	unnamed := SampleDeskList("Slow")
	for i := range unnamed.Tickets {
		unnamed.Tickets[i].Account = ""
	}
	c.DeskListTickets = func(_ context.Context, _ *operation.Caller,
		in tickets.DeskTicketsInput,
	) (tickets.DeskTickets, *fault.Error) {
		if in.Status == "bogus" {
			return tickets.DeskTickets{}, fault.New(fault.FieldRefused, "status takes one of its values.")
		}
		if in.Status == "closed" {
			return tickets.DeskTickets{}, nil
		}
		return unnamed, nil
	}
	c.DeskGetTicket = func(_ context.Context, _ *operation.Caller,
		in tickets.DeskTicketInput,
	) (tickets.DeskTicketDetail, *fault.Error) {
		if in.Reference != "CAG-1001" {
			return tickets.DeskTicketDetail{}, fault.New(fault.NotYours, "No ticket has this reference.")
		}
		found := SampleDeskTicket("Slow")
		found.Messages[0].Writer = h.Desk.Ticket.Messages[0].Writer
		return found, nil
	}
	c.DeskReplyTicket = Record[tickets.DeskReplyInput](h, SampleDeskTicket("Slow").TicketView)
	c.DeskListFeedback = func(context.Context, *operation.Caller,
		tickets.DeskFeedbackInput,
	) (tickets.DeskFeedbackList, *fault.Error) {
		return SampleDeskFeedback("WebSockets"), nil
	}
	c.DeskAnswerFeedback = Record[tickets.AnswerFeedbackInput](h, tickets.FeedbackView{Status: "planned"})
	return c
}
