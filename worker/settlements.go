package worker

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store/paymentdb"
	"github.com/chainaccess/gateway/workflows"
)

const (
	// settlementSweep is the interval between two sweeps of a worker. It is also how often a
	// running flow is signalled in addition to its own timer.
	settlementSweep = 30 * time.Minute
	settlementPage  = 100
	// unwatchedDelays is how many finality delays after its grant a settlement may be unconfirmed
	// before the sweep signals its flow.
	unwatchedDelays = 2
)

// sweepSettlements signals the flows of granted settlements that are late or have no flow, until
// ctx ends: the flow's history was deleted, or the process that granted it died before it started
// one. A failed sweep is retried soon.
func (w *Worker) sweepSettlements(ctx context.Context) {
	tick := time.NewTicker(w.o.NoticeInterval)
	defer tick.Stop()
	for {
		if now := w.o.Now(); now.Sub(w.swept) >= settlementSweep {
			if err := w.watchSettlements(ctx); err == nil {
				w.swept = now
			} else if ctx.Err() == nil {
				w.o.Logger.Error("could not check settlements that are not final; will retry", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// watchSettlements signals each flow, oldest settlement first. It skips settlements older than
// thirty days, whose flows have given up, too.
func (w *Worker) watchSettlements(ctx context.Context) error {
	c := workflows.NewClient(w.o.Temporal)
	for last := (*paymentdb.Settlement)(nil); ; {
		var page []paymentdb.Settlement
		err := within(ctx, func(ctx context.Context) (err error) {
			page, err = w.o.Store.ListUnconfirmed(ctx, unwatchedDelays*w.o.FinalityDelay, x402.MaxAge, last,
				settlementPage)
			return err
		})
		for i := 0; err == nil && i < len(page); i++ {
			err = within(ctx, func(ctx context.Context) error {
				return c.LookAtSettlement(ctx, page[i].ID, w.o.FinalityDelay)
			})
		}
		if err != nil || len(page) < settlementPage {
			return err
		}
		last = &page[len(page)-1]
	}
}
