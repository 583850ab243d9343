package store

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/ticket"
)

// DeskTicket is a ticket in lists of the desk, with the account that it is of.
type DeskTicket struct {
	Ticket             // without its evidence
	AccountName string // may be empty
	Plan        string
}

// DeskFilter chooses tickets of all accounts.
type DeskFilter struct {
	Account    account.ID // zero for all
	Statuses   []ticket.Status
	Priorities []ticket.Priority
	Before     ticket.Number // only older ones; zero for the newest
	Limit      int
}

// ListDeskTickets lists tickets of all accounts, newest first.
func (s *Store) ListDeskTickets(ctx context.Context, f DeskFilter) ([]DeskTicket, error) { //nolint:gocritic // a copy does no harm
	p := db.ListDeskTicketsParams{Before: int64(f.Before), Most: int32(min(f.Limit, MaxDeskPage))} //nolint:gosec // bounded
	if p.Before == 0 {
		p.Before = math.MaxInt64
	}
	for _, status := range f.Statuses {
		p.Statuses = append(p.Statuses, string(status))
	}
	for _, priority := range f.Priorities {
		p.Priorities = append(p.Priorities, string(priority))
	}
	var rows []db.ListDeskTicketsRow
	var err error
	if f.Account.IsZero() {
		rows, err = s.queries().ListDeskTickets(ctx, p)
	} else {
		of := db.ListDeskTicketsOfParams{Account: f.Account.UUID, Before: p.Before, Statuses: p.Statuses, Priorities: p.Priorities, Most: p.Most}
		var some []db.ListDeskTicketsOfRow
		some, err = s.queries().ListDeskTicketsOf(ctx, of)
		for _, row := range some {
			rows = append(rows, db.ListDeskTicketsRow(row))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("list tickets of the desk: %w", err)
	}
	list := make([]DeskTicket, len(rows))
	for i, r := range rows {
		list[i] = DeskTicket{Ticket{
			Number: ticket.Number(r.Number), Account: account.ID{UUID: r.AccountID}, Subject: r.Subject, Category: ticket.Category(r.Category),
			Priority: ticket.Priority(r.Priority), Channel: r.Channel, Status: ticket.Status(r.Status), Messages: int(r.Messages),
			CreatedAt: r.CreatedAt.UTC(), LastActivityAt: r.LastActivityAt.UTC(),
		}, r.AccountName, r.AccountPlan}
	}
	return list, nil
}

// DeskCount is how many tickets are in a state, and when the one was last written to that waits longest.
type DeskCount struct {
	Status   ticket.Status
	Priority ticket.Priority
	Tickets  int64
	Oldest   time.Time
}

// CountDeskTickets counts the tickets that are not resolved.
func (s *Store) CountDeskTickets(ctx context.Context) ([]DeskCount, error) {
	rows, err := s.queries().CountDeskTickets(ctx)
	if err != nil {
		return nil, fmt.Errorf("count tickets of the desk: %w", err)
	}
	counts := make([]DeskCount, len(rows))
	for i, r := range rows {
		counts[i] = DeskCount{ticket.Status(r.Status), ticket.Priority(r.Priority), r.Tickets, r.Oldest.UTC()}
	}
	return counts, nil
}
