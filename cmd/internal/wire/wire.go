// Package wire assembles the roles of the gateway. Only it and the programs may import every
// package; both programs share it.
package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/cmd/internal/connect"
	"github.com/chainaccess/gateway/cmd/internal/listen"
	"github.com/chainaccess/gateway/cmd/internal/sideport"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/relay/price"
	"github.com/chainaccess/gateway/relay/upstream"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/workflows"
)

// base is what every role needs.
type base struct {
	store   *store.Store
	meter   *meter.Meter
	pool    *upstream.Pool
	board   *upstream.Board
	metrics *telemetry.Metrics
	// networks limits callers without a key; set in the API role only.
	networks *netlimit.Limits
	// deployment is the id of the deployment to which all servers must belong.
	deployment string
	costs      *price.Ledger // what this process spends at providers
}

func openBase(ctx context.Context, cfg config.Config, providers config.Upstreams, log *slog.Logger) (*base, error) {
	pool, err := upstream.NewPool(providers, time.Now)
	if err != nil {
		return nil, err
	}
	s, err := connect.Postgres(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := connect.CheckPepper(ctx, cfg, s); err != nil {
		s.Close()
		return nil, err
	}
	m, err := meter.OpenTLS(ctx, cfg.RedisURL, cfg.RedisCertificates())
	if err != nil {
		s.Close()
		return nil, connect.Unreachable("REDIS_URL", "Redis", err)
	}
	epoch, err := connect.ApplyEpoch(ctx, s, m)
	if err != nil {
		_ = m.Close()
		s.Close()
		return nil, err
	}
	metrics := telemetry.NewMetrics(pool.Known())
	m.Measure(metrics.Pipelines)
	b := &base{
		store: s, meter: m, pool: pool, board: upstream.NewBoard(m.Client()), metrics: metrics,
		deployment: epoch.ID.String(), costs: price.NewLedger(),
	}
	pool.CountCosts(b.costs)
	metrics.WatchCosts(b.costs)
	b.reportEpoch(epoch, nil, log)
	return b, nil
}

// sidePort returns the port of the role's metrics.
func (b *base) sidePort(cfg config.Config, ready http.Handler) sideport.Port {
	return sideport.Port{
		Address: cfg.MetricsAddress, ProfileToken: cfg.ProfileToken, Metrics: b.metrics, Ready: ready,
	}
}

func (b *base) close() {
	b.pool.Close()
	_ = b.meter.Close() // nothing uses it any more
	b.store.Close()
}

const boardInterval = 500 * time.Millisecond

// Serve runs the API on listener until ctx ends, and then drains. For cfg.DrainDelay /readyz
// reports it while calls are still accepted. Then no new connections are accepted, answers close
// theirs, and idle ones are closed after a grace period. Requests in progress have cfg.DrainTimeout
// to finish; then latencies and call records are written. Paths of routes are handled in front of
// the API.
func Serve(ctx context.Context, cfg config.Config, providers config.Upstreams, listener net.Listener, log *slog.Logger,
	reloads Reloads, routes ...Route,
) error {
	hasher, err := account.NewHasher([]byte(cfg.KeyPepper))
	if err != nil {
		return fmt.Errorf("KEY_PEPPER: %w", err)
	}
	b, err := openBase(ctx, cfg, providers, log)
	if err != nil {
		return err
	}
	defer b.close()
	health := watchRedis(b.meter, b.metrics, log, false)
	if err := health.refuse(ctx); err != nil {
		return err
	}
	tracer, err := newTracer(ctx, cfg, "api", log)
	if err != nil {
		return err
	}
	temporal, err := connect.Temporal(cfg, b.deployment, tracer, log)
	if err != nil {
		return err
	}
	defer temporal.Close()
	if err := connect.Foreign(temporal.Gate.Check(ctx)); err != nil {
		return err
	}
	figures, err := cfg.NetworkFigures()
	if err != nil {
		return err //nolint:wrapcheck // names its variable
	}
	b.networks = netlimit.New(b.meter, figures, time.Now)
	b.metrics.WatchNetworks(b.networks)
	b.pool.Instrument(b.metrics.Upstreams, tracer, log)
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	//nolint:contextcheck // what is recorded and stored while draining is written too, and each request brings its own context
	f, err := newFront(cfg, b, hasher, workflows.NewClient(temporal.Client), tracer, routes, log)
	if err != nil {
		return err
	}
	server := newAPIServer(ctx, besides(f.handler, routes), cfg, log)
	entrance := listener
	taken := listen.Bound(watchAPI(b, server, f.recorder, f.latencies, f.relay, listener), listen.BoundsOf(&cfg),
		server.http.CloseOldestIdle, log)
	taken.Watch(b.metrics)

	followHeads, process := b.board.ShareHeads(b.pool), uuid.NewString()
	shareRates := b.board.ShareRates(b.pool, process, log)
	// Read the board until the last call is answered.
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	background.Go(func() { b.board.Watch(watching, b.pool, boardInterval, log) })
	background.Go(func() { followHeads(watching) })
	background.Go(func() { shareRates(watching) })
	background.Go(func() { b.board.ReportFigures(watching, b.pool, process, log) })
	background.Go(func() { reloads.follow(watching, b.pool, log, func() { f.relocate(log) }) })
	background.Go(func() { b.sidePort(cfg, nil).Serve(watching, log) })
	background.Go(func() { health.run(watching) })
	background.Go(func() { b.runCosts(watching, log) })
	background.Go(func() { b.watchDeployment(watching, temporal.Gate, end, log) })
	background.Go(func() { f.limits.RunReclaims(watching, log, countLost(b.metrics)) })

	failed := make(chan error, 1)
	go func() { failed <- server.http.Serve(taken) }()
	log.Info("serving", "address", listener.Addr().String(), "chains", len(b.pool.Chains()))
	select {
	case <-ctx.Done():
		close(f.draining)
		err = listen.TurnAway(entrance, cfg.DrainDelay, failed)
	case err = <-failed:
		close(f.draining)
	}
	err = errors.Join(ignoreClosed(err), server.drain(ctx, cfg.DrainTimeout,
		tolerate(log, latenciesWithin, f.latencies.Close), f.recorder.Close,
		tolerate(log, recordWithin, f.answers.Close)))
	closeTracer(ctx, tracer, log)
	stopWatching()
	background.Wait()
	return errors.Join(err, connect.Foreign(context.Cause(ctx)))
}

// countLost counts the outcomes of calls whose admission reply was lost.
func countLost(m *telemetry.Metrics) func(result string, n int) {
	return m.Outcomes("gateway_lost_calls_total",
		"Calls that were not relayed because the meter's reply was lost, by what became of their charge: "+
			"given_back, not_charged, forgotten, dropped.", "result", limits.LostResults()...)
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
