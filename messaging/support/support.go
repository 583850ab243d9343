// Package support decides who gets which mail about tickets, feedback, wishes and the waitlist. It
// makes the mails, and the store queues them in the transaction of the change. The rules of tickets
// are in package ticket, the texts of mails in notify, and their delivery in outbox.
package support

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/messaging/notify"
	"github.com/chainaccess/gateway/messaging/outbox"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/maildb"
	"github.com/chainaccess/gateway/store/supportdb"
)

// Mailer encrypts mails for the database, and the links in them (outbox.Outbox).
type Mailer interface {
	Prepare(l outbox.Mail) (maildb.NewMail, error)
	SealLink(use string, content []byte, until time.Time) string
	OpenLink(use, token string) ([]byte, error)
}

// Service handles support requests and their answers. It is safe for concurrent use.
type Service struct {
	Store     *store.Store
	Mails     Mailer // nil sends no mails
	Hasher    *account.Hasher
	PublicURL string // without a trailing slash
	Contact   string // the operator's e-mail address
}

// CreateTicket is store.CreateTicket with mails to the user who filed it and to the operator.
//
//nolint:gocritic // a copy does no harm
func (d *Service) CreateTicket(ctx context.Context,
	n supportdb.NewTicket,
) (t supportdb.Ticket, joined bool, err error) {
	n.Tell = d.tellTicket
	return d.Store.CreateTicket(ctx, n)
}

// ReplyTicket is store.ReplyTicket with mails to the other side.
//
//nolint:gocritic // a copy does no harm
func (d *Service) ReplyTicket(ctx context.Context,
	r supportdb.TicketReply,
) (t supportdb.Ticket, verdict ticket.Verdict, err error) {
	r.Tell = d.tellTicket
	return d.Store.ReplyTicket(ctx, r)
}

// prepared encrypts mails; it returns none when mails are off.
func (d *Service) prepared(letters []outbox.Mail) ([]maildb.NewMail, error) {
	if d.Mails == nil {
		return nil, nil
	}
	mails := make([]maildb.NewMail, len(letters))
	for i := range letters {
		var err error
		if mails[i], err = d.Mails.Prepare(letters[i]); err != nil {
			return nil, err
		}
	}
	return mails, nil
}

// tellTicket returns the mails of a change: a customer's goes to the operator, an operator's to the
// customer.
func (d *Service) tellTicket(s *supportdb.TicketStep) ([]maildb.NewMail, error) {
	var letters []outbox.Mail
	switch {
	case s.By == ticket.Operator:
		letters = d.toCustomer(s)
	case s.By == ticket.Customer && s.New:
		letters = append(d.received(s), d.toOperator(s))
	case s.By == ticket.Customer && (s.Text != "" || reopened(s)):
		letters = []outbox.Mail{d.toOperator(s)}
	}
	return d.prepared(letters)
}

// reopened reports whether a change reopened a resolved or closed ticket.
func reopened(s *supportdb.TicketStep) bool { return s.Before.Over() && !s.Ticket.Status.Over() }

func (d *Service) received(s *supportdb.TicketStep) []outbox.Mail {
	said := notify.TicketReceived{
		Reference: s.Ticket.Number.Reference(), Subject: s.Ticket.Subject, Paths: paths(s.Ticket.Evidence.Paths()),
		Link: d.page(&s.Ticket),
	}
	return letters(s, "received", said)
}

func (d *Service) toCustomer(s *supportdb.TicketStep) []outbox.Mail {
	t := &s.Ticket
	switch {
	case t.Status == ticket.Resolved && s.Before != ticket.Resolved:
		said := notify.TicketResolved{
			Reference: t.Number.Reference(), Subject: t.Subject, Message: notify.Prose(s.Text),
			Closes: t.LastActivityAt.Add(ticket.CloseAfter), Link: d.page(t),
		}
		return letters(s, fmt.Sprintf("resolved/%d", t.Version), said)
	case s.Text != "":
		said := notify.TicketReplied{
			Reference: t.Number.Reference(), Subject: t.Subject, Message: notify.Prose(s.Text), Link: d.page(t),
		}
		return letters(s, fmt.Sprintf("replied/%d", t.Messages), said)
	case reopened(s):
		return letters(s, fmt.Sprintf("reopened/%d", t.Version), notify.TicketReopened{
			Reference: t.Number.Reference(), Subject: t.Subject, Link: d.page(t),
		})
	}
	return nil
}

// letters returns a mail about a ticket for each of its readers.
func letters(s *supportdb.TicketStep, why string, said notify.Mail) []outbox.Mail {
	all := make([]outbox.Mail, len(s.Readers))
	for i, r := range s.Readers {
		all[i] = outbox.Mail{
			Reason: fmt.Sprintf("ticket/%s/%s/%s", s.Ticket.Number.Reference(), why, r.User), To: r.Email.Address(),
			Account: s.Ticket.Account, Zone: r.Zone, Mail: said,
		}
	}
	return all
}

// newsStep is the interval of mails to the operator about replies to one ticket that is not waiting
// for the customer: one mail an hour, however many replies.
const newsStep = time.Hour

// toOperator returns the mail about what a customer wrote or reopened. A new ticket has a mail of
// its own, and so has each answer that the operator waits for. Other replies share one mail an
// hour, and so do reopenings without a message. What exceeds the operator's daily limit is visible
// only at the desk.
func (d *Service) toOperator(s *supportdb.TicketStep) outbox.Mail {
	t := &s.Ticket
	reference := t.Number.Reference()
	said := notify.TicketNews{
		Reference: reference, Subject: t.Subject, New: s.New, Priority: string(t.Priority),
		Category: string(t.Category), Account: s.Account, Plan: s.Plan, Message: notify.Prose(s.Text),
		Link: d.PublicURL + "/staff/tickets/" + reference,
	}
	if said.Account == "" {
		said.Account = t.Account.String()
	}
	hour := t.LastActivityAt.Unix() / int64(newsStep/time.Second)
	why, mail := "filed", notify.Mail(said)
	switch {
	case s.New && (t.Priority == ticket.High || t.Priority == ticket.Urgent):
		mail = notify.TicketPressing(said)
	case s.New:
	case s.Text == "":
		why = fmt.Sprintf("reopened/%d", hour)
	case s.Before == ticket.WaitingCustomer:
		why = fmt.Sprintf("written/%d", t.Messages)
	default:
		why = fmt.Sprintf("written/hour/%d", hour)
	}
	return outbox.Mail{Reason: "ticket/" + reference + "/" + why, To: d.Contact, Account: t.Account, Mail: mail}
}

func (d *Service) page(t *supportdb.Ticket) string {
	return d.PublicURL + "/tickets/" + t.Number.Reference()
}

// paths returns what to try, one path per line.
func paths(all []ticket.Path) notify.Prose {
	var lines []string
	for _, p := range all {
		lines = append(lines, p.Title+": "+strings.Join(p.Steps, " "))
	}
	return notify.Prose(strings.Join(lines, "\n"))
}
