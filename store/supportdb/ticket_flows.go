package supportdb

import (
	"context"
	"fmt"
	"time"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/store/db"
)

// TicketNews is a change of a ticket that its workflow must be notified of.
type TicketNews struct {
	Number  ticket.Number
	Account account.ID
	Version int64
}

// MarkTicketTold records that the workflow of a ticket was notified of a version.
func (s *Store) MarkTicketTold(ctx context.Context, n TicketNews) error {
	if err := s.pool.Queries().MarkTicketTold(ctx, db.MarkTicketToldParams{
		Number: int64(n.Number), Version: n.Version,
	}); err != nil {
		return fmt.Errorf("mark ticket %s as told: %w", n.Number.Reference(), err)
	}
	return nil
}

// ListUntoldTickets lists tickets after the given number, in the order of their numbers: those
// whose workflow was not notified of a change before stale, and resolved ones without activity
// since overdue, which should have been closed.
func (s *Store) ListUntoldTickets(ctx context.Context, stale, overdue time.Time, after ticket.Number,
	limit int,
) ([]TicketNews, error) {
	rows, err := s.pool.Queries().ListUntoldTickets(ctx, db.ListUntoldTicketsParams{
		//nolint:gosec // bounded
		Stale: stale, Overdue: overdue, After: int64(after), MaxRows: int32(min(limit, maxTicketPage)),
	})
	if err != nil {
		return nil, fmt.Errorf("list tickets whose flows are late: %w", err)
	}
	news := make([]TicketNews, len(rows))
	for i, row := range rows {
		news[i] = TicketNews{ticket.Number(row.Number), account.ID{UUID: row.AccountID}, row.Version}
	}
	return news, nil
}
