package activities

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/sdk/temporal"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/supportdb"
)

// TicketRecord stores tickets.
type TicketRecord interface {
	CloseTicket(ctx context.Context, n ticket.Number, at time.Time) (supportdb.Ticket, error)
}

var _ TicketRecord = (*store.Store)(nil)

// TicketRef names a ticket in histories.
type TicketRef struct {
	Number  ticket.Number `json:"number"`
	Account account.ID    `json:"account"`
}

// TicketState is the state of a ticket.
type TicketState struct {
	Known  bool          `json:"known"`
	Status ticket.Status `json:"status,omitempty"`
	// Closes is when a resolved ticket closes if nobody answers before.
	Closes time.Time `json:"closes,omitzero"`
}

// Tickets closes resolved tickets that nobody answers. Its activities are idempotent. Causes of
// failures stay out of histories.
type Tickets struct {
	Record TicketRecord
	Now    func() time.Time
	Logger *slog.Logger
}

// ErrTicketUnread is the type of the application errors of Tickets, which are retried.
const ErrTicketUnread = "ticket_unread"

// LookAtTicket closes the ticket if it is due, and returns its state.
func (t *Tickets) LookAtTicket(ctx context.Context, ref TicketRef) (TicketState, error) {
	now, err := t.Record.CloseTicket(ctx, ref.Number, t.Now())
	switch {
	case errors.Is(err, store.ErrNotFound):
		return TicketState{}, nil
	case err != nil:
		t.Logger.Error("could not check a ticket; will retry", "account_id", ref.Account, "ticket",
			ref.Number.Reference(), "error", err)
		return TicketState{},
			temporal.NewApplicationError("the ticket could not be read; the worker's log names the cause",
				ErrTicketUnread)
	}
	state := TicketState{Known: true, Status: now.Status}
	if now.Status == ticket.Resolved {
		state.Closes = now.LastActivityAt.Add(ticket.CloseAfter)
	}
	return state, nil
}
