package wire

import (
	"context"
	"log/slog"
	"time"

	"github.com/chainaccess/gateway/relay/price"
)

const (
	costsInterval = 10 * time.Second
	costsTimeout  = 5 * time.Second
)

// runCosts writes what this process spent at providers every ten seconds, and once more when ctx
// ends.
func (b *base) runCosts(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(costsInterval)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		writeCosts(context.WithoutCancel(ctx), b.costs, b.store.AddCosts, log)
	}
}

func writeCosts(ctx context.Context, l *price.Ledger, add func(context.Context, price.Batch) error, log *slog.Logger) {
	batch := l.Take()
	if batch.Empty() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, costsTimeout)
	defer cancel()
	if err := add(ctx, batch); err != nil {
		l.Return(batch)
		log.Warn("costs at providers not written; will retry", "methods", len(batch.Spent), "error", err)
	}
}
