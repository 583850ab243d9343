package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/billing/statement"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/devstack"
	"github.com/chainaccess/gateway/store"
)

const (
	statementsName = "statements"
	perAccountKey  = "us_per_account"
	growthKey      = "growth"
	heapKey        = "heap_mb"
	usageRows      = 100 // per account in the month
)

// statementSizes are the numbers of accounts of the sweeps; the last one is the full size.
var statementSizes = []int{1_000, 3_000, 10_000}

// The limits: seconds for a month of the full size, its time per account divided by that of the
// smallest size, and the heap in MB.
var (
	statementsBar = bar{below, 120, 0}
	growthBar     = bar{below, 1.5, 0}
	heapBar       = bar{below, 256, 0}
)

const emptyMonth = "TRUNCATE statements, usage_hours, usage_periods, usage_watermarks, accounts CASCADE"

// fillSteps create $1 accounts with a month of usage: two keys each, on three chains, with cache
// hits and refusals.
var fillSteps = []string{
	`INSERT INTO accounts (id, kind, plan, created_at)
	SELECT lpad(to_hex(n), 32, '0')::uuid, 'owner', 'pro', '2026-10-03' FROM generate_series(1, $1::integer) AS n`,
	`INSERT INTO keys (id, account_id, digest, prefix, name, door)
	SELECT (to_hex(k) || lpad(to_hex(n), 31, '0'))::uuid, lpad(to_hex(n), 32, '0')::uuid, sha256((n || '/' || k)::bytea), 'cag_' || k, 'key ' || k, 'account'
	FROM generate_series(1, $1::integer) AS n, generate_series(1, 2) AS k`,
	`INSERT INTO usage_hours (account_id, period, hour, key_id, agent, chain, service, method, class, outcome, source, tier, requests, units)
	SELECT lpad(to_hex(n), 32, '0')::uuid, '2026-10-01', '2026-10-03'::timestamptz + (r / 4) * interval '1 hour', (to_hex(1 + r % 2) || lpad(to_hex(n), 31, '0'))::uuid, '',
		(ARRAY['eth_mainnet', 'base_mainnet', 'solana_mainnet'])[1 + r % 3], 'rpc', 'method ' || r % 4,
		(ARRAY['standard', 'heavy'])[1 + r % 2], (ARRAY['ok', 'ok', 'hit', 'rate_window'])[1 + r % 4], CASE WHEN r % 4 < 2 THEN 'plan' ELSE '' END, 'balanced',
		1 + r % 7, CASE WHEN r % 4 < 2 THEN (1 + r % 7) * 500 ELSE 0 END
	FROM generate_series(1, $1::integer) AS n, generate_series(1, ` + fmt.Sprint(usageRows) + `) AS r`,
	`INSERT INTO usage_periods (account_id, period, requests, billable, hits, refused, refunded, units, plan_units, pack_units)
	SELECT account_id, period, sum(requests), coalesce(sum(requests) FILTER (WHERE outcome = 'ok'), 0), coalesce(sum(requests) FILTER (WHERE outcome = 'hit'), 0),
		coalesce(sum(requests) FILTER (WHERE outcome NOT IN ('ok', 'hit')), 0), 0, sum(units), sum(units) FILTER (WHERE source = 'plan'), 0
	FROM usage_hours WHERE $1::integer > 0 GROUP BY 1, 2`,
	`INSERT INTO usage_watermarks (shard, watermark) SELECT n, '2026-11-01 00:05:00Z' FROM generate_series(0, ` +
		fmt.Sprint(account.Shards-1) + `) AS n WHERE $1::integer > 0`,
}

// measureStatements closes a month for increasing numbers of accounts, each with a hundred rows of
// usage, as the daily sweep does.
func measureStatements(ctx context.Context, r *rig, _ options, report *report) (err error) {
	l, err := r.ledger(ctx, devstack.Redis, devstack.PostgreSQL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close(ctx)) }()
	if err := l.migrate(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	s, err := store.Open(ctx, l.stack.DatabaseURL)
	if err != nil {
		return err
	}
	defer s.Close()
	var costs []float64
	for _, accounts := range statementSizes {
		if err := l.fillMonth(ctx, accounts); err != nil {
			return fmt.Errorf("make a month of %d accounts: %w", accounts, err)
		}
		took, heap, err := closeMonth(ctx, s, accounts)
		if err != nil {
			return err
		}
		if err := l.checkStatements(ctx, accounts); err != nil {
			return err
		}
		costs = append(costs, took.Seconds()*1e6/float64(accounts))
		name, wanted := fmt.Sprintf("%s_%d", statementsName, accounts), bar{}
		if accounts == statementSizes[len(statementSizes)-1] {
			name, wanted = statementsName, statementsBar
			report.add(result{name, heapKey, heap, 1, heapBar})
		}
		report.add(result{name, secondsKey, took.Seconds(), 1, wanted})
		report.add(result{name, perAccountKey, costs[len(costs)-1], 0, bar{}})
	}
	report.add(result{statementsName, growthKey, costs[len(costs)-1] / costs[0], 2, growthBar})
	return nil
}

func (l *ledger) fillMonth(ctx context.Context, accounts int) error {
	return l.query(ctx, func(c *pgx.Conn) error {
		if _, err := c.Exec(ctx, emptyMonth); err != nil {
			return err
		}
		for _, step := range fillSteps {
			if _, err := c.Exec(ctx, step, accounts); err != nil {
				return err
			}
		}
		_, err := c.Exec(ctx, "ANALYZE accounts, keys, usage_hours, usage_periods")
		return err
	})
}

// closeMonth sweeps all accounts. It returns the time and the largest heap.
func closeMonth(ctx context.Context, s *store.Store, accounts int) (took time.Duration, heapMB float64, err error) {
	at := time.Date(2026, time.November, 1, 0, 10, 0, 0, time.UTC)
	compiler := &statement.Compiler{Store: s, Now: func() time.Time { return at }}
	stop, largest := watchHeap()
	begun := time.Now()
	var after account.ID
	closed := 0
	for end := false; !end && err == nil; {
		var page statement.Swept
		page, err = compiler.Sweep(ctx, after, statement.SweepPage, func() {}, slog.New(slog.DiscardHandler))
		after, end, closed = page.Last, page.End, closed+page.Closed
	}
	took = time.Since(begun)
	stop()
	if err == nil && closed != accounts {
		err = fmt.Errorf("%d of %d statements were closed", closed, accounts)
	}
	return took, largest(), err
}

// watchHeap samples the heap until stop is called. largest then returns its maximum in MB.
func watchHeap() (stop func(), largest func() float64) {
	done := make(chan struct{})
	var looking sync.WaitGroup
	var limit uint64
	looking.Go(func() {
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			metrics.Read(sample)
			limit = max(limit, sample[0].Value.Uint64())
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	return func() { close(done); looking.Wait() }, func() float64 { return float64(limit) / 1e6 }
}

// checkStatements compares the closed statements with the usage.
func (l *ledger) checkStatements(ctx context.Context, accounts int) error {
	return l.query(ctx, func(c *pgx.Conn) error {
		var same int
		err := c.QueryRow(ctx, `SELECT count(*) FROM statements JOIN usage_periods AS p USING (account_id, period)
			WHERE ROW(statements.requests, statements.billable, statements.hits, statements.refused, statements.units) = ROW(p.requests, p.billable, p.hits, p.refused, p.units)`).Scan(&same)
		if err == nil && same != accounts {
			err = fmt.Errorf("%d of %d statements say what was used", same, accounts)
		}
		return err
	})
}
