package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/devstack"
	"github.com/chainaccess/gateway/metering/flush"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/store"
)

const (
	flushName       = "flush"
	secondsKey      = "seconds"
	bucketsKey      = "buckets_per_second"
	flushAtMost     = 5 * time.Minute
	partitionedDays = 2
)

var flushBar = bar{below, 60, 0}

// flushCalls are the calls of every account in its bucket: three usage lines, with latencies.
var flushCalls = []*meter.Call{
	{
		Units: plan.Unit, Chain: "eth_mainnet", Service: string(account.RPC), Method: "eth_getBalance",
		Class: "standard", Tier: "balanced",
	},
	{
		Units: 5 * plan.Unit, Chain: "base_mainnet", Service: string(account.RPC), Method: "eth_getLogs",
		Class: "heavy", Tier: "fast",
	},
	{
		Mode: meter.Hit, Chain: "eth_mainnet", Service: string(account.RPC), Method: "eth_getTransactionReceipt",
		Class: "standard", Tier: "balanced",
	},
}

// measureFlush fills a bucket for each of many accounts by admissions, and measures how long the
// flusher takes to move them all to PostgreSQL.
func measureFlush(ctx context.Context, r *rig, o options, report *report) (err error) {
	l, err := r.ledger(ctx, devstack.Redis, devstack.PostgreSQL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close(ctx)) }()
	holders := l.newHolders(o.buckets, o.buckets)
	if err := l.record(ctx, holders); err != nil {
		return err
	}
	if err := l.load(ctx, "loading accounts", holders); err != nil {
		return err
	}
	if err := l.use(ctx, holders); err != nil {
		return err
	}
	buckets, err := l.awaitSlot(ctx)
	if err != nil {
		return err
	}
	report.sayf("%s: %s buckets, of %s calls", flushName, thousands(float64(buckets)),
		thousands(float64(len(holders)*len(flushCalls))))
	took, err := l.flush(ctx, buckets, report)
	if err != nil {
		return err
	}
	if err := l.checkBooks(ctx, holders); err != nil {
		return err
	}
	wanted := bar{}
	if buckets >= wholeBuckets {
		wanted = flushBar
	}
	report.add(result{flushName, secondsKey, took.Seconds(), 1, wanted})
	report.add(result{flushName, bucketsKey, float64(buckets) / took.Seconds(), 0, bar{}})
	return nil
}

