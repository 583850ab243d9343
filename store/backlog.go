package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store/chaindb"
	"github.com/chainaccess/gateway/store/db"
	"github.com/chainaccess/gateway/store/internal/pg"
	"github.com/chainaccess/gateway/store/paymentdb"
)

// Wait is how many items wait and how long the oldest has waited; 0 when none does.
type Wait struct {
	Count  int64
	Oldest time.Duration
}

// Backlog is the waiting work in PostgreSQL, as metrics show it. Maps have no entries for zero.
type Backlog struct {
	RecentSettlements map[x402.Stage]int64 // changed within a day, by stage; at most MaxCounted
	StuckSettlements  Wait
	Unconfirmed       int64 // redeemed settlements whose finality is overdue
	OpenPayments      map[paymentdb.AuthorizationState]Wait

	Subscriptions map[subscription.Status]int64 // subscriptions that have not ended, by status
	// Subscriptions whose period is over, that were not read from Stripe for too long or whose
	// price is of no plan, plus additional subscriptions at Stripe.
	StuckSubscriptions int64
	StripeEvents       Wait  // stored and not processed
	LateCheckouts      int64 // still open long after they expired

	LateStatements int64 // periods with usage whose statement is overdue

	Tickets     map[ticket.Priority]Wait // that wait for an answer; at most MaxCounted in all
	LateTickets int64                    // whose newest change has not reached their workflow

	Chains        map[chain.ID]chaindb.ChainMeasurement
	Incidents     map[chain.ID]bool // open incidents
	LateIncidents int64             // incidents whose mails are overdue
}

// MaxCounted bounds counts of rows that strangers or customers can create without limit.
const MaxCounted = 10_000

// After how long something is late.
const (
	lateBilling = 2 * time.Hour // after the end of a period or of a checkout: Stripe may be late
	// Since the last read from Stripe: workflows read daily, and the sweep reminds them two hours
	// later.
	unreadBilling = 28 * time.Hour
	// After the end of a period: the daily sweep may run up to twelve hours late, and the next one
	// a day later.
	lateStatement = 26 * time.Hour
	lateTicket    = 5 * time.Minute  // the worker's sweep notifies workflows again after a minute
	lateIncident  = 15 * time.Minute // an incident's end is confirmed five minutes after it
)

// LoadBacklog reads the backlog in one read-only transaction. A redeemed settlement counts as
// Unconfirmed when it is not final for longer than final.
func (s *Store) LoadBacklog(ctx context.Context, final time.Duration) (*Backlog, error) {
	b := &Backlog{}
	err := s.pool.Tx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(_ pgx.Tx, q *db.Queries) error {
		for _, load := range []func(context.Context, *db.Queries) error{
			b.loadSettlements, func(ctx context.Context, q *db.Queries) error { return b.loadPayments(ctx, q, final) },
			b.loadBilling, b.loadTickets, b.loadChains,
		} {
			if err := load(ctx, q); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read what waits in the record: %w", err)
	}
	return b, nil
}

func (b *Backlog) loadSettlements(ctx context.Context, q *db.Queries) error {
	p := db.CountRecentSettlementsParams{MaxRows: MaxCounted}
	for _, stage := range x402.Stages() {
		p.Stages = append(p.Stages, string(stage))
	}
	rows, err := q.CountRecentSettlements(ctx, p)
	b.RecentSettlements = make(map[x402.Stage]int64, len(rows))
	for _, row := range rows {
		b.RecentSettlements[x402.Stage(row.Stage)] = row.Settlements
	}
	return err
}

func (b *Backlog) loadPayments(ctx context.Context, q *db.Queries, final time.Duration) error {
	late, err := q.CountPaymentBacklog(ctx, final.Seconds())
	if err != nil {
		return err
	}
	b.StuckSettlements, b.Unconfirmed = waits(late.Stuck, late.StuckSeconds), late.Unconfirmed
	rows, err := q.CountOpenPayments(ctx)
	b.OpenPayments = make(map[paymentdb.AuthorizationState]Wait, len(rows))
	for _, row := range rows {
		b.OpenPayments[paymentdb.AuthorizationState(row.State)] = waits(row.Payments, row.OldestSeconds)
	}
	return err
}

func (b *Backlog) loadBilling(ctx context.Context, q *db.Queries) error {
	rows, err := q.CountSubscriptions(ctx, db.CountSubscriptionsParams{
		LateSeconds: lateBilling.Seconds(), UnreadSeconds: unreadBilling.Seconds(),
	})
	if err != nil {
		return err
	}
	b.Subscriptions = make(map[subscription.Status]int64, len(rows))
	for _, row := range rows {
		b.Subscriptions[subscription.Status(row.Status)] = row.Subscriptions
		b.StuckSubscriptions += row.Stuck
	}
	late, err := q.CountBillingBacklog(ctx, lateBilling.Seconds())
	if err != nil {
		return err
	}
	b.StuckSubscriptions += late.Beside
	b.StripeEvents, b.LateCheckouts = waits(late.Events, late.EventSeconds), late.Checkouts
	b.LateStatements, err = q.CountLateStatements(ctx, lateStatement.Seconds())
	return err
}

func (b *Backlog) loadTickets(ctx context.Context, q *db.Queries) error {
	rows, err := q.CountTicketBacklog(ctx, MaxCounted)
	if err != nil {
		return err
	}
	b.Tickets = make(map[ticket.Priority]Wait, len(rows))
	for _, row := range rows {
		b.Tickets[ticket.Priority(row.Priority)] = waits(row.Tickets, row.OldestSeconds)
	}
	b.LateTickets, err = q.CountUntoldTickets(ctx, lateTicket.Seconds())
	return err
}

func (b *Backlog) loadChains(ctx context.Context, q *db.Queries) error {
	newest, err := q.ListChainMeasurements(ctx)
	if err != nil {
		return err
	}
	b.Chains = make(map[chain.ID]chaindb.ChainMeasurement, len(newest))
	for _, row := range newest {
		b.Chains[chain.ID(row.Chain)] = chaindb.ChainMeasurement{
			At: row.MeasuredAt.UTC(), State: chain.State(row.State), Why: row.Reason,
		}
	}
	open, err := q.ListOpenIncidents(ctx, pg.MaxPage)
	if err != nil {
		return err
	}
	b.Incidents = make(map[chain.ID]bool, len(open))
	for _, id := range open {
		b.Incidents[chain.ID(id)] = true
	}
	b.LateIncidents, err = q.CountUntoldIncidents(ctx, lateIncident.Seconds())
	return err
}

func waits(count int64, seconds float64) Wait { return Wait{count, duration(seconds)} }

// duration converts an age in seconds by PostgreSQL's clock. A negative age becomes zero.
func duration(seconds float64) time.Duration {
	return max(0, time.Duration(seconds*float64(time.Second)))
}
