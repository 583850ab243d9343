package console

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
)

// fakeDesk is the data of support.
type fakeDesk struct {
	tickets  service.TicketList
	ticket   service.TicketDetail
	preview  service.TicketPreview
	feedback service.FeedbackList
	over     bool // every key is unknown from now on
	// The requests and their callers.
	callers []service.Caller
	listed  []service.ListTicketsInput
	given   []service.ListFeedbackInput
}

// requestOne is the only call that the fake desk finds.
const requestOne = "019a9f2e-1111-7000-8000-0000000000ff"

// bearerOne is the only key that the fake desk knows.
const bearerOne = plaintext

func sampleEvidence() ticket.Evidence {
	limit := 500_000 * plan.Unit
	measured := sampleNow.Add(-time.Minute)
	return ticket.Evidence{
		GatheredAt: sampleNow,
		Call: &ticket.ReportedCall{
			RequestID: requestOne, At: sampleNow.Add(-2 * time.Minute), Place: 1, Batch: 3, Chain: "polygon_pos",
			Service: "rpc", Method: "eth_getLogs", Class: "heavy", Tier: "balanced", Outcome: "upstream_failed",
			Code: -32022, HTTPStatus: 502, Attempts: 2, Millis: 1512,
		},
		Refusals: []ticket.RefusalCount{
			{
				Reason: "upstream_failed", Code: -32022, Chain: "polygon_pos", Method: "eth_getLogs", Count: 1204,
				Last: sampleNow.Add(-5 * time.Minute),
			},
			{
				Reason: "client_gone", Chain: "eth_mainnet", Method: "eth_call", Count: 3,
				Last: sampleNow.Add(-7 * time.Hour),
			},
		},
		Fences: ticket.FencesThen{
			Plan: plan.Free, Status: "active", Account: ticket.FenceList{
				Off: []string{"data"}, Caps: map[string]plan.Units{"rpc": limit},
			},
			Key: &ticket.KeyFences{Prefix: "cag_aHCrXoRO", Door: "account", Status: "active", Cap: &limit},
		},
		Chain: &ticket.ChainCondition{
			Chain: "polygon_pos", State: ticket.ChainDegraded, Head: 61_234_567,
			MeasuredAt: &measured, Usable: 1, Upstreams: 2,
		},
	}
}

func sampleDesk(name string) fakeDesk {
	e := sampleEvidence()
	view := service.TicketView{
		Reference: "CAG-1001", Subject: name, Status: ticket.WaitingCustomer, Category: ticket.Incident,
		Priority: ticket.High, Channel: service.DoorAPI, CreatedAt: sampleNow.Add(-30 * time.Hour),
		LastActivityAt: sampleNow.Add(-time.Hour), URL: "https://gateway.example/tickets/CAG-1001",
	}
	other := view
	other.Reference, other.Subject, other.Status, other.Channel = "CAG-1000", "Where is the invoice of October",
		ticket.Resolved, service.DoorConsole
	reply := name
	return fakeDesk{
		tickets: service.TicketList{Tickets: []service.TicketView{view, other}, NextCursor: "CAG-1000"},
		ticket: service.TicketDetail{
			TicketView: view, Evidence: e, SuggestedPaths: e.Paths(),
			Messages: []service.TicketNote{
				{
					Author: ticket.Customer, Message: name + "\nSince 14:00 UTC.", RequestID: requestOne,
					At: sampleNow.Add(-30 * time.Hour), Writer: &service.NoteWriter{
						Kind: service.WriterAgent, Name: name,
					},
				},
				{
					Author: ticket.Operator, Message: "One upstream of Polygon is out. " + name,
					At: sampleNow.Add(-2 * time.Hour),
				},
				{Author: ticket.Service, Message: "Closed by itself after seven days.", At: sampleNow.Add(-time.Hour)},
			},
		},
		preview: service.TicketPreview{Evidence: e, Category: ticket.Incident, SuggestedPaths: e.Paths()},
		feedback: service.FeedbackList{NextCursor: requestOne, Feedback: []service.FeedbackView{
			{
				ID: requestOne, Kind: "feature", Title: name, Body: name, Chain: "base_mainnet", Status: "planned",
				Reply: &reply, CreatedAt: sampleNow.Add(-50 * time.Hour),
			},
			{
				ID: keyOne, Kind: "praise", Title: "It is quiet", Status: "new",
				CreatedAt: sampleNow.Add(-60 * time.Hour),
			},
		}},
	}
}

