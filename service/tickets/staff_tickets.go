package tickets

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/service/operation"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/supportdb"
)

// DeskTicketsInput selects a page of tickets of all accounts.
type DeskTicketsInput struct {
	Status    string `json:"status,omitempty" enum:"to_answer,unresolved,open,waiting_customer,waiting_us,resolved,closed,all" default:"to_answer" doc:"which tickets; to_answer (default) are open and waiting_us, unresolved those and waiting_customer"`
	Priority  string `json:"priority,omitempty" enum:"low,normal,high,urgent" doc:"only tickets of this priority; absent for all"`
	AccountID string `json:"account_id,omitempty" format:"uuid" doc:"only tickets of this account, a UUID; absent for all" example:"019a9f3e-7c1d-7b7a-8a51-0d6d3f2b9c11"`
	Limit     int    `json:"limit,omitempty" minimum:"1" maximum:"100" default:"50" doc:"how many; 1 to 100" example:"50"`
	Cursor    string `json:"cursor,omitempty" pattern:"^CAG-[1-9][0-9]{0,17}$" patternDescription:"the reference of a ticket, such as CAG-1001" doc:"next_cursor of the page before; absent for the first" example:"CAG-1001"`
}

// DeskTicket is a ticket in lists of the desk.
type DeskTicket struct {
	TicketView

	AccountID string `json:"account_id" format:"uuid"`
	Account   string `json:"account" doc:"what the account is called; may be empty"`
	Plan      string `json:"plan" doc:"key of the account's plan"`
	Messages  int    `json:"messages"`
}

// DeskCount is the number of tickets in a state.
type DeskCount struct {
	Status   ticket.Status   `json:"status" enum:"open,waiting_customer,waiting_us"`
	Priority ticket.Priority `json:"priority" enum:"low,normal,high,urgent"`
	Tickets  int64           `json:"tickets"`
	Oldest   time.Time       `json:"oldest_activity_at" doc:"when the one was last written to that waits longest"`
}

// DeskTickets is a page of tickets of all accounts, with counts of all unresolved ones.
type DeskTickets struct {
	Tickets    []DeskTicket `json:"tickets"`
	Unresolved []DeskCount  `json:"unresolved"`
	NextCursor string       `json:"next_cursor,omitempty" doc:"cursor of the next page; absent on the last one"`
}

const defaultDeskPage = 50

// toAnswer selects the tickets that wait for an answer, longest wait first.
const toAnswer = "to_answer"

// deskFails are the reasons with which operations of the desk fail, in addition to access.
var deskFails = []fault.Reason{fault.NotYours, fault.DurableUnavailable}

func (h *handlers) deskListTickets() *operation.Operation[DeskTicketsInput, DeskTickets] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "desk_list_tickets", Title: "List tickets of all accounts", Access: operation.Staff, Reads: true,
		Fails: deskFails,
		Description: "Lists the tickets of all accounts by pages: those that wait for an answer, the oldest first, " +
			"unless a status is named, else the newest first. Counts what is unresolved besides.",
	}, h.runDeskListTickets)
}

// deskStatuses returns the states that a filter selects.
func deskStatuses(name string) []ticket.Status {
	switch name {
	case "", toAnswer:
		return []ticket.Status{ticket.Open, ticket.WaitingUs}
	case "unresolved":
		return ticket.Unresolved()
	case "all":
		return append(ticket.Unresolved(), ticket.Resolved, ticket.Closed)
	}
	return []ticket.Status{ticket.Status(name)}
}

func (h *handlers) runDeskListTickets(ctx context.Context, _ *operation.Call,
	in DeskTicketsInput,
) (DeskTickets, error) {
	if in.Limit == 0 {
		in.Limit = defaultDeskPage
	}
	f := supportdb.DeskFilter{
		Statuses: deskStatuses(in.Status), Priorities: ticket.Priorities(), Limit: in.Limit + 1,
		OldestFirst: in.Status == "" || in.Status == toAnswer,
	}
	if in.Priority != "" {
		f.Priorities = []ticket.Priority{ticket.Priority(in.Priority)}
	}
	if in.AccountID != "" {
		id, err := account.ParseID(in.AccountID)
		if err != nil {
			return DeskTickets{}, fault.New(fault.FieldRefused, "account_id takes the id of an account, a UUID.")
		}
		f.Account = id
	}
	if in.Cursor != "" {
		f.Past, _ = ticket.ParseReference(in.Cursor) // the schema checked the format
	}
	all, err := h.Store.ListDeskTickets(ctx, f)
	if err != nil {
		return DeskTickets{}, operation.ToFault(err, "ticket")
	}
	counts, err := h.Store.CountDeskTickets(ctx)
	if err != nil {
		return DeskTickets{}, operation.ToFault(err, "ticket")
	}
	list := DeskTickets{Tickets: []DeskTicket{}, Unresolved: make([]DeskCount, len(counts))}
	for i := range counts {
		list.Unresolved[i] = DeskCount(counts[i])
	}
	for i := range all[:min(len(all), in.Limit)] {
		t := &all[i]
		list.Tickets = append(list.Tickets, DeskTicket{
			TicketView: h.deskView(&t.Ticket), AccountID: t.Account.String(), Account: t.AccountName, Plan: t.Plan,
			Messages: t.Messages,
		})
	}
	if len(all) > in.Limit {
		list.NextCursor = all[in.Limit-1].Number.Reference()
	}
	return list, nil
}

