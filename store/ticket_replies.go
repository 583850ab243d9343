package store

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/store/db"
)

// moveTicket brings a ticket to a status, with a message when there is one to add.
func moveTicket(ctx context.Context, q *db.Queries, row *db.Ticket, status ticket.Status,
	m *TicketMessage,
) (db.Ticket, error) {
	p := db.UpdateTicketParams{
		Number: row.Number, Status: string(status), Gathers: row.Gathers && !status.Over(), Messages: row.Messages,
		At: m.At, ResolvedAt: row.ResolvedAt,
	}
	if m.Body != "" {
		p.Messages++
		err := q.AddTicketMessage(ctx, db.AddTicketMessageParams{
			Ticket: row.Number, Place: p.Messages, Author: string(m.Author), Writer: m.Writer, Body: m.Body,
			RequestID: optional(m.RequestID), At: m.At,
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

// TicketReply is what somebody does with a ticket. A zero Account is an operator's, who may reply
// to all.
type TicketReply struct {
	Number  ticket.Number
	Account account.ID
	Scope   Scope
	By      ticket.Author
	Actor   string // as the desk's log names them; empty for By
	Writer  string // of the account, as Writer.Actor names them; empty for an operator
	Origin  string // the door; empty for the worker
	Text    string // empty for none
	Resolve bool
	Reopen  bool
	// Seen is how many messages the writer has seen; nil does not ask whether others came.
	Seen *int
	Form FormID // sent twice, it is done once
	At   time.Time
	Tell TicketTelling // nil tells nobody
}

// ReplyTicket adds a message to a ticket, resolves or reopens it. The verdict says why nothing was
// done when it is not ticket.Moves. A form that was sent before changes nothing. ErrNotFound when
// there is no such ticket of the account and scope; ErrTooManyMessages; ErrTooManyMoves;
// ErrTooManyTickets when one is to be reopened beside a hundred others; ErrUnread, with the ticket
// as it is, when messages came that the writer has not seen; ErrFormSent.
//
//nolint:gocritic // a copy does no harm
func (s *Store) ReplyTicket(ctx context.Context, r TicketReply) (t Ticket, verdict ticket.Verdict, err error) {
	err = s.tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		row, of, err := lockTicket(ctx, q, &r)
		if err != nil {
			return err
		}
		if t, err = ticketOf(row); err != nil {
			return err
		}
		digest := r.Form.digest(r.action(), r.Scope, t.Number.Reference(), string(r.By), r.Text,
			strconv.FormatBool(r.Resolve), strconv.FormatBool(r.Reopen))
		switch done, err := sentForm(ctx, q, t.Account, r.Form, digest); {
		case err != nil:
			return err
		case done.Subject != "":
			verdict = ticket.Moves
			return nil
		case r.Seen != nil && *r.Seen != t.Messages:
			return ErrUnread
		}
		var after ticket.Status
		after, verdict = t.Status.After(ticket.Move{
			By: r.By, Message: r.Text != "", Resolve: r.Resolve, Reopen: r.Reopen,
		})
		if verdict != ticket.Moves {
			return nil
		}
		if err := roomFor(ctx, q, &r, &row, after); err != nil {
			return err
		}
		step := ticketStep{
			of: &of, by: r.By, actor: r.Actor, origin: r.Origin, action: r.action(), form: r.Form, digest: digest,
			before: t.Status, after: after, message: TicketMessage{
				Author: r.By, Writer: r.Writer, Body: r.Text, At: r.At,
			}, tell: r.Tell,
		}
		t, err = step.take(ctx, q, &row)
		return err
	})
	if err != nil {
		return t, "", fmt.Errorf("reply to ticket %s: %w", r.Number.Reference(), err)
	}
	return t, verdict, nil
}

// roomFor refuses a reply when the ticket or the account is full. Customers leave room for an
// answer.
func roomFor(ctx context.Context, q *db.Queries, r *TicketReply, row *db.Ticket, after ticket.Status) error {
	limit := int32(ticket.MaxMessages)
	if r.By == ticket.Customer {
		limit = ticket.MaxByCustomers
	}
	switch {
	case r.Text != "" && row.Messages >= limit:
		return ErrTooManyMessages
	case r.By == ticket.Customer && (r.Resolve || r.Reopen) && row.Version >= ticket.MaxMoves:
		return ErrTooManyMoves
	}
	if !ticket.Status(row.Status).Over() || after.Over() {
		return nil
	}
	open, err := q.CountUnresolvedTickets(ctx, row.AccountID)
	if err == nil && open >= ticket.MaxOpen {
		return ErrTooManyTickets
	}
	return err
}

// lockTicket reads a ticket under the lock of its account, the same for all who change one.
func lockTicket(ctx context.Context, q *db.Queries, r *TicketReply) (row db.Ticket, of db.Account, err error) {
	p := db.GetTicketParams{Number: int64(r.Number), Account: optional(r.Account.UUID), Scope: optional(r.Scope.UUID)}
	if row, err = q.GetTicket(ctx, p); err != nil {
		return row, of, found(err)
	}
	for { // a ticket moves with the key that an owner adopts, once
		if of, err = q.LockAccount(ctx, row.AccountID); err != nil {
			return row, of, found(err)
		}
		if row, err = q.GetTicket(ctx, p); err != nil || row.AccountID == of.ID {
			return row, of, found(err)
		}
	}
}

// ClosedNote is what the service writes on a ticket that it closes.
const ClosedNote = "Closed by itself: nobody answered for seven days after it was resolved. Reply with reopen to go on."

// CloseTicket closes a resolved ticket that nobody answered for seven days at a time, and gives it
// as it is then; any other stays as it is. ErrNotFound when there is none.
func (s *Store) CloseTicket(ctx context.Context, n ticket.Number, at time.Time) (t Ticket, err error) {
	err = s.tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
		row, of, err := lockTicket(ctx, q, &TicketReply{Number: n})
		if err != nil {
			return err
		}
		if row.Status != string(ticket.Resolved) || at.Sub(row.LastActivityAt) < ticket.CloseAfter {
			t, err = ticketOf(row)
			return err
		}
		step := ticketStep{
			of: &of, by: ticket.Service, action: actionClose, before: ticket.Resolved, after: ticket.Closed,
			message: TicketMessage{Author: ticket.Service, At: at},
		}
		if row.Messages <= ticket.MaxMessages { // there is one place more than people can fill
			step.message.Body = ClosedNote
		}
		t, err = step.take(ctx, q, &row)
		return err
	})
	if err != nil {
		return t, fmt.Errorf("close ticket %s: %w", n.Reference(), err)
	}
	return t, nil
}