// deskCalls adds the operations of support. Only bearerOne is a valid key.
func (h *house) deskCalls(c Calls) Calls {
	c.PreviewTicket = func(_ context.Context, by *service.Caller,
		in service.PreviewTicketInput,
	) (service.TicketPreview, *fault.Error) {
		shown := h.desk.preview
		switch refusal := h.known(by); {
		case refusal != nil:
			return shown, refusal
		case in.RequestID == "":
			shown.Evidence.Call, shown.Evidence.Chain = nil, nil
			shown.SuggestedPaths = shown.Evidence.Paths()
		case in.RequestID != requestOne:
			return service.TicketPreview{}, noCallOfYours()
		}
		return shown, nil
	}
	c.CreateTicket = func(ctx context.Context, by *service.Caller,
		in service.CreateTicketInput,
	) (service.CreatedTicket, *fault.Error) {
		if in.RequestID != "" && in.RequestID != requestOne {
			return service.CreatedTicket{}, noCallOfYours()
		}
		return changes[service.CreateTicketInput](h, service.CreatedTicket{TicketView: h.desk.ticket.TicketView})(ctx,
			by, in)
	}
	c.ListTickets = func(_ context.Context, by *service.Caller,
		in service.ListTicketsInput,
	) (service.TicketList, *fault.Error) {
		refusal := h.known(by)
		if in.Status == "bogus" {
			refusal = fault.New(fault.FieldRefused, "status takes one of its values.")
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.desk.listed = append(h.desk.listed, in)
		return h.desk.tickets, refusal
	}
	c.GetTicket = func(_ context.Context, by *service.Caller,
		in service.TicketInput,
	) (service.TicketDetail, *fault.Error) {
		if in.Reference != h.desk.ticket.Reference {
			return service.TicketDetail{}, fault.New(fault.NotYours, "You have no ticket with this reference.")
		}
		return h.desk.ticket, h.known(by)
	}
	c.ReplyTicket = changes[service.ReplyTicketInput](h, h.desk.ticket.TicketView)
	c.SubmitFeedback = changes[service.SubmitFeedbackInput](h, service.FeedbackView{})
	c.ListFeedback = func(_ context.Context, by *service.Caller,
		in service.ListFeedbackInput,
	) (service.FeedbackList, *fault.Error) {
		refusal := h.known(by)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.desk.given = append(h.desk.given, in)
		return h.desk.feedback, refusal
	}
	return c
}

func (h *house) known(by *service.Caller) *fault.Error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.desk.callers = append(h.desk.callers, *by)
	if by.Session == "" && (by.Bearer != bearerOne || h.desk.over) {
		return fault.New(fault.KeyInvalid, "")
	}
	return nil
}

func noCallOfYours() *fault.Error {
	return fault.New(fault.NotYours, "No call of yours has this request_id.")
}

// deskVisit is a request for formatting samples.
func deskVisit() *request { return &request{reader: sampleReader()} }

// supportSamples are the pages of support.
func supportSamples(name string) map[string]page {
	v, desk := deskVisit(), sampleDesk(name)
	list := ticketsPage{
		Filters: filtersOf(pathTickets, ticketFilters, "unresolved"), Ask: pathNewTicket,
		Older: "/tickets?cursor=CAG-1000", Newest: pathTickets,
	}
	for i := range desk.tickets.Tickets {
		list.Tickets = append(list.Tickets, v.ticketRow(&desk.tickets.Tickets[i]))
	}
	none := ticketsPage{
		Filters: list.Filters, Ask: pathNewTicket, Empty: v.noTickets("unresolved"), With: "cag_aHCrXoRO",
	}
	bare := desk.preview
	bare.Evidence.Call, bare.Evidence.Chain, bare.Evidence.Refusals = nil, nil, nil
	bare.SuggestedPaths = nil
	typed := ticketTyped{request: name, subject: name, message: name, category: "billing"}
	resolved, closed := desk.ticket, desk.ticket
	closes := sampleNow.Add(100 * time.Hour)
	resolved.Status, resolved.ClosesAt, closed.Status = ticket.Resolved, &closes, ticket.Closed
	given := feedbackPage{
		Kind: choose("kind", "Kind", feedbackKinds, "chain", ""), Chain: choose("chain", "Chain", servedChains(), "",
			""), Title: field{Name: "title", Label: "Title", Value: name, Error: name},
		Body:    area{Name: "body", Label: "More about it", Value: name, Error: name, Rows: 4},
		Filters: filtersOf(pathFeedback, feedbackStatuses, "new"), Older: "/feedback?cursor=1",
	}
	for i := range desk.feedback.Feedback {
		given.Given = append(given.Given, v.feedbackView(&desk.feedback.Feedback[i]))
	}
	return map[string]page{
		"tickets": list, "tickets-empty": none, "ticket": v.ticketPage(&desk.ticket, "", ""),
		"ticket-resolved": v.ticketPage(&resolved, name, name), "ticket-closed": v.ticketPage(&closed, "", ""),
		"new-ticket": v.newTicketPage(&desk.preview, ticketTyped{}, nil),
		"new-ticket-refused": v.newTicketPage(&bare, typed, mistakes{
			"subject": name, messageField: name, requestField: name,
		}),
		"support-door": supportDoorPage{
			Request: name, SignIn: link{"Sign in", "/sign-in?next=%2Fsupport%2Fnew"},
			Key: sampleField(keyField, "API key"), Next: pathAsk, Kept: name,
		}, "feedback": given,
		"feedback-empty": feedbackPage{
			Kind: given.Kind, Chain: given.Chain, Title: given.Title, Body: given.Body,
			Filters: given.Filters, Empty: &empty{Title: "No feedback yet", Text: "x"},
		},
	}
}
