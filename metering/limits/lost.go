package limits

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/parallel"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
)

// A call whose reply was lost may have been charged. It is answered "not relayed", so it must cost
// nothing. It is written to PostgreSQL before that answer; any process then retries Reclaim until
// the meter has decided it, and refunds what was charged. A charge whose refund failed is handled
// the same way.
const (
	maxLost         = 4096 // held in memory while PostgreSQL does not take them; more are dropped and counted
	lostTimeout     = 500 * time.Millisecond
	lastLostTimeout = 3 * time.Second
	reclaimTimeout  = 2 * time.Second
	reclaimInterval = time.Second
	reclaimPage     = 256
	reclaimParallel = 16
	maxDroppedNamed = 4096 // accounts and keys of dropped calls that are kept for the log
)

// Results of lost calls, as RunReclaims counts them.
const (
	lostGivenBack  = "given_back"
	lostNotCharged = "not_charged"
	lostForgotten  = "forgotten" // it is unknown whether they were charged
	lostDropped    = "dropped"   // they could not be written to PostgreSQL
)

// LostResults lists the results of lost calls, for metrics.
func LostResults() []string {
	return []string{lostGivenBack, lostNotCharged, lostForgotten, lostDropped}
}

// losses holds lost calls until they are in PostgreSQL.
type losses struct {
	record Record

	mu      sync.Mutex // guards the rest
	waiting []account.LostCall
	written chan struct{} // closed when the running write has ended; nil while nobody writes
	dropped map[droppedOf]droppedSum
}

// droppedOf is whose calls were dropped; zero for all others once there are too many to name.
type droppedOf struct {
	account account.ID
	key     account.KeyID
}

type droppedSum struct {
	calls int
	units plan.Units
}

// drop counts calls that nobody will reclaim. The caller holds the lock.
func (l *losses) drop(calls ...account.LostCall) {
	if l.dropped == nil {
		l.dropped = map[droppedOf]droppedSum{}
	}
	for i := range calls {
		of := droppedOf{calls[i].Account, calls[i].Key}
		if _, named := l.dropped[of]; !named && len(l.dropped) >= maxDroppedNamed {
			of = droppedOf{}
		}
		sum := l.dropped[of]
		l.dropped[of] = droppedSum{sum.calls + 1, sum.units + calls[i].Units}
	}
}

// Kept is where a refund that failed waits to be retried.
type Kept uint8

// The places, from the worst: nowhere, because too many wait; in this process, which retries while
// it lives; in PostgreSQL, from where any process retries.
const (
	KeptNowhere Kept = iota
	KeptInProcess
	KeptInRecord
)

// GiveBackLater has the charge of a refund that failed given back once the meter answers.
func (f *Limits) GiveBackLater(ctx context.Context, call account.LostCall) Kept { //nolint:gocritic // it is kept
	return f.lost.add(ctx, call)
}

// add writes a call, together with those that are lost at the same time. It returns once that was
// tried.
func (l *losses) add(ctx context.Context, call account.LostCall) Kept { //nolint:gocritic // it is kept
	l.mu.Lock()
	if len(l.waiting) >= maxLost {
		l.drop(call)
		l.mu.Unlock()
		return KeptNowhere
	}
	l.waiting = append(l.waiting, call)
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lostTimeout)
	defer cancel()
	if err := l.write(ctx); err != nil {
		return KeptInProcess // RunReclaims retries
	}
	return KeptInRecord
}

