package consoletest

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/service/tickets"
)

// Desk is the data of support.
type Desk struct {
	Tickets  tickets.TicketList
	Ticket   tickets.TicketDetail
	Preview  tickets.TicketPreview
	Feedback tickets.FeedbackList
	Over     bool // every key is unknown from now on
	// The requests and their callers.
	callers []operation.Caller
	Listed  []tickets.ListTicketsInput
	Given   []tickets.ListFeedbackInput
}

// RequestOne is the only call that the fake desk finds.
const RequestOne = "019a9f2e-1111-7000-8000-0000000000ff"

// BearerOne is the only key that the fake desk knows.
const BearerOne = Plaintext

func sampleEvidence() ticket.Evidence {
	limit := 500_000 * plan.Unit
	measured := Now.Add(-time.Minute)
	return ticket.Evidence{
		GatheredAt: Now,
		Call: &ticket.ReportedCall{
			RequestID: RequestOne, At: Now.Add(-2 * time.Minute), Place: 1, Batch: 3, Chain: "polygon_pos",
			Service: "rpc", Method: "eth_getLogs", Class: "heavy", Tier: "balanced", Outcome: "upstream_failed",
			Code: -32022, HTTPStatus: 502, Attempts: 2, Millis: 1512,
		},
		Refusals: []ticket.RefusalCount{
			{
				Reason: "upstream_failed", Code: -32022, Chain: "polygon_pos", Method: "eth_getLogs", Count: 1204,
				Last: Now.Add(-5 * time.Minute),
			},
			{
				Reason: "client_gone", Chain: "eth_mainnet", Method: "eth_call", Count: 3,
				Last: Now.Add(-7 * time.Hour),
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

// SampleDesk returns the tickets and the feedback of an account, with a text that somebody chose.
func SampleDesk(name string) Desk {
	e := sampleEvidence()
	view := tickets.TicketView{
		Reference: "CAG-1001", Subject: name, Status: ticket.WaitingCustomer, Category: ticket.Incident,
		Priority: ticket.High, Channel: operation.DoorAPI, CreatedAt: Now.Add(-30 * time.Hour),
		LastActivityAt: Now.Add(-time.Hour), URL: "https://gateway.example/tickets/CAG-1001",
	}
	other := view
	other.Reference, other.Subject, other.Status, other.Channel = "CAG-1000", "Where is the invoice of October",
		ticket.Resolved, operation.DoorConsole
	reply := name
	return Desk{
		Tickets: tickets.TicketList{Tickets: []tickets.TicketView{view, other}, NextCursor: "CAG-1000"},
		Ticket: tickets.TicketDetail{
			TicketView: view, Evidence: e, SuggestedPaths: e.Paths(),
			Messages: []tickets.TicketNote{
				{
					Author: ticket.Customer, Message: name + "\nSince 14:00 UTC.", RequestID: RequestOne,
					At: Now.Add(-30 * time.Hour), Writer: &tickets.NoteWriter{
						Kind: tickets.WriterAgent, Name: name,
					},
				},
				{
					Author: ticket.Operator, Message: "One upstream of Polygon is out. " + name,
					At: Now.Add(-2 * time.Hour),
				},
				{Author: ticket.Service, Message: "Closed by itself after seven days.", At: Now.Add(-time.Hour)},
			},
		},
		Preview: tickets.TicketPreview{Evidence: e, Category: ticket.Incident, SuggestedPaths: e.Paths()},
		Feedback: tickets.FeedbackList{NextCursor: RequestOne, Feedback: []tickets.FeedbackView{
			{
				ID: RequestOne, Kind: "feature", Title: name, Body: name, Chain: "base_mainnet", Status: "planned",
				Reply: &reply, CreatedAt: Now.Add(-50 * time.Hour),
			},
			{
				ID: KeyOne, Kind: "praise", Title: "It is quiet", Status: "new",
				CreatedAt: Now.Add(-60 * time.Hour),
			},
		}},
	}
}

// deskCalls adds the operations of support. Only bearerOne is a valid key.
func (h *Operations) deskCalls(c site.Calls) site.Calls {
	c.PreviewTicket = func(_ context.Context, by *operation.Caller,
		in tickets.PreviewTicketInput,
	) (tickets.TicketPreview, *fault.Error) {
		shown := h.Desk.Preview
		switch refusal := h.known(by); {
		case refusal != nil:
			return shown, refusal
		case in.RequestID == "":
			shown.Evidence.Call, shown.Evidence.Chain = nil, nil
			shown.SuggestedPaths = shown.Evidence.Paths()
		case in.RequestID != RequestOne:
			return tickets.TicketPreview{}, noCallOfYours()
		}
		return shown, nil
	}
	c.CreateTicket = func(ctx context.Context, by *operation.Caller,
		in tickets.CreateTicketInput,
	) (tickets.CreatedTicket, *fault.Error) {
		if in.RequestID != "" && in.RequestID != RequestOne {
			return tickets.CreatedTicket{}, noCallOfYours()
		}
		return Record[tickets.CreateTicketInput](h, tickets.CreatedTicket{TicketView: h.Desk.Ticket.TicketView})(ctx,
			by, in)
	}
	c.ListTickets = func(_ context.Context, by *operation.Caller,
		in tickets.ListTicketsInput,
	) (tickets.TicketList, *fault.Error) {
		refusal := h.known(by)
		if in.Status == "bogus" {
			refusal = fault.New(fault.FieldRefused, "status takes one of its values.")
		}
		h.Mu.Lock()
		defer h.Mu.Unlock()
		h.Desk.Listed = append(h.Desk.Listed, in)
		return h.Desk.Tickets, refusal
	}
	c.GetTicket = func(_ context.Context, by *operation.Caller,
		in tickets.TicketInput,
	) (tickets.TicketDetail, *fault.Error) {
		if in.Reference != h.Desk.Ticket.Reference {
			return tickets.TicketDetail{}, fault.New(fault.NotYours, "You have no ticket with this reference.")
		}
		return h.Desk.Ticket, h.known(by)
	}
	c.ReplyTicket = Record[tickets.ReplyTicketInput](h, h.Desk.Ticket.TicketView)
	c.SubmitFeedback = Record[tickets.SubmitFeedbackInput](h, tickets.FeedbackView{})
	c.ListFeedback = func(_ context.Context, by *operation.Caller,
		in tickets.ListFeedbackInput,
	) (tickets.FeedbackList, *fault.Error) {
		refusal := h.known(by)
		h.Mu.Lock()
		defer h.Mu.Unlock()
		h.Desk.Given = append(h.Desk.Given, in)
		return h.Desk.Feedback, refusal
	}
	return c
}

func (h *Operations) known(by *operation.Caller) *fault.Error {
	h.Mu.Lock()
	defer h.Mu.Unlock()
	h.Desk.callers = append(h.Desk.callers, *by)
	if by.Session == "" && (by.Bearer != BearerOne || h.Desk.Over) {
		return fault.New(fault.KeyInvalid, "")
	}
	return nil
}

func noCallOfYours() *fault.Error {
	return fault.New(fault.NotYours, "No call of yours has this request_id.")
}
