package wire

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/chainaccess/gateway/relay/price"
)

const (
	costsInterval = 10 * time.Second
	costsTimeout  = 5 * time.Second
)

// runCosts writes what this process spent at providers every ten seconds, and once more when ctx
// ends. Redis gets from there what it does not know of budgets.
func (b *base) runCosts(ctx context.Context, log *slog.Logger) {
	tick := time.NewTicker(costsInterval)
	defer tick.Stop()
	b.recoverBudgets(ctx, log)
	for ctx.Err() == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		writeCosts(context.WithoutCancel(ctx), b.costs, b.store.AddCosts, log)
		b.recoverBudgets(ctx, log)
	}
}

func (b *base) recoverBudgets(ctx context.Context, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, costsTimeout)
	defer cancel()
	if err := b.pool.RecoverBudgets(ctx, b.store.SumUnits); err != nil && !errors.Is(ctx.Err(), context.Canceled) {
		log.Warn("what was spent of budgets not read; will retry, and no budget is enforced until then", "error", err)
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
