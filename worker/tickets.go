package worker

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/store/supportdb"
	"github.com/chainaccess/gateway/workflows"
)

// TicketStore is what the sweep of tickets uses.
type TicketStore interface {
	activities.TicketRecord
	ListUntoldTickets(ctx context.Context, stale, overdue time.Time, after ticket.Number,
		limit int) ([]supportdb.TicketNews, error)
	MarkTicketTold(ctx context.Context, n supportdb.TicketNews) error
}

const (
	ticketPage = 100
	// ticketStale is the age after which a change of a ticket whose flow was not signalled counts
	// as lost by the process that made it.
	ticketStale = time.Minute
	// overdueSweep is the interval between two sweeps of tickets that should have closed
	// overdueAfter ago: their flows were lost.
	overdueSweep = 30 * time.Minute
	overdueAfter = time.Hour
)

// sweepTickets signals flows of tickets about changes that they missed, until ctx ends. Tickets
// change whether or not Temporal is available.
func (w *Worker) sweepTickets(ctx context.Context) {
	tick := time.NewTicker(w.o.NoticeInterval)
	defer tick.Stop()
	var swept time.Time
	for {
		now := w.o.Now()
		var overdue time.Time // none
		if now.Sub(swept) >= overdueSweep {
			overdue = now.Add(-ticket.CloseAfter - overdueAfter)
		}
		switch err := w.tellTickets(ctx, now.Add(-ticketStale), overdue); {
		case err != nil && ctx.Err() == nil:
			w.o.Logger.Error("could not signal ticket workflows; will retry", "error", err)
		case err == nil && !overdue.IsZero():
			swept = now
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// tellTickets signals the flow of each such ticket, page by page.
func (w *Worker) tellTickets(ctx context.Context, stale, overdue time.Time) error {
	c := workflows.NewClient(w.o.Temporal)
	for last := ticket.Number(0); ; {
		var page []supportdb.TicketNews
		err := within(ctx, func(ctx context.Context) (err error) {
			page, err = w.o.Store.ListUntoldTickets(ctx, stale, overdue, last, ticketPage)
			return err
		})
		for i := 0; err == nil && i < len(page); i++ {
			err = within(ctx, func(ctx context.Context) error {
				if err := c.TellTicket(ctx, activities.TicketRef{
					Number: page[i].Number, Account: page[i].Account,
				}); err != nil {
					return err
				}
				return w.o.Store.MarkTicketTold(ctx, page[i])
			})
		}
		if err != nil || len(page) < ticketPage {
			return err
		}
		last = page[len(page)-1].Number
	}
}
