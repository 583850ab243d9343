package migrations_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/migrations"
)

// beforeSums is the newest version without rollups of the hours.
const beforeSums = 28

func openBeforeSums(ctx context.Context, t *testing.T) (*sql.DB, *goose.Provider) {
	t.Helper()
	db, err := sql.Open("pgx", testkit.EmptyPostgres(t)) //nolint:contextcheck // the kit has its own
	if err != nil {
		t.Fatal(err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = provider.Close() })
	if _, err := provider.UpTo(ctx, beforeSums); err != nil {
		t.Fatal(err)
	}
	return db, provider
}

// Two accounts with two keys over three days. The second day ends a period at noon, and calls are
// refunded, some of them into the previous period.
const hoursBeforeSums = `
INSERT INTO usage_hours
SELECT
    ('00000000-0000-0000-0000-00000000000' || a)::uuid,
    CASE WHEN h < 36 OR (h < 60 AND o = 2) THEN date '2026-11-01' ELSE date '2026-11-05' END,
    timestamptz '2026-11-04T00:00:00Z' + make_interval(hours => h),
    ('00000000-0000-0000-0000-0000000000' || a || k)::uuid,
    CASE WHEN k = 1 THEN '' ELSE 'agent' END,
    (ARRAY['eth_mainnet', 'base_mainnet'])[1 + h % 2], 'rpc', (ARRAY['eth_call', 'eth_getLogs', ''])[1 + h % 3], (ARRAY['standard', 'heavy'])[1 + h % 2],
    (ARRAY['ok', 'refund', 'hit', 'rate_window'])[o], (ARRAY['plan', 'plan', '', ''])[o], 'balanced',
    (ARRAY[7, -2, 3, 5])[o] + CASE WHEN o = 2 THEN 0 ELSE h % 4 END, (ARRAY[7000, -2000, 0, 0])[o] * (1 + h % 5)
FROM generate_series(1, 2) AS a, generate_series(1, 2) AS k, generate_series(0, 71) AS h, generate_series(1, 4) AS o;
INSERT INTO latency_hours
SELECT
    ('00000000-0000-0000-0000-00000000000' || a)::uuid,
    timestamptz '2026-11-04T00:00:00Z' + make_interval(hours => h),
    ('00000000-0000-0000-0000-0000000000' || a || k)::uuid,
    (ARRAY['eth_mainnet', 'base_mainnet'])[1 + h % 2], (ARRAY['rpc', 'utils'])[1 + h % 3 / 2], (ARRAY['standard', 'heavy'])[1 + h % 2], o,
    ARRAY[h % 5, 10 + h % 3]::smallint[], ARRAY[1 + h % 7, 2 + k]::bigint[]
FROM generate_series(1, 2) AS a, generate_series(1, 2) AS k, generate_series(0, 71) AS h, unnest(ARRAY['ok', 'hit']) AS o;
INSERT INTO accounts (id, kind, plan) VALUES ('00000000-0000-0000-0000-000000000001', 'owner', 'pro');
INSERT INTO usage_periods (account_id, period, requests, billable, hits, refused, refunded, units, plan_units, pack_units)
SELECT '00000000-0000-0000-0000-000000000001'::uuid, period, 1, 1, 0, 0, 0, 1, 1, 0 FROM unnest(ARRAY[date '2026-11-01', date '2026-11-05']) AS period;
INSERT INTO statements (account_id, period, starts_at, ends_at, requests, billable, hits, refused, refunded, units, plan_units, pack_units, content, content_hash)
SELECT account_id, period, now() - interval '1 day', now(), 1, 1, 0, 0, 0, 1, 1, 0, 'x', sha256('x') FROM usage_periods WHERE period = '2026-11-01';`

