package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/cmd/internal/connect"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/messaging/support"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/supportdb"
)

// DeskTicketView is a ticket in operators' lists.
type DeskTicketView struct {
	Reference      string          `json:"reference"`
	Subject        string          `json:"subject"`
	Status         ticket.Status   `json:"status"`
	Priority       ticket.Priority `json:"priority"`
	Category       ticket.Category `json:"category"`
	Channel        string          `json:"channel"`
	AccountID      string          `json:"account_id"`
	Account        string          `json:"account"`
	Plan           string          `json:"plan"`
	Messages       int             `json:"messages"`
	CreatedAt      time.Time       `json:"created_at"`
	LastActivityAt time.Time       `json:"last_activity_at"`
}

// DeskMessage is a message of a ticket.
type DeskMessage struct {
	Author  ticket.Author `json:"author"`
	At      time.Time     `json:"at"`
	Message string        `json:"message"`
}

// DeskHistoryLine is an event in the history of a ticket, feedback or a wish.
type DeskHistoryLine struct {
	At     time.Time `json:"at"`
	Actor  string    `json:"actor"`
	Origin string    `json:"origin"`
	Action string    `json:"action"`
	Before string    `json:"before,omitempty"` // status
	After  string    `json:"after,omitempty"`  // status
}

// DeskTicketHistory is a complete ticket.
type DeskTicketHistory struct {
	DeskTicketView

	FiledBy  string            `json:"filed_by"`
	Messages []DeskMessage     `json:"message_list"`
	Evidence ticket.Evidence   `json:"evidence"`
	Paths    []ticket.Path     `json:"suggested_paths"`
	History  []DeskHistoryLine `json:"history"`
}

// withDesk opens the support service for one command.
func withDesk(ctx context.Context, cfg config.Config, use func(*support.Service) error) error {
	return withPayments(ctx, cfg, func(s *store.Store) error {
		if err := connect.CheckPepper(ctx, cfg, s); err != nil {
			return err
		}
		mails, err := connect.Outbox(cfg, s)
		if err != nil {
			return err
		}
		hasher, err := account.NewHasher([]byte(cfg.KeyPepper))
		if err != nil {
			return err
		}
		return use(&support.Service{
			Store: s, Mails: mails, Hasher: hasher, PublicURL: cfg.PublicURL, Contact: cfg.Contact,
		})
	})
}

// Tickets returns tickets of all accounts, newest first.
//
//nolint:gocritic // once for a command
func Tickets(ctx context.Context, cfg config.Config, f supportdb.DeskFilter) ([]DeskTicketView, error) {
	views := []DeskTicketView{}
	err := withPayments(ctx, cfg, func(s *store.Store) error {
		all, err := s.ListDeskTickets(ctx, f)
		for i := range all {
			t := &all[i]
			views = append(views, viewTicket(&t.Ticket, t.AccountName, t.Plan))
		}
		return err
	})
	return views, err
}

func viewTicket(t *supportdb.Ticket, name, plan string) DeskTicketView {
	return DeskTicketView{
		Reference: t.Number.Reference(), Subject: t.Subject, Status: t.Status, Priority: t.Priority,
		Category: t.Category, Channel: t.Channel, AccountID: t.Account.String(), Account: name, Plan: plan,
		Messages: t.Messages, CreatedAt: t.CreatedAt, LastActivityAt: t.LastActivityAt,
	}
}

// Ticket returns a ticket with its messages, evidence and history.
func Ticket(ctx context.Context, cfg config.Config, n ticket.Number) (DeskTicketHistory, error) {
	var v DeskTicketHistory
	err := withPayments(ctx, cfg, func(s *store.Store) error {
		t, messages, err := s.LoadTicket(ctx, account.ID{}, supportdb.Scope{}, n)
		if err != nil {
			return noTicket(n, err)
		}
		of, err := s.LoadDeskAccount(ctx, t.Account)
		if err != nil {
			return err
		}
		v.DeskTicketView = viewTicket(&t, of.Name, of.Plan)
		v.Evidence, v.Paths = t.Evidence, t.Evidence.Paths()
		for _, m := range messages {
			v.Messages = append(v.Messages, DeskMessage{m.Author, m.At, m.Body})
		}
		filer := "key " + t.Key.String()
		if !t.User.IsZero() {
			filer = t.User.Actor()
		}
		v.History, v.FiledBy, err = history(ctx, s, n.Reference(), filer)
		return err
	})
	return v, err
}

// history returns the events of a subject, and the display name of one more actor.
func history(ctx context.Context, s *store.Store,
	subject, who string,
) (lines []DeskHistoryLine, named string, err error) {
	all, err := s.ListDeskLines(ctx, subject)
	if err != nil {
		return nil, "", err
	}
	actors := []string{who}
	for i := range all {
		actors = append(actors, all[i].Actor)
	}
	names, err := s.NamesOf(ctx, actors)
	if err != nil {
		return nil, "", err
	}
	name := func(actor string) string { return cmp.Or(names[actor], actor) }
	for i := range all {
		l := &all[i]
		before, _ := l.Before["status"].(string)
		after, _ := l.After["status"].(string)
		lines = append(lines, DeskHistoryLine{l.At, name(l.Actor), l.Origin, l.Action, before, after})
	}
	return lines, name(who), nil
}

func noTicket(n ticket.Number, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("there is no ticket %s; gateway ops tickets list --status all lists them",
			n.Reference())
	}
	return err
}

// ReplyTicket answers, resolves or reopens a ticket as an operator. A worker signals its flow
// within a minute.
//
//nolint:gocritic // once for a command
func ReplyTicket(ctx context.Context, cfg config.Config, r supportdb.TicketReply) (DeskTicketView, error) {
	var v DeskTicketView
	r.By, r.Origin = ticket.Operator, "ops"
	err := withDesk(ctx, cfg, func(d *support.Service) error {
		t, verdict, err := d.ReplyTicket(ctx, r)
		switch {
		case errors.Is(err, supportdb.ErrUnread):
			return fmt.Errorf(
				"%s has %d messages and --seen is %d: read the new ones with gateway ops tickets show, then send "+
					"yours with --seen %d",
				r.Number.Reference(), t.Messages, *r.Seen, t.Messages)
		case errors.Is(err, supportdb.ErrTooManyMessages):
			return fmt.Errorf("%s has %d messages, the maximum for a ticket: resolve it without a message",
				r.Number.Reference(), ticket.MaxMessages)
		case errors.Is(err, supportdb.ErrTooManyTickets):
			return errors.New(
				"the account has a hundred unresolved tickets, the maximum: resolve one of them first")
		case err != nil:
			return noTicket(r.Number, err)
		}
		v = viewTicket(&t, "", "")
		return whyUnmoved(verdict, &t)
	})
	return v, err
}

func whyUnmoved(v ticket.Verdict, t *supportdb.Ticket) error {
	switch v {
	case ticket.IsClosed:
		return fmt.Errorf("%s is closed: add --reopen to reopen it", t.Number.Reference())
	case ticket.NotOver:
		return fmt.Errorf("%s is %s, so there is nothing to reopen", t.Number.Reference(), t.Status)
	case ticket.NothingIn:
		return errors.New("the message is empty: give --message, or text on standard input")
	case ticket.Moves, ticket.IsResolved, ticket.Contrary:
	}
	return nil
}
