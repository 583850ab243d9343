package tickets

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store/supportdb"
)

// ListTicketsInput selects a page of tickets.
type ListTicketsInput struct {
	Status string `json:"status,omitempty" enum:"unresolved,open,waiting_customer,waiting_us,resolved,closed,all" default:"unresolved" doc:"which tickets; unresolved (default) are open, waiting_customer and waiting_us"`
	Limit  int    `json:"limit,omitempty" minimum:"1" maximum:"100" default:"20" doc:"how many, newest first; 1 to 100" example:"20"`
	Cursor string `json:"cursor,omitempty" pattern:"^CAG-[1-9][0-9]{0,17}$" patternDescription:"the reference of a ticket, such as CAG-1001" doc:"next_cursor of the page before; absent for the first" example:"CAG-1001"`
}

// TicketList is a page of tickets, newest first.
type TicketList struct {
	Tickets    []TicketView `json:"tickets"`
	NextCursor string       `json:"next_cursor,omitempty" doc:"cursor of the next page; absent on the last one"`
}

const defaultTickets = 20

func (h *handlers) listTickets() *operation.Operation[ListTicketsInput, TicketList] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "list_tickets", Title: "List tickets", Access: operation.Holders, Reads: true, OfUser: true,
		Fails: ticketFails,
		Description: "Lists the account's tickets, newest first, by pages; those that are not resolved unless a " +
			"status is named. An agent's key sees its agent's, one that was adopted or has no owner its own. It " +
			"costs nothing.",
	}, h.runListTickets)
}

func (h *handlers) runListTickets(ctx context.Context, c *operation.Call, in ListTicketsInput) (TicketList, error) {
	if in.Limit == 0 {
		in.Limit = defaultTickets
	}
	filter := supportdb.TicketFilter{Account: c.Account.ID, Scope: c.Scope(), Limit: in.Limit + 1}
	switch in.Status {
	case "", "unresolved":
		filter.Statuses = ticket.Unresolved()
	case "all":
		filter.Statuses = append(ticket.Unresolved(), ticket.Resolved, ticket.Closed)
	default:
		filter.Statuses = []ticket.Status{ticket.Status(in.Status)}
	}
	if in.Cursor != "" {
		filter.Before, _ = ticket.ParseReference(in.Cursor) // the schema checked the format
	}
	all, err := h.Store.ListTickets(ctx, filter)
	if err != nil {
		return TicketList{}, operation.ToFault(err, "ticket")
	}
	list := TicketList{Tickets: []TicketView{}}
	for i := range all[:min(len(all), in.Limit)] {
		list.Tickets = append(list.Tickets, h.ticketView(&all[i]))
	}
	if len(all) > in.Limit {
		list.NextCursor = all[in.Limit-1].Number.Reference()
	}
	return list, nil
}

// TicketInput identifies a ticket.
type TicketInput struct {
	Reference string `json:"reference" pattern:"^CAG-[1-9][0-9]{0,17}$" patternDescription:"the reference of a ticket, such as CAG-1001" doc:"a ticket of yours: CAG- and its number" example:"CAG-1001"`
}

// TicketDetail is a ticket with its messages and evidence.
type TicketDetail struct {
	TicketView

	Messages       []TicketNote    `json:"messages" doc:"oldest first"`
	Evidence       ticket.Evidence `json:"evidence" doc:"what was known when the ticket was filed"`
	SuggestedPaths []ticket.Path   `json:"suggested_paths" doc:"what to try, from the refusals and the evidence"`
	ResolvedAt     *time.Time      `json:"resolved_at" nullable:"true" doc:"when it was last resolved; null when it never was"`
	ClosedAt       *time.Time      `json:"closed_at" nullable:"true"`
	ClosesAt       *time.Time      `json:"closes_at" nullable:"true" doc:"when it closes by itself unless somebody writes; null while it is not resolved"`
}