// deskView returns a ticket with the URL of its page at the desk.
func (h *handlers) deskView(t *supportdb.Ticket) TicketView {
	v := h.ticketView(t)
	v.URL = h.PublicURL + "/staff/tickets/" + v.Reference
	return v
}

// DeskTicketInput identifies a ticket of any account.
type DeskTicketInput struct {
	Reference string `json:"reference" pattern:"^CAG-[1-9][0-9]{0,17}$" patternDescription:"the reference of a ticket, such as CAG-1001" doc:"a ticket: CAG- and its number" example:"CAG-1001"`
}

// DeskTicketDetail is a ticket with its messages, evidence and history, and with its account.
type DeskTicketDetail struct {
	TicketDetail

	AccountID     string         `json:"account_id" format:"uuid"`
	Account       string         `json:"account" doc:"what the account is called; may be empty"`
	AccountStatus account.Status `json:"account_status" enum:"active,suspended"`
	Plan          string         `json:"plan" doc:"key of the account's plan"`
	FiledBy       string         `json:"filed_by" doc:"the user's address, or the first characters of the key"`
	History       []DeskLine     `json:"history" doc:"what was done, oldest first"`
}

// DeskLine is an action on a ticket.
type DeskLine struct {
	At     time.Time     `json:"at"`
	Actor  string        `json:"actor" doc:"who: an address, a key, an operator, or service"`
	Origin string        `json:"origin" doc:"from where: console, api, mcp, ops, worker"`
	Action string        `json:"action" enum:"file,join,reply,resolve,reopen,close"`
	Status ticket.Status `json:"status" doc:"that the ticket has had since"`
}

func (h *handlers) deskGetTicket() *operation.Operation[DeskTicketInput, DeskTicketDetail] {
	return operation.Define(h.Runner, operation.Meta{
		Name: "desk_get_ticket", Title: "Read a ticket of any account", Access: operation.Staff, Reads: true,
		Fails: deskFails,
		Description: "Gives a ticket with its messages, evidence and suggested paths, the account and plan that it " +
			"is of, who filed it, and what was done about it by whom.",
	}, h.runDeskGetTicket)
}

func (h *handlers) runDeskGetTicket(ctx context.Context, c *operation.Call,
	in DeskTicketInput,
) (DeskTicketDetail, error) {
	number, ok := ticket.ParseReference(in.Reference)
	if !ok {
		return DeskTicketDetail{}, noDeskTicket()
	}
	t, messages, err := h.Store.LoadTicket(ctx, account.ID{}, supportdb.Scope{}, number)
	if err != nil {
		return DeskTicketDetail{}, toldOfDesk(err)
	}
	of, err := h.Store.LoadDeskAccount(ctx, t.Account)
	if err != nil {
		return DeskTicketDetail{}, operation.ToFault(err, "account")
	}
	d := DeskTicketDetail{
		TicketDetail: h.ticketDetail(&t, messages), AccountID: t.Account.String(), Account: of.Name,
		AccountStatus: of.Status, Plan: of.Plan,
	}
	d.TicketView = h.deskView(&t)
	if err := h.nameWriters(ctx, c, d.Messages, messages); err != nil {
		return d, err
	}
	lines, err := h.Store.ListDeskLines(ctx, t.Number.Reference())
	if err != nil {
		return d, operation.ToFault(err, "ticket")
	}
	return d, h.nameActors(ctx, &d, &t, lines)
}

// nameActors adds who filed a ticket and who acted on it. E-mail addresses and prefixes of keys are
// looked up on reading and not stored with the ticket.
func (h *handlers) nameActors(ctx context.Context, d *DeskTicketDetail, t *supportdb.Ticket,
	lines []supportdb.DeskLine,
) error {
	filer := "key " + t.Key.String()
	if !t.User.IsZero() {
		filer = t.User.Actor()
	}
	actors := []string{filer}
	for i := range lines {
		actors = append(actors, lines[i].Actor)
	}
	names, err := h.Store.NamesOf(ctx, actors)
	if err != nil {
		return operation.ToFault(err, "ticket")
	}
	named := func(actor string) string { return cmp.Or(names[actor], actor) }
	d.FiledBy, d.History = named(filer), make([]DeskLine, len(lines))
	for i := range lines {
		status, _ := lines[i].After["status"].(string)
		d.History[i] = DeskLine{
			lines[i].At, named(lines[i].Actor), lines[i].Origin, lines[i].Action, ticket.Status(status),
		}
	}
	return nil
}

func noDeskTicket() *fault.Error {
	return fault.New(fault.NotYours, "No ticket has this reference. List them to see what there is.")
}

// toldOfDesk converts an error of the store into a refusal for the desk.
func toldOfDesk(err error) error {
	switch {
	case errors.Is(err, store.ErrNotFound):
		return noDeskTicket()
	case errors.Is(err, supportdb.ErrTooManyMessages):
		return fault.New(fault.FieldRefused,
			"message: the ticket has %d messages, as many as it may have. Resolve it without a message.",
			ticket.MaxMessages)
	case errors.Is(err, supportdb.ErrUnread):
		return fault.New(fault.FieldRefused,
			"Somebody wrote since you opened it. Read what came, and send yours again if it still holds.").With("field",
			"seen")
	}
	return toldOfTickets(err)
}
