// Package wire puts the roles of the gateway together from their parts. It is the one place besides
// the programs themselves that knows every package, and both programs share it.
package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/metering/limits"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/netlimit"
	"github.com/chainaccess/gateway/relay/chain"
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
	// networks bounds what strangers do; the API's alone.
	networks *netlimit.Limits
	// deployment is the id of the deployment, of which all servers must be.
	deployment string
}

func openBase(ctx context.Context, cfg config.Config, providers config.Upstreams, log *slog.Logger) (*base, error) {
	pool, err := upstream.NewPool(providers, time.Now)
	if err != nil {
		return nil, err
	}
	s, err := openRecord(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := checkPepper(ctx, cfg, s); err != nil {
		s.Close()
		return nil, err
	}
	m, err := meter.OpenTLS(ctx, cfg.RedisURL, cfg.RedisCertificates())
	if err != nil {
		s.Close()
		return nil, unreachable("REDIS_URL", "Redis", err)
	}
	settled, err := settleEpoch(ctx, s, m)
	if err != nil {
		_ = m.Close()
		s.Close()
		return nil, err
	}
	metrics := telemetry.NewMetrics()
	m.Measure(metrics.Pipelines)
	b := &base{
		store: s, meter: m, pool: pool, board: upstream.NewBoard(m.Client()), metrics: metrics,
		deployment: settled.ID.String(),
	}
	b.tellEpoch(settled, nil, log)
	return b, nil
}

// unreachable says in one line which variable to check; the libraries' errors have several.
func unreachable(variable, server string, err error) error {
	return fmt.Errorf("%s: %s cannot be used; check that it runs and that the address is right: %s", variable, server,
		strings.Join(strings.Fields(err.Error()), " "))
}

// sidePort is the port of the role's figures.
func (b *base) sidePort(cfg config.Config, ready http.Handler) sidePort {
	return sidePort{cfg.MetricsAddress, cfg.ProfileToken, b.metrics, ready}
}

func (b *base) close() {
	b.pool.Close()
	_ = b.meter.Close() // nothing is under way any more
	b.store.Close()
}

// ChainNames lists what the upstreams file may name.
func ChainNames() []string {
	var names []string
	for _, c := range chain.All() {
		names = append(names, string(c.ID))
	}
	return names
}

const boardInterval = 500 * time.Millisecond

// Serve runs the API on listener until ctx ends, then drains: /readyz says so while calls are still
// taken for cfg.DrainDelay. Then no more connections are taken, answers end theirs, idle ones are
// closed after a pause without answers; requests under way are finished within cfg.DrainTimeout,
// latencies and call records are written. Routes are answered besides the API.
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
	temporal, err := dialTemporal(cfg, b.deployment, tracer, log)
	if err != nil {
		return err
	}
	defer temporal.Close()
	if err := foreign(temporal.gate.check(ctx)); err != nil {
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
	taken := bounded(watchAPI(b, server, f.recorder, f.latencies, f.relay, listener), boundsOf(&cfg),
		server.http.CloseOldestIdle, log)
	taken.watch(b.metrics)

	// The board is read until the last call is answered.
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	background.Go(func() { b.board.Watch(watching, b.pool, boardInterval, log) })
	background.Go(func() { b.board.ReportFigures(watching, b.pool, uuid.NewString(), log) })
	background.Go(func() { reloads.follow(watching, b.pool, log, func() { f.relocate(log) }) })
	background.Go(func() { b.sidePort(cfg, nil).serve(watching, log) })
	background.Go(func() { health.run(watching) })
	background.Go(func() { b.watchDeployment(watching, temporal.gate, end, log) })
	background.Go(func() { f.limits.RunReclaims(watching, log, countLost(b.metrics)) })

	failed := make(chan error, 1)
	go func() { failed <- server.http.Serve(taken) }()
	log.Info("serving", "address", listener.Addr().String(), "chains", len(b.pool.Chains()))
	select {
	case <-ctx.Done():
		close(f.draining)
		err = turnAway(entrance, cfg.DrainDelay, failed)
	case err = <-failed:
		close(f.draining)
	}
	err = errors.Join(ignoreClosed(err), server.drain(ctx, cfg.DrainTimeout,
		tolerate(log, latenciesWithin, f.latencies.Close), f.recorder.Close,
		tolerate(log, recordWithin, f.answers.Close)))
	closeTracer(ctx, tracer, log)
	stopWatching()
	background.Wait()
	return errors.Join(err, foreign(context.Cause(ctx)))
}

// countLost counts what became of calls whose reply was lost.
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
