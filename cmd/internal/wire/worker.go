package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	temporallog "go.temporal.io/sdk/log"

	"github.com/chainaccess/gateway/config"
	"github.com/chainaccess/gateway/flush"
	"github.com/chainaccess/gateway/worker"
)

// Work runs the worker until ctx ends: durable workflows, and the usage flusher. With flushAll usage that is still open is moved at
// the end as well, for a Redis that keeps nothing.
func Work(ctx context.Context, cfg config.Config, providers config.Upstreams, flushAll bool, log *slog.Logger) error {
	b, err := openBase(ctx, cfg, providers)
	if err != nil {
		return err
	}
	defer b.close()
	temporal, err := client.NewLazyClient(client.Options{
		HostPort: cfg.TemporalAddress, Namespace: cfg.TemporalNamespace,
		Logger: temporallog.NewStructuredLogger(log),
	})
	if err != nil {
		return fmt.Errorf("TEMPORAL_ADDRESS: %w", err)
	}
	defer temporal.Close()
	flusher := flush.New(b.meter, b.store, flush.FromStore(b.store), flush.Options{
		Logger:  log,
		OnFlush: func(n int) { b.metrics.UsageFlushed.Add(float64(n)) },
		OnError: func(error) { b.metrics.UsageFlushErrors.Inc() },
	})
	w, err := worker.New(worker.Options{
		Temporal: temporal, Namespace: cfg.TemporalNamespace, Store: b.store, Prober: b.pool, Board: b.board, Flusher: flusher,
		Chains: b.pool.Chains(), Now: time.Now, Logger: log, ProbeInterval: cfg.ProbeInterval,
	})
	if err != nil {
		return err
	}
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	background.Go(func() { serveMetrics(watching, cfg.MetricsAddress, b.metrics, log) })
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

const lastFlush = 10 * time.Second
