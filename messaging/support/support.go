// Package support owns who is told what of the things that people are asked: tickets, feedback,
// wishes, the waitlist. It makes the mails and has the record queue them in the transaction of the
// change. What a ticket may do is package ticket's; how mails read is notify's, how they travel
// outbox's.
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
)

// Mailer seals letters for the record, and the links in them (outbox.Outbox).
type Mailer interface {
	Prepare(l outbox.Mail) (store.NewMail, error)
	SealLink(use string, content []byte, until time.Time) string
	OpenLink(use, token string) ([]byte, error)
}

// Service is where people are asked and answer. It is safe for concurrent use.
type Service struct {
	Store     *store.Store
	Mails     Mailer // nil tells nobody
	Hasher    *account.Hasher
	PublicURL string // without a slash at its end
	Contact   string // an e-mail address: the operator's
}

// CreateTicket is store.CreateTicket, told to whoever filed it and to the operator.
//
//nolint:gocritic // a copy does no harm
func (d *Service) CreateTicket(ctx context.Context, n store.NewTicket) (t store.Ticket, joined bool, err error) {
	n.Tell = d.tellTicket
	return d.Store.CreateTicket(ctx, n)
}

// ReplyTicket is store.ReplyTicket, told to the other side.
//
//nolint:gocritic // a copy does no harm
func (d *Service) ReplyTicket(ctx context.Context,
	r store.TicketReply,
) (t store.Ticket, verdict ticket.Verdict, err error) {
	r.Tell = d.tellTicket
	return d.Store.ReplyTicket(ctx, r)
}

// prepared seals letters.
func (d *Service) prepared(letters []outbox.Mail) ([]store.NewMail, error) {
	if d.Mails == nil {
		return nil, nil
	}
	mails := make([]store.NewMail, len(letters))
	for i := range letters {
		var err error
		if mails[i], err = d.Mails.Prepare(letters[i]); err != nil {
			return nil, err
		}
	}
	return mails, nil
}

// tellTicket returns the mails of a change: what customers do goes to the operator, what the
// operator does to the customer.
func (d *Service) tellTicket(s *store.TicketStep) ([]store.NewMail, error) {
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

// reopened reports whether a change opened a ticket again that was resolved or closed.
func reopened(s *store.TicketStep) bool { return s.Before.Over() && !s.Ticket.Status.Over() }

func (d *Service) received(s *store.TicketStep) []outbox.Mail {
	said := notify.TicketReceived{
		Reference: s.Ticket.Number.Reference(), Subject: s.Ticket.Subject, Paths: paths(s.Ticket.Evidence.Paths()),
		Link: d.page(&s.Ticket),
	}
	return letters(s, "received", said)
}

func (d *Service) toCustomer(s *store.TicketStep) []outbox.Mail {
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

// letters are a mail about a ticket to each of its readers.
func letters(s *store.TicketStep, why string, said notify.Mail) []outbox.Mail {
	all := make([]outbox.Mail, len(s.Readers))
	for i, r := range s.Readers {
		all[i] = outbox.Mail{
			Reason: fmt.Sprintf("ticket/%s/%s/%s", s.Ticket.Number.Reference(), why, r.User), To: r.Email.Address(),
			Account: s.Ticket.Account, Zone: r.Zone, Mail: said,
		}
	}
	return all
}

// newsStep is how often the operator is mailed of replies to one ticket that nobody waits for: a
// mail for an hour, whoever writes how much in it.
const newsStep = time.Hour

// toOperator tells the operator of what a customer wrote, or reopened. A new ticket has a mail of
// its own, and so has each answer that the operator waits for; other replies have one an hour, and
// so has being reopened without a word. What is more than the operator's bounds of a day stands at
// the desk alone.
func (d *Service) toOperator(s *store.TicketStep) outbox.Mail {
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

func (d *Service) page(t *store.Ticket) string {
	return d.PublicURL + "/tickets/" + t.Number.Reference()
}

// paths are what to try, a line each.
func paths(all []ticket.Path) notify.Prose {
	var lines []string
	for _, p := range all {
		lines = append(lines, p.Title+": "+strings.Join(p.Steps, " "))
	}
	return notify.Prose(strings.Join(lines, "\n"))
}