// record creates the tables and the accounts; every flush looks the accounts up.
func (l *ledger) record(ctx context.Context, holders []holder) (err error) {
	if err := l.migrate(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	s, err := store.Open(ctx, l.stack.DatabaseURL)
	if err != nil {
		return err
	}
	defer s.Close()
	if _, err := s.EnsurePartitions(ctx, l.begun, partitionedDays); err != nil {
		return err
	}
	ids, plans := make([]uuid.UUID, len(holders)), make([]string, len(holders))
	for i := range holders {
		ids[i], plans[i] = holders[i].account.UUID, holders[i].kind.plan
	}
	return l.query(ctx, func(c *pgx.Conn) error {
		_, err := c.Exec(ctx,
			`INSERT INTO accounts (id, kind, plan) SELECT unnest($1::uuid[]), 'owner', unnest($2::text[])`, ids, plans)
		if err == nil {
			_, err = c.Exec(ctx, `ANALYZE accounts`)
		}
		return err
	})
}

func (l *ledger) query(ctx context.Context, do func(*pgx.Conn) error) (err error) {
	c, err := pgx.Connect(ctx, l.stack.DatabaseURL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	return do(c)
}

// use makes the calls from the start of a slot, so that few accounts have a second bucket.
func (l *ledger) use(ctx context.Context, holders []holder) error {
	now, err := l.meter.Now(ctx)
	if err != nil {
		return err
	}
	if err := pause(ctx, now.Truncate(meter.SlotLength).Add(meter.SlotLength).Sub(now)); err != nil {
		return err
	}
	latencies := meter.NewLatencies(l.meter, meter.LatencyOptions{ //nolint:contextcheck // it ends when it is closed
		Interval: time.Second, Most: 8 * len(flushCalls) * len(holders),
	})
	err = l.each(ctx, "making calls", len(holders), func(ctx context.Context, i int) error {
		s := holders[i].subject()
		for n, call := range flushCalls {
			a, err := l.meter.Admit(ctx, s, call)
			if err != nil {
				return err
			}
			if !a.Admitted {
				return fmt.Errorf("a call of account %s was not admitted: refused %q, missing %q", s.Account, a.Refused,
					a.Missing)
			}
			latencies.Observe(s, call, time.Duration(1+(i+n)%50)*time.Millisecond)
		}
		return nil
	})
	err = errors.Join(err, latencies.Close(ctx))
	if lost := latencies.Dropped(); err == nil && lost > 0 {
		err = fmt.Errorf("the latencies of %d calls were not written", lost)
	}
	return err
}

// awaitSlot waits until the last slot with usage may be sealed, and counts the buckets.
func (l *ledger) awaitSlot(ctx context.Context) (int, error) {
	pipe := l.rdb.Pipeline()
	for shard := range account.Shards {
		pipe.ZCard(ctx, fmt.Sprintf("{u%04d}:dirty", shard))
	}
	counts, err := pipe.Exec(ctx)
	if err != nil {
		return 0, err
	}
	buckets := int64(0)
	for _, c := range counts {
		if n, ok := c.(interface{ Val() int64 }); ok {
			buckets += n.Val()
		}
	}
	return int(buckets), pause(ctx, meter.SlotLength+meter.SealDelay+time.Second)
}

// flush runs a flusher with the defaults of the worker role until every bucket is committed and
// dropped.
func (l *ledger) flush(ctx context.Context, buckets int, report *report) (time.Duration, error) {
	s, err := store.Open(ctx, l.stack.DatabaseURL)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	ctx, stop := context.WithTimeout(ctx, flushAtMost)
	defer stop()
	var moved atomic.Int64
	failed := make(chan error, 1)
	all := make(chan struct{})
	f := flush.New(l.meter, s, flush.FromStore(s), flush.Options{
		Logger: slog.New(slog.DiscardHandler),
		OnFlush: func(n int) {
			if now := moved.Add(int64(n)); now >= int64(buckets) && now-int64(n) < int64(buckets) {
				close(all)
			}
		},
		OnError: func(err error) {
			select {
			case failed <- err:
			default:
			}
		},
	})
	ended := make(chan error, 1)
	begun := time.Now()
	go func() { ended <- f.Run(ctx) }()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-all:
			took := time.Since(begun)
			stop()
			return took, <-ended
		case err := <-failed:
			stop()
			return 0, errors.Join(err, <-ended)
		case <-ctx.Done():
			return 0, errors.Join(fmt.Errorf("%d of %d buckets moved: %w", moved.Load(), buckets, ctx.Err()), <-ended)
		case <-tick.C:
			report.sayf("%s: %s of %s buckets", flushName, thousands(float64(moved.Load())),
				thousands(float64(buckets)))
		}
	}
}

// checkBooks fails unless every call is in both the hourly and the periodic sums, so that the
// measured flush was complete.
func (l *ledger) checkBooks(ctx context.Context, holders []holder) error {
	want := int64(len(holders) * len(flushCalls))
	return l.query(ctx, func(c *pgx.Conn) error {
		var hours, periods, timed int64
		err := c.QueryRow(ctx, `SELECT (SELECT coalesce(sum(requests), 0)::bigint FROM usage_hours),
			(SELECT coalesce(sum(requests), 0)::bigint FROM usage_periods), (SELECT count(DISTINCT account_id) FROM latency_hours)`).Scan(&hours, &periods, &timed)
		if err == nil && (hours != want || periods != want || timed != int64(len(holders))) {
			err = fmt.Errorf("of %d calls of %d accounts, the hours have %d, the periods %d, and latencies %d accounts",
				want, len(holders), hours, periods, timed)
		}
		return err
	})
}
