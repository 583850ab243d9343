package supportdb

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
)

// moveTicket sets a ticket's status, and adds the message unless its body is empty.
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
			RequestID: pg.NullableID(m.RequestID), At: m.At,
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

// TicketReply is a message to a ticket or a change of its status. A zero Account is an operator's,
// who may reply to all tickets.
type TicketReply struct {
	Number  ticket.Number
	Account account.ID
	Scope   Scope
	By      ticket.Author
	Actor   string // for the desk's log; empty for By
	Writer  string // the customer, in the form of Writer.Actor; empty for an operator
	Origin  string // console, api, mcp or ops; empty for the worker
	Text    string // empty for none
	Resolve bool
	Reopen  bool
	// Seen is how many messages the writer has read; nil skips the check for new ones.
	Seen *int
	Form FormID // idempotency key
	At   time.Time
	Tell TicketTelling // nil sends no mails
}

// ReplyTicket adds a message to a ticket, or resolves or reopens it. A verdict other than
// ticket.Moves is why nothing was done. It is idempotent by r.Form, and returns ErrFormSent when
// the form was sent before with other content. It returns ErrNotFound when there is no such ticket
// in the account and scope, ErrTooManyMessages or ErrTooManyMoves when the ticket is full,
// ErrTooManyTickets when reopening it would exceed ticket.MaxOpen, and ErrUnread, with the current
// ticket, when there are messages that the writer has not read.
//
//nolint:gocritic // a copy does no harm
func (s *Store) ReplyTicket(ctx context.Context, r TicketReply) (t Ticket, verdict ticket.Verdict, err error) {
	err = s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
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

// roomFor refuses a reply when the ticket or the account is full. Customers' limit leaves room for
// an answer.
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

// lockTicket reads a ticket under the lock of its account, which everyone takes who changes a
// ticket.
func lockTicket(ctx context.Context, q *db.Queries, r *TicketReply) (row db.Ticket, of db.Account, err error) {
	p := db.GetTicketParams{
		Number: int64(r.Number), Account: pg.NullableID(r.Account.UUID),
		Scope: pg.NullableID(r.Scope.UUID),
	}
	if row, err = q.GetTicket(ctx, p); err != nil {
		return row, of, pg.NotFound(err)
	}
	for { // repeats when an adoption moved the ticket meanwhile
		if of, err = q.LockAccount(ctx, row.AccountID); err != nil {
			return row, of, pg.NotFound(err)
		}
		if row, err = q.GetTicket(ctx, p); err != nil || row.AccountID == of.ID {
			return row, of, pg.NotFound(err)
		}
	}
}

// ClosedNote is the message that the service adds to a ticket that it closes.
const ClosedNote = "Closed by itself: nobody answered for seven days after it was resolved. Reply with reopen to go on."

// CloseTicket closes a ticket that was resolved and had no activity for ticket.CloseAfter at the
// given time. It returns the ticket; any other ticket is unchanged. It returns ErrNotFound when
// there is none.
func (s *Store) CloseTicket(ctx context.Context, n ticket.Number, at time.Time) (t Ticket, err error) {
	err = s.pool.Tx(ctx, pgx.TxOptions{}, func(_ pgx.Tx, q *db.Queries) error {
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
		if row.Messages <= ticket.MaxMessages { // one place is reserved for this note
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
