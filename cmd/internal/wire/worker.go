package wire

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/cmd/internal/connect"
	"github.com/chainaccess/gateway/cmd/internal/sideport"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/metering/flush"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/payments/settlement"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store/accountdb"
	"github.com/chainaccess/gateway/worker"
	"github.com/chainaccess/gateway/workflows"
)

// Work runs the worker until ctx ends: workflows, the usage flusher and the mail sender. With
// flushAll, open buckets are also flushed at the end, for a Redis without persistence.
func Work(ctx context.Context, cfg config.Config, providers config.Upstreams, flushAll bool, log *slog.Logger,
	reloads Reloads,
) error {
	b, err := openBase(ctx, cfg, providers, log)
	if err != nil {
		return err
	}
	defer b.close()
	temporal, closeTemporal, err := openTemporal(ctx, cfg, b, log)
	if err != nil {
		return err
	}
	defer closeTemporal()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	flusher := newFlusher(b, log)
	mails, err := connect.Outbox(cfg, b.store)
	if err != nil {
		return err
	}
	sender, err := newMailSender(cfg, b, mails, log)
	if err != nil {
		return err
	}
	messenger := &activities.UsageMails{People: b.store, Letters: mails, PublicURL: cfg.PublicURL, Now: time.Now}
	accountLimits := limits.New(b.store, b.meter, nil, time.Now)
	letters := &activities.AdoptionLetters{Owners: b.store, Sealer: mails, URL: cfg.PublicURL, Now: time.Now}
	terms, err := newTerms(cfg, b.pool)
	if err != nil {
		return err
	}
	settlements := &activities.Settlements{
		Limits: accountLimits, Record: b.store, Chain: settlement.New(b.pool, chain.BaseMainnet, terms), Now: time.Now,
		Logger: log,
	}
	flows := workflows.NewClient(temporal.Client)
	bought, err := newBilling(cfg, b, accountLimits, mails, flows, log)
	if err != nil {
		return err
	}
	w, err := worker.New(worker.Options{
		Temporal: temporal.Client, Namespace: cfg.TemporalNamespace, Store: b.store, Messenger: messenger,
		Doors: &activities.Doors{Limits: accountLimits, Logger: log, Mails: letters}, Settlements: settlements,
		Billing: bought, Statements: newStatements(b, log), Prober: b.pool, Board: b.board, Flusher: flusher,
		Mails: sender, Chains: b.pool.Chains, Now: time.Now, Logger: log, ProbeInterval: cfg.ProbeInterval,
		KeepCallDays: cfg.CallRecordsDays, FinalityDelay: cfg.X402FinalityDelay, OnSwept: countSwept(b.metrics),
	})
	if err != nil {
		return err
	}
	shareRates := b.board.ShareRates(b.pool, uuid.NewString(), log)
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	background.Go(func() { shareRates(watching) })
	background.Go(func() { reloads.follow(watching, b.pool, log, w.ChainsChanged) })
	background.Go(func() { b.sidePort(cfg, sideport.WorkerReadiness(w.Ready, b.pool)).Serve(watching, log) })
	background.Go(func() { accountLimits.RunPushes(watching, log) })
	health := watchRedis(b.meter, b.metrics, log, true)
	background.Go(func() { health.run(watching) })
	background.Go(func() { b.runCosts(watching, log) })
	background.Go(func() { b.watchDeployment(watching, temporal.Gate, end, log) })
	background.Go(func() { accountLimits.RunReclaims(watching, log, countLost(b.metrics)) })
	// Settlements are read from the upstreams that the board reports as usable.
	background.Go(func() { b.board.Watch(watching, b.pool, boardInterval, log) })
	background.Go(func() { newAlerts(cfg, b, mails, log).Run(watching) })
	waits := newBacklogWatch(cfg, b, log)
	background.Go(func() { waits.run(watching) })
	if cfg.SellsPerCall() {
		resolver := newResolver(cfg, b, flows, log)
		background.Go(func() { resolver.Run(watching) })
	}
	err = w.Run(ctx)
	if flushAll {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastFlush)
		err = errors.Join(err, flusher.FlushAll(last))
		cancel()
	}
	stopWatching()
	background.Wait()
	return errors.Join(err, connect.Foreign(context.Cause(ctx)))
}

// openTemporal connects the worker to Temporal, with tracing, and refuses a namespace of another
// deployment. The caller must call the returned function to close it.
func openTemporal(ctx context.Context, cfg config.Config, b *base, log *slog.Logger) (
	*connect.TemporalClient, func(), error,
) {
	tracer, err := newTracer(ctx, cfg, "worker", log)
	if err != nil {
		return nil, nil, err
	}
	temporal, err := connect.Temporal(cfg, b.deployment, tracer, log)
	if err != nil {
		closeTracer(ctx, tracer, log)
		return nil, nil, err
	}
	closeAll := func() {
		temporal.Close()
		closeTracer(ctx, tracer, log)
	}
	if err := connect.Foreign(temporal.Gate.Check(ctx)); err != nil {
		closeAll()
		return nil, nil, err
	}
	return temporal, closeAll, nil
}

// newFlusher returns the flusher of usage, with its metrics.
func newFlusher(b *base, log *slog.Logger) *flush.Flusher {
	return flush.New(b.meter, b.store, flush.FromStore(b.store), flush.Options{
		Logger:      log,
		OnFlush:     func(n int) { b.metrics.UsageFlushed.Add(float64(n)) },
		OnError:     func(error) { b.metrics.UsageFlushErrors.Inc() },
		OnWatermark: watchWatermark(b.metrics),
	})
}

// newStatements returns the activities of statements, with their metrics.
func newStatements(b *base, log *slog.Logger) *activities.Statements {
	return &activities.Statements{
		Compiler: &statement.Compiler{Store: b.store, Now: time.Now}, Logger: log,
		Count: b.metrics.Outcomes(
			"gateway_statement_closings_total",
			"Closings of statements by what became of them: closed, adjusted, failed.", "result",
			activities.ClosingResults()...),
	}
}

// watchWatermark registers the watermark of all usage as a metric and returns the function that
// sets it. The metric is NaN until that is called.
func watchWatermark(m *telemetry.Metrics) func(at time.Time) {
	var watermark atomic.Int64
	m.Gauge("gateway_usage_watermark_timestamp_seconds",
		"The instant before which all usage is in PostgreSQL, by the meter's clock.",
		func() float64 {
			if millis := watermark.Load(); millis != 0 {
				return float64(millis) / 1000
			}
			return math.NaN()
		})
	return func(at time.Time) { watermark.Store(at.UnixMilli()) }
}

const lastFlush = 10 * time.Second

// countSwept returns a callback that counts swept anonymous keys and accounts.
func countSwept(m *telemetry.Metrics) func(accountdb.SweptKeys) {
	const retired, deleted, account = "key_retired", "key_deleted", "account_deleted"
	count := m.Outcomes("gateway_anonymous_swept_total",
		"Anonymous keys that nobody uses, and their accounts, by what became of them.", "step", retired, deleted,
		account)
	return func(n accountdb.SweptKeys) {
		count(retired, int(n.Retired))
		count(deleted, int(n.Deleted))
		count(account, int(n.Accounts))
	}
}
