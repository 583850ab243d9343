package store

import (
	"context"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/store/db"
)

// Actions of the desk's log about tickets and feedback.
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

// TicketReader is somebody whom mails about something of an account go to.
type TicketReader struct {
	User  account.UserID
	Email account.Email
	Zone  string // IANA name; may be empty
}

// maxTicketReaders bounds whom one change is mailed to.
const maxTicketReaders = 20

// TicketStep is a change of a ticket, as whoever tells of it sees it.
type TicketStep struct {
	Ticket  Ticket // after it
	Before  ticket.Status
	New     bool
	By      ticket.Author
	Text    string // of the message that came with it; empty for none
	Account string // what the ticket's account is called; may be empty
	Plan    string // of the account
	// Readers are whom it may be mailed to: who filed it while they belong to the account, else its
	// owners; nobody when it has none.
	Readers []TicketReader
}

// TicketTelling gives the mails about a change of a ticket. It is called inside the transaction, so
// it may only compute.
type TicketTelling func(*TicketStep) ([]NewMail, error)

// ticketStep is a change of a ticket that is allowed and not made yet. The account is locked.
type ticketStep struct {
	of            *db.Account
	by            ticket.Author
	actor, origin string
	action        string
	form          FormID
	digest        []byte        // of what the form said
	before, after ticket.Status // before is empty for a new ticket
	message       TicketMessage // with an empty body for none
	tell          TicketTelling
}

// take makes the change, logs it and queues what is told of it.
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
	return t, queueMails(ctx, q, mails...)
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

// ticketReaders are whom mails about something of an account go to that a user, or a key, filed.
func ticketReaders(ctx context.Context, q *db.Queries, of account.ID, filer account.UserID) ([]TicketReader, error) {
	rows, err := q.ListTicketReaders(ctx, db.ListTicketReadersParams{
		Account: of.UUID, Filer: optional(filer.UUID), Most: maxTicketReaders,
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
