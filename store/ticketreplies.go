package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/ticket"
)

// moveTicket brings a ticket to a status, with a message when there is one to add.
func moveTicket(ctx context.Context, q *db.Queries, row *db.Ticket, status ticket.Status, m *TicketMessage) (db.Ticket, error) {
	p := db.UpdateTicketParams{
		Number: row.Number, Status: string(status), Gathers: row.Gathers && !status.Over(), Messages: row.Messages, At: m.At, ResolvedAt: row.ResolvedAt,
	}
	if m.Body != "" {
		p.Messages++
		err := q.AddTicketMessage(ctx, db.AddTicketMessageParams{
			Ticket: row.Number, Place: p.Messages, Author: string(m.Author), Body: m.Body, RequestID: optional(m.RequestID), At: m.At,
		})
		if err != nil {
			return db.Ticket{}, err
		}
	}
	switch {
	case status == ticket.Resolved && row.Status != string(ticket.Resolved):
		p.ResolvedAt = &m.At
	case status == ticket.Closed:
		p.ClosedAt = &m.At
	}
	if status.Over() || ticket.Status(row.Status).Over() {
		p.News = 1
	}
	return q.UpdateTicket(ctx, p)
}

// TicketReply is what somebody does with a ticket. A zero Account is an operator's, who may reply to all.
type TicketReply struct {
	Number  ticket.Number
	Account account.ID
	Scope   Scope
	By      ticket.Author
	Text    string // empty for none
	Resolve bool
	Reopen  bool
	At      time.Time
}

// ReplyTicket adds a message to a ticket, resolves or reopens it. The verdict says why nothing was done when it is not ticket.Moves. ErrNotFound
// when there is no such ticket of the account and scope; ErrTooManyMessages; ErrTooManyTickets when one is to be reopened beside a hundred others.
func (s *Store) ReplyTicket(ctx context.Context, r TicketReply) (t Ticket, verdict ticket.Verdict, err error) { //nolint:gocritic // a copy does no harm
	err = s.tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		row, err := lockTicket(ctx, q, &r)
		if err != nil {
			return err
		}
		before := ticket.Status(row.Status)
		var after ticket.Status
		after, verdict = before.After(ticket.Move{By: r.By, Message: r.Text != "", Resolve: r.Resolve, Reopen: r.Reopen})
		if verdict != ticket.Moves {
			t, err = ticketOf(row)
			return err
		}
		if r.Text != "" && row.Messages >= ticket.MaxMessages {
			return ErrTooManyMessages
		}
		if before.Over() && !after.Over() {
			open, err := q.CountUnresolvedTickets(ctx, row.AccountID)
			if err != nil {
				return err
			}
			if open >= ticket.MaxOpen {
				return ErrTooManyTickets
			}
		}
		row, err = moveTicket(ctx, q, &row, after, &TicketMessage{Author: r.By, Body: r.Text, At: r.At})
		if err == nil {
			t, err = ticketOf(row)
		}
		return err
	})
	if err != nil {
		return t, "", fmt.Errorf("reply to ticket %s: %w", r.Number.Reference(), err)
	}
	return t, verdict, nil
}

// lockTicket reads a ticket under the lock of its account, the same for all who change one.
func lockTicket(ctx context.Context, q *db.Queries, r *TicketReply) (db.Ticket, error) {
	p := db.GetTicketParams{Number: int64(r.Number), Account: optional(r.Account.UUID), Scope: optional(r.Scope.UUID)}
	row, err := q.GetTicket(ctx, p)
	if err != nil {
		return row, found(err)
	}
	if _, err := q.LockAccount(ctx, row.AccountID); err != nil {
		return row, found(err)
	}
	row, err = q.GetTicket(ctx, p)
	return row, found(err)
}

// ClosedNote is what the service writes on a ticket that it closes.
const ClosedNote = "Closed by itself: nobody answered for seven days after it was resolved. Reply with reopen to go on."

// CloseTicket closes a resolved ticket that nobody answered for seven days at a time, and gives it as it is then; any other stays as it is.
// ErrNotFound when there is none.
func (s *Store) CloseTicket(ctx context.Context, n ticket.Number, at time.Time) (t Ticket, err error) {
	err = s.tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		row, err := lockTicket(ctx, q, &TicketReply{Number: n})
		if err == nil && row.Status == string(ticket.Resolved) && at.Sub(row.LastActivityAt) >= ticket.CloseAfter {
			note := TicketMessage{Author: ticket.Service, At: at}
			if row.Messages <= ticket.MaxMessages { // there is one place more than people can fill
				note.Body = ClosedNote
			}
			row, err = moveTicket(ctx, q, &row, ticket.Closed, &note)
		}
		if err == nil {
			t, err = ticketOf(row)
		}
		return err
	})
	if err != nil {
		return t, fmt.Errorf("close ticket %s: %w", n.Reference(), err)
	}
	return t, nil
}
