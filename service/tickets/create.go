package tickets

import (
	"context"
	"errors"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/supportdb"
)

// CreateTicketInput is a request for support.
type CreateTicketInput struct {
	Subject   string `json:"subject" minLength:"1" maxLength:"140" doc:"what it is about, in one line of 1 to 140 characters" example:"eth_getLogs times out on Polygon"`
	Message   string `json:"message" minLength:"1" maxLength:"5000" doc:"what happened and what you expected, 1 to 5,000 characters; never put keys into it" example:"Since 14:00 UTC every call of 500 blocks times out."`
	RequestID string `json:"request_id,omitempty" format:"uuid" doc:"the call that it is about: data.request_id of its error, a UUID; absent for none" example:"019a9f3e-7c1d-7b7a-8a51-0d6d3f2b9c11"`
	Category  string `json:"category,omitempty" enum:"incident,question,billing,other" doc:"absent: it follows from the evidence"`
	Form      string `json:"form,omitempty" format:"uuid" doc:"an id that you make, a UUID: for one ticket: the same sent again with it is not filed again, anything else with it is refused; absent for none" example:"019a9f3e-7c1d-7b7a-8a51-0d6d3f2b9c11"`
}

// TicketView is a ticket in lists.
type TicketView struct {
	Reference      string          `json:"reference" doc:"names the ticket" example:"CAG-1001"`
	Subject        string          `json:"subject"`
	Status         ticket.Status   `json:"status" enum:"open,waiting_customer,waiting_us,resolved,closed" doc:"open: nobody has answered yet; resolved: closes by itself after seven days without an answer"`
	Category       ticket.Category `json:"category" enum:"incident,question,billing,other"`
	Priority       ticket.Priority `json:"priority" enum:"low,normal,high,urgent" doc:"follows from the plan and the evidence"`
	Channel        string          `json:"channel" doc:"the door that it came through: console, api, mcp"`
	CreatedAt      time.Time       `json:"created_at"`
	LastActivityAt time.Time       `json:"last_activity_at"`
	URL            string          `json:"url" format:"uri" doc:"its page in the console"`
}

// CreatedTicket is a new ticket, or the open ticket that the message was added to.
type CreatedTicket struct {
	TicketView

	Joined         bool          `json:"joined" doc:"true when the same symptom had an open ticket within the last hour, to which the message was added, under its subject when that differs; the category of that ticket stays"`
	SuggestedPaths []ticket.Path `json:"suggested_paths" doc:"what to try meanwhile"`
}

// ticketFails are the reasons with which operations of tickets fail, in addition to access.
var ticketFails = []fault.Reason{fault.NotYours, fault.RateWindow, fault.DurableUnavailable}

func (h *handlers) createTicket() *operation.Operation[CreateTicketInput, CreatedTicket] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "create_ticket", Title: "File a ticket", Access: operation.Holders, OfUser: true, Fails: ticketFails,
		Description: "Files a ticket with what is known of its matter: the call, the refusals of the last 24 hours, " +
			"the fences of the key and the state of the chain; never parameters or keys. The same symptom (code, " +
			"chain and method of the call) within an hour of the last activity joins the open ticket; without a " +
			"request_id each repeat files another. At most 100 tickets are unresolved at a time, and 50 are filed in " +
			"24 hours, 10 by an account without an owner. It costs nothing.",
	}, h.runCreateTicket)
}

func (h *handlers) runCreateTicket(ctx context.Context, c *operation.Call,
	in CreateTicketInput,
) (CreatedTicket, error) {
	if refusal := prose("subject", in.Subject, false); refusal != nil {
		return CreatedTicket{}, refusal
	}
	if refusal := prose("message", in.Message, true); refusal != nil {
		return CreatedTicket{}, refusal
	}
	n := supportdb.NewTicket{
		Writer: writerOf(c), Subject: in.Subject, Message: in.Message, Category: ticket.Category(in.Category),
		Chosen: ticket.Category(in.Category), At: h.Now(),
	}
	request, refusal := requestID(in.RequestID)
	if refusal != nil {
		return CreatedTicket{}, refusal
	}
	n.RequestID = request
	if n.Form, refusal = formOf(in.Form); refusal != nil {
		return CreatedTicket{}, refusal
	}
	if refusal := h.LimitStranger(ctx, c, netlimit.Tickets); refusal != nil {
		return CreatedTicket{}, refusal
	}
	evidence, err := h.evidence(ctx, c, n.RequestID)
	if err != nil {
		return CreatedTicket{}, err
	}
	n.Evidence = evidence
	if n.Category == "" {
		n.Category = evidence.Category()
	}
	n.Priority = evidence.Priority(n.Category, c.IsPaying())
	made, joined, err := h.support.CreateTicket(ctx, n)
	if err != nil {
		return CreatedTicket{}, toldOfTickets(err)
	}
	h.tellTicket(ctx, &made)
	return CreatedTicket{TicketView: h.ticketView(&made), Joined: joined, SuggestedPaths: evidence.Paths()}, nil
}