// sumsOfHours holds, for each rollup, a query over the hours and one over the rollup, which must
// return the same rows in any order.
var sumsOfHours = map[string][2]string{
	"usage_days": {
		`SELECT account_id, period, key_id, date_trunc('day', hour, 'UTC'), agent, chain, service, method, class, outcome, source, tier, sum(requests), sum(units)
		FROM usage_hours GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12`,
		`SELECT account_id, period, key_id, day, agent, chain, service, method, class, outcome, source, tier, ` +
			`requests, units FROM usage_days`,
	},
	"account_hours": {
		`SELECT account_id, period, hour, chain, service, method, class, outcome, source, tier, sum(requests), sum(units)
		FROM usage_hours GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10`,
		`SELECT account_id, period, hour, chain, service, method, class, outcome, source, tier, requests, units FROM ` +
			`account_hours`,
	},
	"account_days": {
		`SELECT account_id, period, date_trunc('day', hour, 'UTC'), chain, service, method, class, outcome, source, tier, sum(requests), sum(units)
		FROM usage_hours GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10`,
		`SELECT account_id, period, day, chain, service, method, class, outcome, source, tier, requests, units FROM ` +
			`account_days`,
	},
	"latency_days": {
		`SELECT account_id, key_id, date_trunc('day', hour, 'UTC'), chain, service, class, outcome, b, sum(c)
		FROM latency_hours, unnest(buckets, calls) AS pair (b, c) GROUP BY 1, 2, 3, 4, 5, 6, 7, 8`,
		`SELECT account_id, key_id, day, chain, service, class, outcome, b, c FROM latency_days, unnest(buckets, ` +
			`calls) AS pair (b, c)`,
	},
	"account_latency_hours": {
		`SELECT account_id, hour, chain, outcome, b, sum(c) FROM latency_hours, unnest(buckets, calls) AS pair (b, ` +
			`c) GROUP BY 1, 2, 3, 4, 5`,
		`SELECT account_id, hour, chain, outcome, b, c FROM account_latency_hours, unnest(buckets, calls) AS pair (b,` +
			` c)`,
	},
	"account_latency_days": {
		`SELECT account_id, date_trunc('day', hour, 'UTC'), chain, outcome, b, sum(c)
		FROM latency_hours, unnest(buckets, calls) AS pair (b, c) GROUP BY 1, 2, 3, 4, 5`,
		`SELECT account_id, day, chain, outcome, b, c FROM account_latency_days, unnest(buckets, calls) AS pair (b, c)`,
	},
}

func TestSums_AreFilledFromTheExistingHours(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, provider := openBeforeSums(ctx, t)
	if _, err := db.ExecContext(ctx, hoursBeforeSums); err != nil {
		t.Fatal(err)
	}
	if _, err := provider.Up(ctx); err != nil {
		t.Fatal(err)
	}
	for table, of := range sumsOfHours {
		var rows, missing, wrong int
		query := "WITH want AS (" + of[0] + "), got AS (" + of[1] + ") SELECT (SELECT count(*) FROM got), " +
			"(SELECT count(*) FROM (TABLE want EXCEPT ALL TABLE got) AS m), (SELECT count(*) FROM (TABLE got EXCEPT " +
			"ALL TABLE want) AS w)"
		if err := db.QueryRowContext(ctx, query).Scan(&rows, &missing, &wrong); err != nil {
			t.Fatal(table, err)
		}
		in := expect.In(t, "%s", table)
		expect.NotEqual(in, rows, 0)
		expect.Equal(in, missing, 0)
		expect.Equal(in, wrong, 0)
	}
	// The day on which a period ends has rows of both periods.
	var periods int
	if err := db.QueryRowContext(ctx,
		"SELECT count(DISTINCT period) FROM account_days WHERE day = '2026-11-05T00:00:00Z'").Scan(
		&periods); err != nil || periods != 2 {
		t.Errorf("the day of the change has %d periods, %v", periods, err)
	}
	var unstated string
	if err := db.QueryRowContext(ctx, "SELECT string_agg(period::text, ' ') FROM usage_periods WHERE NOT stated").Scan(
		&unstated); err != nil || unstated != "2026-11-05" {
		t.Errorf("periods without a statement are %q, %v", unstated, err)
	}
}

// A flush enters its buckets in the ledger and then adds to the hours. A migration that locked
// these in the other order would deadlock with it.
func TestSums_WaitForAFlushUnderWay(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	db, provider := openBeforeSums(ctx, t)
	flush, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = flush.Rollback() }()
	const enter = "INSERT INTO usage_flushes (shard, slot, account_id, generation) VALUES (0, now(), " +
		"'00000000-0000-0000-0000-000000000001', 'g')"
	if _, err := flush.ExecContext(ctx, enter); err != nil {
		t.Fatal(err)
	}
	migrated := make(chan error, 1)
	go func() {
		_, err := provider.Up(ctx)
		migrated <- err
	}()
	waits := false
	for !waits { // until the migration waits for the flush
		const query = "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM " +
			"pg_database WHERE datname = current_database()))"
		if err := db.QueryRowContext(ctx, query).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	const add = `INSERT INTO usage_hours VALUES ('00000000-0000-0000-0000-000000000001', '2026-11-01', '2026-11-04T00:00:00Z',
		'00000000-0000-0000-0000-000000000011', '', '', 'rpc', '', '', 'ok', 'plan', '', 1, 1000)`
	if _, err := flush.ExecContext(ctx, "SET LOCAL lock_timeout = '100ms'; "+add); err != nil {
		t.Errorf("the flush cannot go on: %v", err)
	}
	if err := flush.Commit(); err != nil {
		t.Error(err)
	}
	if err := <-migrated; err != nil {
		t.Fatalf("the migration ended with %v", err)
	}
	var units int64
	if err := db.QueryRowContext(ctx, "SELECT sum(units) FROM account_days").Scan(&units); err != nil || units != 1000 {
		t.Errorf("what was flushed meanwhile is %d units in the days, %v", units, err)
	}
}
