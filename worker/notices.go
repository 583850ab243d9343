package worker

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/workflows"
)

const (
	// noticePage is how many notices are read and started at a time.
	noticePage = 100
	// noticeStale is the age after which a started notice without a result is started again. That
	// has no effect on a run that is open, and replaces one that Temporal has lost.
	noticeStale = time.Hour
)

// carryNotices starts the delivery of new notices until ctx ends. Several workers may do so
// concurrently: the workflow id deduplicates.
func (w *Worker) carryNotices(ctx context.Context) {
	tick := time.NewTicker(w.o.NoticeInterval)
	defer tick.Stop()
	for {
		if err := w.startNotices(ctx); err != nil && ctx.Err() == nil {
			w.o.Logger.Error("usage notices not started; they wait in PostgreSQL, will retry", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// startNotices starts all open notices, oldest first.
func (w *Worker) startNotices(ctx context.Context) error {
	c := workflows.NewClient(w.o.Temporal)
	for {
		var begun int
		err := within(ctx, func(ctx context.Context) error {
			open, err := w.o.Store.OpenNotices(ctx, noticeStale, noticePage)
			for begun = 0; err == nil && begun < len(open); begun++ {
				if err = c.StartUsageNotice(ctx, activities.RefOf(open[begun])); err == nil {
					err = w.o.Store.StartNotice(ctx, open[begun].NoticeID)
				}
			}
			return err
		})
		if err != nil || begun < noticePage {
			return err
		}
	}
}
