package consoletest

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/api/console/site"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/service"
)

// Desk is the data of support.
type Desk struct {
	Tickets  service.TicketList
	Ticket   service.TicketDetail
	Preview  service.TicketPreview
	Feedback service.FeedbackList
	Over     bool // every key is unknown from now on
	// The requests and their callers.
	callers []service.Caller
	Listed  []service.ListTicketsInput
	Given   []service.ListFeedbackInput
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
	view := service.TicketView{
		Reference: "CAG-1001", Subject: name, Status: ticket.WaitingCustomer, Category: ticket.Incident,
		Priority: ticket.High, Channel: service.DoorAPI, CreatedAt: Now.Add(-30 * time.Hour),
		LastActivityAt: Now.Add(-time.Hour), URL: "https://gateway.example/tickets/CAG-1001",
	}
	other := view
	other.Reference, other.Subject, other.Status, other.Channel = "CAG-1000", "Where is the invoice of October",
		ticket.Resolved, service.DoorConsole
	reply := name
	return Desk{
		Tickets: service.TicketList{Tickets: []service.TicketView{view, other}, NextCursor: "CAG-1000"},
		Ticket: service.TicketDetail{
			TicketView: view, Evidence: e, SuggestedPaths: e.Paths(),
			Messages: []service.TicketNote{
				{
					Author: ticket.Customer, Message: name + "\nSince 14:00 UTC.", RequestID: RequestOne,
					At: Now.Add(-30 * time.Hour), Writer: &service.NoteWriter{
						Kind: service.WriterAgent, Name: name,
					},
				},
				{
					Author: ticket.Operator, Message: "One upstream of Polygon is out. " + name,
					At: Now.Add(-2 * time.Hour),
				},
				{Author: ticket.Service, Message: "Closed by itself after seven days.", At: Now.Add(-time.Hour)},
			},
		},
		Preview: service.TicketPreview{Evidence: e, Category: ticket.Incident, SuggestedPaths: e.Paths()},
		Feedback: service.FeedbackList{NextCursor: RequestOne, Feedback: []service.FeedbackView{
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
	c.PreviewTicket = func(_ context.Context, by *service.Caller,
		in service.PreviewTicketInput,
	) (service.TicketPreview, *fault.Error) {
		shown := h.Desk.Preview
		switch refusal := h.known(by); {
		case refusal != nil:
			return shown, refusal
		case in.RequestID == "":
			shown.Evidence.Call, shown.Evidence.Chain = nil, nil
			shown.SuggestedPaths = shown.Evidence.Paths()
		case in.RequestID != RequestOne:
			return service.TicketPreview{}, noCallOfYours()
		}
		return shown, nil
	}
	c.CreateTicket = func(ctx context.Context, by *service.Caller,
		in service.CreateTicketInput,
	) (service.CreatedTicket, *fault.Error) {
		if in.RequestID != "" && in.RequestID != RequestOne {
			return service.CreatedTicket{}, noCallOfYours()
		}
		return Record[service.CreateTicketInput](h, service.CreatedTicket{TicketView: h.Desk.Ticket.TicketView})(ctx,
			by, in)
	}
	c.ListTickets = func(_ context.Context, by *service.Caller,
		in service.ListTicketsInput,
	) (service.TicketList, *fault.Error) {
		refusal := h.known(by)
		if in.Status == "bogus" {
			refusal = fault.New(fault.FieldRefused, "status takes one of its values.")
		}
		h.Mu.Lock()
		defer h.Mu.Unlock()
		h.Desk.Listed = append(h.Desk.Listed, in)
		return h.Desk.Tickets, refusal
	}
	c.GetTicket = func(_ context.Context, by *service.Caller,
		in service.TicketInput,
	) (service.TicketDetail, *fault.Error) {
		if in.Reference != h.Desk.Ticket.Reference {
			return service.TicketDetail{}, fault.New(fault.NotYours, "You have no ticket with this reference.")
		}
		return h.Desk.Ticket, h.known(by)
	}
	c.ReplyTicket = Record[service.ReplyTicketInput](h, h.Desk.Ticket.TicketView)
	c.SubmitFeedback = Record[service.SubmitFeedbackInput](h, service.FeedbackView{})
	c.ListFeedback = func(_ context.Context, by *service.Caller,
		in service.ListFeedbackInput,
	) (service.FeedbackList, *fault.Error) {
		refusal := h.known(by)
		h.Mu.Lock()
		defer h.Mu.Unlock()
		h.Desk.Given = append(h.Desk.Given, in)
		return h.Desk.Feedback, refusal
	}
	return c
}

func (h *Operations) known(by *service.Caller) *fault.Error {
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