// writerOf returns the caller as the author of messages to support.
func writerOf(c *operation.Call) supportdb.Writer {
	return supportdb.Writer{
		Account: c.Account.ID, Key: c.Key.ID, User: c.User.User, Agent: c.Key.Agent, Scope: c.Scope(), Channel: c.Door,
	}
}

func (h *handlers) ticketView(t *supportdb.Ticket) TicketView {
	reference := t.Number.Reference()
	return TicketView{
		Reference: reference, Subject: t.Subject, Status: t.Status, Category: t.Category, Priority: t.Priority,
		Channel: t.Channel, CreatedAt: t.CreatedAt, LastActivityAt: t.LastActivityAt,
		URL: h.PublicURL + "/tickets/" + reference,
	}
}

// tellFor bounds how long a request waits until its ticket's workflow was signalled.
const tellFor = 2 * time.Second

// tellTicket signals the workflow of a ticket after a change was recorded. If that fails, a
// worker's sweep does it later.
func (h *handlers) tellTicket(ctx context.Context, t *supportdb.Ticket) {
	if h.Flows == nil || t.Told >= t.Version {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, tellFor)
	defer cancel()
	err := h.Flows.TellTicket(ctx, activities.TicketRef{Number: t.Number, Account: t.Account})
	if err == nil {
		err = h.Store.MarkTicketTold(ctx,
			supportdb.TicketNews{Number: t.Number, Account: t.Account, Version: t.Version})
	}
	if err == nil {
		return
	}
	if leftOut, ok := h.failures.Let(fault.DurableUnavailable); ok {
		h.Logger.Warn("ticket workflow not signalled; a worker will", "ticket", t.Number.Reference(), "account_id",
			t.Account, "cause", err, "left_out", leftOut)
	}
}

// toldOfTickets converts an error of the store into a refusal.
func toldOfTickets(err error) error {
	if daily, ok := errors.AsType[*supportdb.TooManyTodayError](err); ok {
		f := fault.New(fault.RateWindow,
			"The account filed %d tickets within 24 hours, as many as it may. Add to one of them, or file the next "+
				"in %d s.", daily.Limit, int64((daily.Wait+time.Second-1)/time.Second))
		f.RetryAfter = daily.Wait
		return f
	}
	switch {
	case errors.Is(err, supportdb.ErrFormSent):
		return fault.New(fault.FieldRefused,
			"form: this id was sent before and said something else, which was done. Look at what came of it; to add "+
				"what you send now, make another id.")
	case errors.Is(err, supportdb.ErrTooManyTickets):
		return fault.New(fault.FieldRefused,
			"The account has %d unresolved tickets, as many as it may have. Resolve some, or add to one of them.",
			ticket.MaxOpen)
	case errors.Is(err, supportdb.ErrTooManyMessages):
		return fault.New(fault.FieldRefused,
			"message: the ticket has %d messages, after which only support writes to it. File another and name this "+
				"one in it.", ticket.MaxByCustomers)
	case errors.Is(err, supportdb.ErrTooManyMoves):
		return fault.New(fault.FieldRefused,
			"The ticket was resolved and reopened as often as it may be. File another and name this one in it.")
	case errors.Is(err, store.ErrNotFound):
		return noTicket()
	}
	return operation.ToFault(err, "ticket")
}

func noTicket() *fault.Error {
	return fault.New(fault.NotYours, "No ticket of yours has this reference. List them to see what there is.")
}

// formOf parses the idempotency id of a form. An empty text is the zero id.
func formOf(text string) (supportdb.FormID, *fault.Error) {
	if text == "" {
		return supportdb.FormID{}, nil
	}
	id, err := uuid.Parse(text)
	if err != nil || id == uuid.Nil {
		return supportdb.FormID{}, fault.New(fault.FieldRefused, "form takes a UUID, or nothing.")
	}
	return supportdb.FormID{UUID: id}, nil
}

// prose refuses an empty text, control characters, and marks that change the writing direction.
// With lines, line breaks and tabs are allowed. The text itself is not changed.
func prose(field, text string, lines bool) *fault.Error {
	unreadable := func(r rune) bool {
		if lines && (r == '\n' || r == '\r' || r == '\t') {
			return false
		}
		turns := r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' // embeddings, overrides and isolates
		return unicode.IsControl(r) || turns || r == '\u2028' || r == '\u2029' || r == '\ufeff'
	}
	switch {
	case strings.TrimSpace(text) == "":
		return fault.New(fault.FieldRefused, "%s is empty. Say it in words.", field)
	case strings.ContainsFunc(text, unreadable) && lines:
		return fault.New(fault.FieldRefused,
			"%s holds control characters other than line breaks and tabs. Send plain text.", field)
	case strings.ContainsFunc(text, unreadable):
		return fault.New(fault.FieldRefused, "%s holds control characters or line breaks. Send plain text in one line.",
			field)
	case account.HoldsSecret(text):
		return fault.New(fault.FieldRefused,
			"%s holds a key or a code in full, which others would read. Take it out, or leave its first 12 "+
				"characters, and revoke it if it was sent elsewhere.", field)
	}
	return nil
}
