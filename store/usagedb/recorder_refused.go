package usagedb

import (
	"context"
	"time"
)

// maxSumBatch bounds the sums of one statement.
const maxSumBatch = 1_000

// writeRefused moves the newest refused calls to the buffer and writes the changed sums. It reports
// whether all sums were written; the others are retried next time.
func (r *Recorder) writeRefused(ctx context.Context) bool {
	r.mu.Lock()
	r.refused.takeNewest(r.hold)
	changed := r.refused.changed()
	r.mu.Unlock()
	whole := true
	for len(changed) > 0 {
		n := min(len(changed), maxSumBatch)
		if err := r.setSums(ctx, changed[:n]); err != nil {
			r.o.Logger.Warn("sums of refused calls not written; will retry", "sums", len(changed), "error", err)
			whole = false
			break
		}
		r.mu.Lock()
		r.summed.Add(r.refused.wrote(changed[:n]))
		r.mu.Unlock()
		changed = changed[n:]
	}
	return whole
}

func (r *Recorder) setSums(ctx context.Context, sums []RefusedSum) error {
	ctx, cancel := context.WithTimeout(ctx, r.o.Timeout)
	defer cancel()
	return r.writeSum(ctx, sums)
}

// writeLast writes everything until ctx is done. It drops and counts the rest.
func (r *Recorder) writeLast(ctx context.Context) {
	written := r.writeRefused(ctx)
	r.writeAll(ctx)
	for backoff := recorderFirstBackoff; !written && ctx.Err() == nil; backoff = min(2*backoff, recorderMaxBackoff) {
		timer := time.NewTimer(backoff)
		select {
		case <-timer.C:
			written = r.writeRefused(ctx)
		case <-ctx.Done():
		}
		timer.Stop()
	}
	r.mu.Lock()
	left := r.refused.unwritten()
	r.mu.Unlock()
	if left > 0 {
		r.drop(int(left))
	}
}
