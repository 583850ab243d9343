// Package wire puts the roles of the gateway together from their parts. It is the one place besides the programs themselves that
// knows every package, and both programs share it.
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

	"github.com/chainaccess/gateway/account"
	"github.com/chainaccess/gateway/chain"
	"github.com/chainaccess/gateway/config"
	"github.com/chainaccess/gateway/meter"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/telemetry"
	"github.com/chainaccess/gateway/upstream"
	"github.com/chainaccess/gateway/workflows"
)

// base is what every role needs.
type base struct {
	store   *store.Store
	meter   *meter.Meter
	pool    *upstream.Pool
	board   *upstream.Board
	metrics *telemetry.Metrics
}

func openBase(ctx context.Context, cfg config.Config, providers config.Upstreams) (*base, error) {
	pool, err := upstream.NewPool(providers, time.Now)
	if err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, cfg.DatabaseURL)
	if err != nil {
		return nil, unreachable("DATABASE_URL", "PostgreSQL", err)
	}
	m, err := meter.OpenTLS(ctx, cfg.RedisURL, cfg.RedisCertificates())
	if err != nil {
		s.Close()
		return nil, unreachable("REDIS_URL", "Redis", err)
	}
	metrics := telemetry.NewMetrics()
	m.Measure(metrics.Pipelines)
	return &base{store: s, meter: m, pool: pool, board: upstream.NewBoard(m.Client()), metrics: metrics}, nil
}

// unreachable says in one line which variable to check; the libraries' errors have several.
func unreachable(variable, server string, err error) error {
	return fmt.Errorf("%s: %s cannot be used; check that it runs and that the address is right: %s", variable, server,
		strings.Join(strings.Fields(err.Error()), " "))
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

// Serve runs the API on listener until ctx ends, then drains: /readyz says so while calls are still taken for cfg.DrainDelay, requests
// under way are finished within cfg.DrainTimeout, latencies and call records are written. Routes are answered besides the API.
func Serve(ctx context.Context, cfg config.Config, providers config.Upstreams, listener net.Listener, log *slog.Logger, reloads Reloads,
	routes ...Route,
) error {
	hasher, err := account.NewHasher([]byte(cfg.KeyPepper))
	if err != nil {
		return fmt.Errorf("KEY_PEPPER: %w", err)
	}
	b, err := openBase(ctx, cfg, providers)
	if err != nil {
		return err
	}
	defer b.close()
	tracer, err := newTracer(ctx, cfg, "api", log)
	if err != nil {
		return err
	}
	temporal, err := dialTemporal(cfg, tracer, log)
	if err != nil {
		return err
	}
	defer temporal.Close()
	b.pool.Instrument(b.metrics.Upstreams, tracer, log)
	//nolint:contextcheck // what is recorded and stored while draining is written too, and each request brings its own context
	f, err := newFront(cfg, b, hasher, workflows.NewClient(temporal), tracer, routes, log)
	if err != nil {
		return err
	}
	server := newAPIServer(ctx, besides(f.handler, routes), cfg, log)
	listener = watchAPI(b, server, f.recorder, f.latencies, f.relay, listener)

	// The board is read until the last call is answered.
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	background.Go(func() { b.board.Watch(watching, b.pool, boardInterval, log) })
	background.Go(func() { b.board.ReportFigures(watching, b.pool, uuid.NewString(), log) })
	background.Go(func() { reloads.follow(watching, b.pool, log, func() { f.relocate(log) }) })
	background.Go(func() { serveMetrics(watching, cfg.MetricsAddress, b.metrics, log) })

	failed := make(chan error, 1)
	go func() { failed <- server.http.Serve(bounded(listener, cfg.MaxConnections, log)) }()
	log.Info("serving", "address", listener.Addr().String(), "chains", len(b.pool.Chains()))
	select {
	case <-ctx.Done():
		close(f.draining)
		err = delay(cfg.DrainDelay, failed)
	case err = <-failed:
		close(f.draining)
	}
	err = errors.Join(ignoreClosed(err), server.drain(ctx, cfg.DrainTimeout,
		tolerate(log, latenciesWithin, f.latencies.Close), f.recorder.Close, tolerate(log, recordWithin, f.answers.Close)))
	closeTracer(ctx, tracer, log)
	stopWatching()
	background.Wait()
	return err
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