// write writes all waiting calls to PostgreSQL. A concurrent caller waits for the running write,
// and then writes only what is left.
func (l *losses) write(ctx context.Context) error {
	for {
		l.mu.Lock()
		if busy := l.written; busy != nil {
			l.mu.Unlock()
			select {
			case <-busy:
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if len(l.waiting) == 0 {
			l.mu.Unlock()
			return nil
		}
		done := make(chan struct{})
		l.written = done
		batch := l.waiting
		l.waiting = nil
		l.mu.Unlock()

		dropped, err := l.record.AddLostCalls(ctx, batch)
		l.mu.Lock()
		l.drop(dropped...)
		if err != nil {
			l.waiting = append(batch, l.waiting...)
		}
		l.written = nil
		close(done)
		l.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// tellDropped logs and counts the calls that were dropped since it was last called.
func (l *losses) tellDropped(logger *slog.Logger, count func(result string, n int)) {
	l.mu.Lock()
	dropped := l.dropped
	l.dropped = nil
	l.mu.Unlock()
	n := 0
	for of, sum := range dropped {
		n += sum.calls
		logger.Error(
			"calls whose reply was lost could not be recorded and may have been charged; compare the account's usage",
			"account_id", of.account, "key_id", of.key, "calls", sum.calls, "units", sum.units)
	}
	count(lostDropped, n)
}

// giveUp drops the waiting calls, at the end of the process.
func (l *losses) giveUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(l.waiting...)
	l.waiting = nil
}

// RunReclaims refunds the charges of lost calls, also those of other processes, until ctx ends.
// Then it writes what it still holds to PostgreSQL. count receives the results.
func (f *Limits) RunReclaims(ctx context.Context, logger *slog.Logger, count func(result string, n int)) {
	tick := time.NewTicker(reclaimInterval)
	defer tick.Stop()
	for {
		givenBack, err := f.Reclaim(ctx, logger, count)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			logger.Warn("calls whose reply was lost are not refunded yet; will retry", "error", err)
		case givenBack > 0:
			logger.Info("calls whose reply was lost were refunded", "calls", givenBack)
		}
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLostTimeout)
			defer cancel()
			if err := f.lost.write(last); err != nil {
				logger.Error(
					"calls whose reply was lost cannot be recorded; they stay charged if they were charged",
					"error", err)
				f.lost.giveUp()
			}
			f.lost.tellDropped(logger, count)
			return
		case <-tick.C:
		}
	}
}

// Reclaim decides the lost calls that it can, and returns how many charges it refunded. A call that
// cannot be decided now does not delay the others. When the Redis of a shard does not answer, the
// shard's other calls are left for the next pass.
func (f *Limits) Reclaim(ctx context.Context, logger *slog.Logger,
	count func(result string, n int),
) (givenBack int, err error) {
	writing, cancel := context.WithTimeout(ctx, reclaimTimeout)
	wrote := f.lost.write(writing)
	cancel()
	f.lost.tellDropped(logger, count)
	r := reclaims{Limits: f, logger: logger, count: count, silent: map[int]bool{}}
	var last account.LostCall
	for {
		reading, cancel := context.WithTimeout(ctx, reclaimTimeout)
		calls, err := f.store.ListLostCalls(reading, &last, reclaimPage)
		cancel()
		if err != nil {
			return r.givenBack, errors.Join(wrote, r.failed, err)
		}
		var group parallel.Group
		group.SetLimit(reclaimParallel)
		for i := range calls {
			group.Go(func() error { return r.one(ctx, &calls[i]) })
		}
		if err := group.Wait(); err != nil || len(calls) < reclaimPage {
			return r.givenBack, errors.Join(wrote, r.failed, err)
		}
		last = calls[len(calls)-1]
	}
}

// reclaims is one pass over the list of lost calls.
type reclaims struct {
	*Limits

	logger *slog.Logger
	count  func(result string, n int)

	mu        sync.Mutex // guards the rest, and calls of count
	silent    map[int]bool
	failed    error // the meter's first error
	givenBack int
}

// one decides a lost call, if that is possible. It returns only PostgreSQL's errors.
func (r *reclaims) one(ctx context.Context, c *account.LostCall) error {
	shard := account.Shard(c.Account)
	r.mu.Lock()
	silent := r.silent[shard]
	r.mu.Unlock()
	if silent {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, reclaimTimeout)
	defer cancel()
	found, err := r.meter.Reclaim(ctx, c, fault.MeterUnreachable.String())
	if err != nil {
		_, answered := errors.AsType[redis.Error](err)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.silent[shard] = r.silent[shard] || !answered
		if r.failed == nil {
			r.failed = err
		}
		return nil
	}
	if found == meter.Undecided {
		return nil
	}
	deleted, err := r.store.DeleteLostCall(ctx, c.Nonce)
	if err != nil || !deleted { // another process has counted it
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch found {
	case meter.GivenBack:
		r.givenBack++
		r.count(lostGivenBack, 1)
	case meter.NotCharged:
		r.count(lostNotCharged, 1)
	default:
		r.count(lostForgotten, 1)
		r.logger.Error("unknown whether a call whose reply was lost was charged; compare the account's usage",
			"account_id", c.Account, "key_id", c.Key, "units", c.Units, "at", c.NotAfter)
	}
	return nil
}
