package worker

import (
	"context"
	"time"

	"github.com/chainaccess/gateway/activities"
	"github.com/chainaccess/gateway/workflows"
)

const (
	// noticePage is how many notices are begun between two looks into the record.
	noticePage = 100
	// noticeStale is after how long a notice whose delivery was begun and has no result is begun
	// again: a run that still tries is left alone, one that Temporal has lost is replaced.
	noticeStale = time.Hour
)

// carryNotices begins the delivery of what the flush noticed, until ctx ends. Several workers may
// do so at once: the workflow's id lets each notice be delivered once.
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

// startNotices begins what is open, oldest first.
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
