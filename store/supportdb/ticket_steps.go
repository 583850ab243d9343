package supportdb

import (
	"context"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
	"github.com/chainaccess/gateway/store/maildb"
)

// Actions in the desk's log about tickets and feedback.
const (
	actionFile    = "file"
	actionJoin    = "join"
	actionReply   = "reply"
	actionResolve = "resolve"
	actionReopen  = "reopen"
	actionClose   = "close"
	actionGive    = "give"
)

func (r *TicketReply) action() string {
	switch {
	case r.Resolve:
		return actionResolve
	case r.Reopen:
		return actionReopen
	}
	return actionReply
}

// TicketReader is a recipient of mails about tickets and feedback of an account.
type TicketReader struct {
	User  account.UserID
	Email account.Email
	Zone  string // IANA name; may be empty
}

// maxTicketReaders bounds the recipients of one change.
const maxTicketReaders = 20

// TicketStep is a change of a ticket, as mails report it.
type TicketStep struct {
	Ticket  Ticket // after the change
	Before  ticket.Status
	New     bool
	By      ticket.Author
	Text    string // of the message that came with the change; empty for none
	Account string // the account's name; may be empty
	Plan    string // the account's plan
	// Readers are the possible recipients: the user who filed the ticket while they are a member,
	// or else the account's owners; none when it has no owners.
	Readers []TicketReader
}

// TicketTelling returns the mails about a change of a ticket. It runs inside the transaction and
// must have no side effects.
type TicketTelling func(*TicketStep) ([]maildb.NewMail, error)

// ticketStep is a change of a ticket that is allowed and not made yet. The account is locked.
type ticketStep struct {
	of            *db.Account
	by            ticket.Author
	actor, origin string
	action        string
	form          FormID
	digest        []byte        // the form's digest
	before, after ticket.Status // before is empty for a new ticket
	message       TicketMessage // an empty body means no message
	tell          TicketTelling
}

// take makes the change, logs it and queues its mails.
func (s *ticketStep) take(ctx context.Context, q *db.Queries, row *db.Ticket) (t Ticket, err error) {
	after, err := moveTicket(ctx, q, row, s.after, &s.message)
	if err != nil {
		return t, err
	}
	if t, err = ticketOf(after); err != nil {
		return t, err
	}
	if err := writeDeskLine(ctx, q, s.line(&t)); err != nil {
		return t, err
	}
	if s.tell == nil {
		return t, nil
	}
	told := TicketStep{
		Ticket: t, Before: s.before, New: s.before == "", By: s.by, Text: s.message.Body, Account: s.of.Name,
		Plan: s.of.Plan,
	}
	if told.Readers, err = ticketReaders(ctx, q, t.Account, t.User); err != nil {
		return t, err
	}
	mails, err := s.tell(&told)
	if err != nil {
		return t, err
	}
	return t, maildb.Queue(ctx, q, mails...)
}

func (s *ticketStep) line(t *Ticket) *DeskLine {
	l := &DeskLine{
		At: s.message.At, Account: t.Account, Subject: t.Number.Reference(), Actor: s.actor, Origin: s.origin,
		Action: s.action, Form: s.form, FormDigest: s.digest, Before: map[string]any{"status": s.before},
		After: map[string]any{"status": s.after},
	}
	if l.Actor == "" {
		l.Actor = string(s.by)
	}
	if l.Origin == "" {
		l.Origin = "worker"
	}
	if s.message.Body != "" {
		l.After["message"] = t.Messages
	}
	return l
}

// ticketReaders returns the recipients of mails about what filer, or a key when filer is zero,
// filed for an account.
func ticketReaders(ctx context.Context, q *db.Queries, of account.ID, filer account.UserID) ([]TicketReader, error) {
	rows, err := q.ListTicketReaders(ctx, db.ListTicketReadersParams{
		Account: of.UUID, Filer: pg.NullableID(filer.UUID), MaxRows: maxTicketReaders,
	})
	if err != nil {
		return nil, err
	}
	readers := make([]TicketReader, len(rows))
	for i, row := range rows {
		readers[i] = TicketReader{
			account.UserID{UUID: row.UserID}, account.RecordedEmail(row.Email, row.EmailKey), row.TimeZone,
		}
	}
	return readers, nil
}
