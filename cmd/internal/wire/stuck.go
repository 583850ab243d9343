package wire

import (
	"context"
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/telemetry"
	"github.com/chainaccess/gateway/x402"
)

// How often stuck settlements are counted, and how long a count may take.
const (
	countStuckEvery = 30 * time.Second
	countStuckIn    = 5 * time.Second
)

// watchStuck serves how many settlements are stuck as a metric, until ctx ends; no number while the record does not tell.
func watchStuck(ctx context.Context, s *store.Store, m *telemetry.Metrics, log *slog.Logger) {
	var stuck atomic.Int64
	stuck.Store(-1)
	m.Gauge("gateway_settlements_stuck", "Payments per call that wait because the chain cannot be read.", func() float64 {
		if n := stuck.Load(); n >= 0 {
			return float64(n)
		}
		return math.NaN()
	})
	tick := time.NewTicker(countStuckEvery)
	defer tick.Stop()
	for {
		n, err := countStuck(ctx, s)
		if err != nil && ctx.Err() == nil {
			n = -1
			log.Warn("stuck settlements not counted", "error", err)
		}
		stuck.Store(n)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func countStuck(ctx context.Context, s *store.Store) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, countStuckIn)
	defer cancel()
	return s.CountSettlements(ctx, x402.StageStuck)
}
