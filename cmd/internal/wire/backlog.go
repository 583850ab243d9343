package wire

import (
	"context"
	"log/slog"
	"time"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/paymentdb"
)

// Interval and timeout of reads of the backlog.
const (
	backlogInterval = time.Minute
	backlogTimeout  = 20 * time.Second
)

// measuredWithin is how old the latest measurement of a chain may be before its state counts as
// unknown, as for incidents.
const measuredWithin = 2 * time.Minute

// lateFinality is how many finality delays may pass before a settlement that is not final counts as
// late.
const lateFinality = 6

// backlogWatch serves the work that waits in PostgreSQL as metrics.
type backlogWatch struct {
	record  *store.Store
	figures *telemetry.Backlog
	chains  func() []chain.ID // chains that are served
	final   time.Duration     // age at which a settlement that is not final counts as late
	now     func() time.Time
	log     *slog.Logger
}

//nolint:gocritic // read once at the start
func newBacklogWatch(cfg config.Config, b *base, log *slog.Logger) *backlogWatch {
	return &backlogWatch{
		record: b.store, figures: b.metrics.WatchBacklog(), chains: b.pool.Chains,
		final: lateFinality * cfg.X402FinalityDelay, now: time.Now, log: log,
	}
}

// run reads the backlog every backlogInterval until ctx ends.
func (w *backlogWatch) run(ctx context.Context) {
	tick := time.NewTicker(backlogInterval)
	defer tick.Stop()
	for {
		w.read(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// read reads the backlog once. If that fails, no figures are served until it succeeds again.
func (w *backlogWatch) read(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, backlogTimeout)
	defer cancel()
	b, err := w.record.LoadBacklog(ctx, w.final)
	if err != nil {
		w.figures.Unknown()
		w.log.Warn("could not count the backlog in PostgreSQL; will retry in a minute", "error", err)
		return
	}
	now := w.now()
	w.figures.Set(figuresOf(b, w.chains(), now), now)
}

// figuresOf returns every figure of a backlog, including zeros, for all known label values. Unknown
// values count as "other".
func figuresOf(b *store.Backlog, chains []chain.ID, now time.Time) []telemetry.Figure {
	var all []telemetry.Figure
	one := func(of *telemetry.Family, value float64, labels ...string) {
		all = append(all, telemetry.Figure{Of: of, Value: value, Labels: labels})
	}
	wait := func(count, oldest *telemetry.Family, w store.Wait, labels ...string) {
		one(count, float64(w.Count), labels...)
		one(oldest, w.Oldest.Seconds(), labels...)
	}
	for _, stage := range x402.Stages() {
		one(telemetry.SettlementsRecent, float64(b.RecentSettlements[stage]), string(stage))
	}
	wait(telemetry.SettlementsStuck, telemetry.SettlementsStuckOldest, b.StuckSettlements)
	one(telemetry.SettlementsUnconfirmed, float64(b.Unconfirmed))
	for _, state := range paymentdb.OpenAuthorizations() {
		wait(telemetry.PaymentsOpen, telemetry.PaymentsOpenOldest, b.OpenPayments[state], string(state))
	}
	lasting, other := subscription.Lasting(), int64(0)
	for _, n := range b.Subscriptions {
		other += n
	}
	for _, status := range lasting {
		one(telemetry.SubscriptionsLasting, float64(b.Subscriptions[status]), string(status))
		other -= b.Subscriptions[status]
	}
	one(telemetry.SubscriptionsLasting, float64(other), "other")
	one(telemetry.SubscriptionsStuck, float64(b.StuckSubscriptions))
	wait(telemetry.StripeEventsWaiting, telemetry.StripeEventsOldest, b.StripeEvents)
	one(telemetry.CheckoutsLate, float64(b.LateCheckouts))
	one(telemetry.StatementsLate, float64(b.LateStatements))
	for _, priority := range ticket.Priorities() {
		wait(telemetry.TicketsWaiting, telemetry.TicketsOldest, b.Tickets[priority], string(priority))
	}
	one(telemetry.TicketsLate, float64(b.LateTickets))
	one(telemetry.IncidentsUntold, float64(b.LateIncidents))
	return append(all, chainFigures(b, chains, now)...)
}

// chainFigures returns the figures of the chains that are served; PostgreSQL may have data of
// others.
func chainFigures(b *store.Backlog, chains []chain.ID, now time.Time) (all []telemetry.Figure) {
	truth := map[bool]float64{true: 1}
	for _, id := range chains {
		state, at := chain.Unknown, 0.0
		if newest, measured := b.Chains[id]; measured {
			at = float64(newest.At.UnixMilli()) / 1000
			if now.Sub(newest.At) <= measuredWithin {
				state = newest.State
			}
		}
		all = append(all, telemetry.Figure{Of: telemetry.ChainMeasured, Value: at, Labels: []string{string(id)}})
		for _, s := range chain.States() {
			all = append(all, telemetry.Figure{
				Of: telemetry.ChainStatus, Value: truth[s == state], Labels: []string{string(id), string(s)},
			})
		}
		all = append(all, telemetry.Figure{
			Of: telemetry.IncidentOpen, Value: truth[b.Incidents[id]], Labels: []string{string(id)},
		})
	}
	return all
}
