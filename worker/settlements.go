package worker

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/workflows"
)

const (
	// settlementSweep is between two sweeps of a worker: how often a flow that runs is made to look
	// besides its own time.
	settlementSweep = 30 * time.Minute
	settlementPage  = 100
	// unwatchedDelays is how many delays after its grant a settlement that is not final may have no
	// flow that watches it.
	unwatchedDelays = 2
)

// sweepSettlements has granted settlements watched whose flow is late or not there (its history was
// deleted, or whoever granted died before it could begin one), until ctx ends. It tries again soon
// when a sweep failed.
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

// watchSettlements has each one looked at, oldest first. Those of more than thirty days flows have
// given up, too.
func (w *Worker) watchSettlements(ctx context.Context) error {
	c := workflows.NewClient(w.o.Temporal)
	for last := (*store.Settlement)(nil); ; {
		var page []store.Settlement
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
