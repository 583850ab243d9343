package wire

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/chain"
	"github.com/chainaccess/gateway/config"
	"github.com/chainaccess/gateway/fences"
	"github.com/chainaccess/gateway/flush"
	"github.com/chainaccess/gateway/settlement"
	"github.com/chainaccess/gateway/statement"
	"github.com/chainaccess/gateway/telemetry"
	"github.com/chainaccess/gateway/worker"
	"github.com/chainaccess/gateway/workflows"
)

// Work runs the worker until ctx ends: durable workflows, and the usage flusher. With flushAll usage that is still open is moved at
// the end as well, for a Redis that keeps nothing.
func Work(ctx context.Context, cfg config.Config, providers config.Upstreams, flushAll bool, log *slog.Logger, reloads Reloads) error {
	b, err := openBase(ctx, cfg, providers)
	if err != nil {
		return err
	}
	defer b.close()
	tracer, err := newTracer(ctx, cfg, "worker", log)
	if err != nil {
		return err
	}
	defer closeTracer(ctx, tracer, log)
	temporal, err := dialTemporal(cfg, tracer, log)
	if err != nil {
		return err
	}
	defer temporal.Close()
	flusher := flush.New(b.meter, b.store, flush.FromStore(b.store), flush.Options{
		Logger:      log,
		OnFlush:     func(n int) { b.metrics.UsageFlushed.Add(float64(n)) },
		OnError:     func(error) { b.metrics.UsageFlushErrors.Inc() },
		OnWatermark: watchWatermark(b.metrics),
	})
	mails, err := newOutbox(cfg, b.store)
	if err != nil {
		return err
	}
	courier, err := newCourier(cfg, b, mails, log)
	if err != nil {
		return err
	}
	messenger := &activities.UsageMails{People: b.store, Letters: mails, PublicURL: cfg.PublicURL, Now: time.Now}
	fence := fences.New(b.store, b.meter, nil, time.Now)
	letters := &activities.AdoptionLetters{Owners: b.store, Sealer: mails, URL: cfg.PublicURL, Now: time.Now}
	terms, err := newTerms(cfg, b.pool)
	if err != nil {
		return err
	}
	settlements := &activities.Settlements{
		Fences: fence, Record: b.store, Chain: settlement.New(b.pool, chain.BaseMainnet, terms), Now: time.Now, Logger: log,
	}
	flows := workflows.NewClient(temporal)
	bought, err := newBilling(cfg, b, fence, mails, flows, log)
	if err != nil {
		return err
	}
	w, err := worker.New(worker.Options{
		Temporal: temporal, Namespace: cfg.TemporalNamespace, Store: b.store, Messenger: messenger,
		Doors: &activities.Doors{Fences: fence, Logger: log, Mails: letters}, Settlements: settlements, Billing: bought, Statements: newStatements(b, log),
		Prober: b.pool, Board: b.board, Flusher: flusher, Courier: courier,
		Chains: b.pool.Chains, Now: time.Now, Logger: log, ProbeInterval: cfg.ProbeInterval,
		FinalityDelay: cfg.X402FinalityDelay,
	})
	if err != nil {
		return err
	}
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	background.Go(func() { reloads.follow(watching, b.pool, log, w.ChainsChanged) })
	background.Go(func() { serveMetrics(watching, cfg.MetricsAddress, b.metrics, log) })
	background.Go(func() { fence.RunPushes(watching, log) })
	background.Go(func() { b.board.Watch(watching, b.pool, boardInterval, log) }) // settlements are read from the upstreams that it finds usable
	background.Go(func() { newAlerts(cfg, b, mails, log).Run(watching) })
	waits := newBacklogWatch(cfg, b, log)
	background.Go(func() { waits.run(watching) })
	if cfg.SellsPerCall() {
		sweeper := newSweeper(cfg, b, flows, log)
		background.Go(func() { sweeper.Run(watching) })
	}
	err = w.Run(ctx)
	if flushAll {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
		err = errors.Join(err, flusher.FlushAll(last))
		cancel()
	}
	stopWatching()
	background.Wait()
	return err
}

// newStatements closes statements, and counts what became of each closing.
func newStatements(b *base, log *slog.Logger) *activities.Statements {
	return &activities.Statements{Book: &statement.Book{Store: b.store, Now: time.Now}, Logger: log, Count: b.metrics.Outcomes(
		"gateway_statement_closings_total", "Closings of statements by what became of them: closed, adjusted, failed.", "result", activities.ClosingResults()...)}
}

// watchWatermark serves the watermark of all usage as a metric, and gives what tells it; no number before it was told once.
func watchWatermark(m *telemetry.Metrics) func(at time.Time) {
	var told atomic.Int64
	m.Gauge("gateway_usage_watermark_timestamp_seconds", "The instant before which all usage is in PostgreSQL, by the meter's clock.",
		func() float64 {
			if millis := told.Load(); millis != 0 {
				return float64(millis) / 1000
			}
			return math.NaN()
		})
	return func(at time.Time) { told.Store(at.UnixMilli()) }
}

const lastFlush = 10 * time.Second