// TicketNote is a message of a ticket, unmodified.
type TicketNote struct {
	Author    ticket.Author `json:"author" enum:"customer,operator,service"`
	Writer    *NoteWriter   `json:"writer,omitempty" doc:"who of the customer wrote it; absent for other authors"`
	Message   string        `json:"message" doc:"plain text; whoever shows it escapes it"`
	RequestID string        `json:"request_id,omitempty" format:"uuid" doc:"the call that it is about, when one was named"`
	At        time.Time     `json:"at"`
}

// NoteWriter is who of an account wrote a message. Callers that do not manage the account see no
// names.
type NoteWriter struct {
	Kind NoteWriterKind `json:"kind" enum:"you,member,key,agent,another" doc:"another: somebody of the account whom you are not told, or who is not recorded"`
	Name string         `json:"name,omitempty" doc:"the member's address, the key's first characters, the agent's name; absent for you and another"`
}

// NoteWriterKind is the relation of a writer to the reader.
type NoteWriterKind string

// The kinds of writers.
const (
	WriterYou     NoteWriterKind = "you"
	WriterMember  NoteWriterKind = "member"
	WriterKey     NoteWriterKind = "key"
	WriterAgent   NoteWriterKind = "agent"
	WriterAnother NoteWriterKind = "another"
)

// wrote reports whether the caller is the writer: the same user, the same key, or a key of the same
// agent.
func wrote(c *operation.Call, w *supportdb.TicketWriter) bool {
	switch {
	case !c.Key.ID.IsZero():
		return w.Key == c.Key.ID || !c.Key.Agent.IsZero() && w.Agent == c.Key.Agent
	case !c.User.User.IsZero():
		return w.User == c.User.User
	}
	return false
}

// nameWriters adds who of the account wrote each message. Staff sees the same as callers who manage
// the account.
func (h *handlers) nameWriters(ctx context.Context, c *operation.Call, notes []TicketNote,
	messages []supportdb.TicketMessage,
) error {
	writers, err := h.Store.WritersOf(ctx, messages)
	if err != nil {
		return operation.ToFault(err, "ticket")
	}
	for i := range messages {
		if messages[i].Author != ticket.Customer {
			continue
		}
		w := writers[messages[i].Writer]
		named := NoteWriter{Kind: WriterAnother}
		switch {
		case wrote(c, &w):
			named.Kind = WriterYou
		case !c.Manages():
		case w.Email != "":
			named = NoteWriter{WriterMember, w.Email}
		case w.AgentName != "":
			named = NoteWriter{WriterAgent, w.AgentName}
		case w.Prefix != "":
			named = NoteWriter{WriterKey, w.Prefix}
		}
		notes[i].Writer = &named
	}
	return nil
}

func (h *handlers) getTicket() *operation.Operation[TicketInput, TicketDetail] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "get_ticket", Title: "Read a ticket", Access: operation.Holders, Reads: true, OfUser: true,
		Fails: ticketFails,
		Description: "Gives a ticket with its messages, the evidence that was attached when it was filed, and what " +
			"to try. It costs nothing.",
	}, h.runGetTicket)
}

func (h *handlers) runGetTicket(ctx context.Context, c *operation.Call, in TicketInput) (TicketDetail, error) {
	number, ok := ticket.ParseReference(in.Reference)
	if !ok {
		return TicketDetail{}, noTicket()
	}
	t, messages, err := h.Store.LoadTicket(ctx, c.Account.ID, c.Scope(), number)
	if err != nil {
		return TicketDetail{}, toldOfTickets(err)
	}
	d := h.ticketDetail(&t, messages)
	d.Evidence = evidenceFor(c, d.Evidence)
	return d, h.nameWriters(ctx, c, d.Messages, messages)
}

func (h *handlers) ticketDetail(t *supportdb.Ticket, messages []supportdb.TicketMessage) TicketDetail {
	d := TicketDetail{
		TicketView: h.ticketView(t), Messages: make([]TicketNote, len(messages)), Evidence: t.Evidence,
		SuggestedPaths: t.Evidence.Paths(), ResolvedAt: operation.NullTime(t.ResolvedAt),
		ClosedAt: operation.NullTime(t.ClosedAt),
	}
	if t.Status == ticket.Resolved {
		closes := t.LastActivityAt.Add(ticket.CloseAfter)
		d.ClosesAt = &closes
	}
	for i, m := range messages {
		d.Messages[i] = TicketNote{Author: m.Author, Message: m.Body, At: m.At}
		if m.RequestID != uuid.Nil {
			d.Messages[i].RequestID = m.RequestID.String()
		}
	}
	return d
}

