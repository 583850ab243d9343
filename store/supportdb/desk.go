package supportdb

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/store/db"
)

// DeskTicket is a ticket in the desk's lists, with the name and plan of its account.
type DeskTicket struct {
	Ticket             // without its evidence
	AccountName string // may be empty
	Plan        string
}

// DeskFilter selects tickets of all accounts.
type DeskFilter struct {
	Account    account.ID // zero for all
	Statuses   []ticket.Status
	Priorities []ticket.Priority
	// OldestFirst orders by the time of filing, so a customer who writes again keeps their place.
	// Otherwise the newest come first.
	OldestFirst bool
	Past        ticket.Number // only tickets after it in that order; zero for the first page
	Limit       int
}

// ListDeskTickets lists the tickets that the filter selects.
//
//nolint:gocritic // a copy does no harm
func (s *Store) ListDeskTickets(ctx context.Context, f DeskFilter) ([]DeskTicket, error) {
	rows, err := readDeskTickets(ctx, s.pool.Queries(), &f)
	if err != nil {
		return nil, fmt.Errorf("list tickets of the desk: %w", err)
	}
	list := make([]DeskTicket, len(rows))
	for i, r := range rows {
		list[i] = DeskTicket{Ticket{
			Number: ticket.Number(r.Number), Account: account.ID{UUID: r.AccountID}, Subject: r.Subject,
			Category: ticket.Category(r.Category), Priority: ticket.Priority(r.Priority), Channel: r.Channel,
			Status: ticket.Status(r.Status), Messages: int(r.Messages), CreatedAt: r.CreatedAt.UTC(),
			LastActivityAt: r.LastActivityAt.UTC(),
		}, r.AccountName, r.AccountPlan}
	}
	return list, nil
}

// readDeskTickets reads the filter's page with the query that fits its order and account.
func readDeskTickets(ctx context.Context, q *db.Queries, f *DeskFilter) (rows []db.ListDeskTicketsRow, err error) {
	//nolint:gosec // bounded
	p := db.ListDeskTicketsParams{Before: int64(f.Past), MaxRows: int32(min(f.Limit, MaxDeskPage))}
	if p.Before == 0 && !f.OldestFirst {
		p.Before = math.MaxInt64
	}
	for _, status := range f.Statuses {
		p.Statuses = append(p.Statuses, string(status))
	}
	for _, priority := range f.Priorities {
		p.Priorities = append(p.Priorities, string(priority))
	}
	of := db.ListDeskTicketsOfParams{
		Account: f.Account.UUID, Before: p.Before, Statuses: p.Statuses, Priorities: p.Priorities, MaxRows: p.MaxRows,
	}
	switch {
	case f.Account.IsZero() && f.OldestFirst:
		some, err := q.ListOldestDeskTickets(ctx, db.ListOldestDeskTicketsParams{
			Statuses: p.Statuses, Priorities: p.Priorities, After: p.Before, MaxRows: p.MaxRows,
		})
		for _, row := range some {
			rows = append(rows, db.ListDeskTicketsRow(row))
		}
		return rows, err
	case f.Account.IsZero():
		return q.ListDeskTickets(ctx, p)
	case f.OldestFirst:
		some, err := q.ListOldestDeskTicketsOf(ctx, db.ListOldestDeskTicketsOfParams{
			Account: of.Account, After: of.Before, Statuses: of.Statuses, Priorities: of.Priorities,
			MaxRows: of.MaxRows,
		})
		for _, row := range some {
			rows = append(rows, db.ListDeskTicketsRow(row))
		}
		return rows, err
	}
	some, err := q.ListDeskTicketsOf(ctx, of)
	for _, row := range some {
		rows = append(rows, db.ListDeskTicketsRow(row))
	}
	return rows, err
}

// DeskCount is how many tickets have a status and priority, and when the least recently active one
// was last written to.
type DeskCount struct {
	Status   ticket.Status
	Priority ticket.Priority
	Tickets  int64
	Oldest   time.Time
}

// CountDeskTickets counts the unresolved tickets by status and priority.
func (s *Store) CountDeskTickets(ctx context.Context) ([]DeskCount, error) {
	rows, err := s.pool.Queries().CountDeskTickets(ctx)
	if err != nil {
		return nil, fmt.Errorf("count tickets of the desk: %w", err)
	}
	counts := make([]DeskCount, len(rows))
	for i, r := range rows {
		counts[i] = DeskCount{ticket.Status(r.Status), ticket.Priority(r.Priority), r.Tickets, r.Oldest.UTC()}
	}
	return counts, nil
}