// ReplyTicketInput is a customer's reply to a ticket, or a change of its state.
type ReplyTicketInput struct {
	Reference string `json:"reference" pattern:"^CAG-[1-9][0-9]{0,17}$" patternDescription:"the reference of a ticket, such as CAG-1001" doc:"a ticket of yours: CAG- and its number" example:"CAG-1001"`
	Message   string `json:"message,omitempty" maxLength:"5000" doc:"what you have to add, up to 5,000 characters; may be absent when you resolve or reopen" example:"It works again, thank you."`
	Resolve   bool   `json:"resolve,omitempty" doc:"true says that nothing is left to do" example:"false"`
	Reopen    bool   `json:"reopen,omitempty" doc:"true opens a resolved or closed ticket again; a message to a resolved one does so by itself" example:"false"`
	Form      string `json:"form,omitempty" format:"uuid" doc:"an id that you make, a UUID: for one reply: the same sent again with it is not taken again, anything else with it is refused; absent for none" example:"019a9f3e-7c1d-7b7a-8a51-0d6d3f2b9c11"`
}

func (h *handlers) replyTicket() *operation.Operation[ReplyTicketInput, TicketView] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "reply_ticket", Title: "Reply to a ticket", Access: operation.Holders, OfUser: true, Fails: ticketFails,
		Description: "Adds a message to a ticket, resolves it or opens it again. A message to a resolved ticket " +
			"opens it; a closed one takes a reply only with reopen. Each repeat adds its message again, until the " +
			"ticket has 190, unless it comes with the id of the same form. It costs nothing.",
	}, h.runReplyTicket)
}

func (h *handlers) runReplyTicket(ctx context.Context, c *operation.Call, in ReplyTicketInput) (TicketView, error) {
	number, ok := ticket.ParseReference(in.Reference)
	if !ok {
		return TicketView{}, noTicket()
	}
	if in.Message != "" {
		if refusal := prose("message", in.Message, true); refusal != nil {
			return TicketView{}, refusal
		}
	}
	form, refusal := formOf(in.Form)
	if refusal != nil {
		return TicketView{}, refusal
	}
	by, writer := c.Author(""), writerOf(c)
	t, verdict, err := h.support.ReplyTicket(ctx, supportdb.TicketReply{
		Number: number, Account: c.Account.ID, Scope: c.Scope(), By: ticket.Customer, Actor: by.Actor,
		Writer: writer.Actor(), Origin: by.Origin, Text: in.Message, Resolve: in.Resolve, Reopen: in.Reopen, Form: form,
		At: h.Now(),
	})
	if err != nil {
		return TicketView{}, toldOfTickets(err)
	}
	if refusal := unmoved(verdict, t.Status); refusal != nil {
		return TicketView{}, refusal
	}
	h.tellTicket(ctx, &t)
	return h.ticketView(&t), nil
}

// unmoved returns why a ticket's state did not change, or nil if it changed or already was as
// wanted.
func unmoved(v ticket.Verdict, now ticket.Status) *fault.Error {
	switch v {
	case ticket.Moves, ticket.IsResolved:
		return nil
	case ticket.IsClosed:
		return fault.New(fault.FieldRefused,
			"reopen: the ticket is closed. Reply with reopen true to go on with it, or file another.")
	case ticket.Contrary:
		return fault.New(fault.FieldRefused, "resolve and reopen exclude each other. Send one of them.")
	case ticket.NotOver:
		return fault.New(fault.FieldRefused,
			"reopen: the ticket is %s, so there is nothing to reopen. Send a message without it.",
			strings.ReplaceAll(string(now), "_", " "))
	case ticket.NothingIn:
		return fault.New(fault.FieldRefused, "message is missing. Say something, or send resolve or reopen.")
	}
	return nil
}
