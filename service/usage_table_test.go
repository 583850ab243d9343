package service_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/fault"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/service"
)

// connect opens a direct connection to PostgreSQL until the test ends.
func (o *office) connect(t *testing.T) *pgx.Conn {
	t.Helper()
	db, err := pgx.Connect(o.ctx, o.database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	return db
}

// sql executes a statement in PostgreSQL directly.
func (o *office) sql(t *testing.T, statement string, args ...any) {
	t.Helper()
	if _, err := o.connect(t).Exec(o.ctx, statement, args...); err != nil {
		t.Fatal(err)
	}
}

// days records one usage line of today for each number in a range, each with a method of its own.
func (b *books) days(t *testing.T, key account.KeyID, from, to int) {
	t.Helper()
	b.sql(t, `INSERT INTO usage_periods (account_id, period, requests, billable, hits, refused, refunded, units, plan_units, pack_units)
		VALUES ($1, $2::date, 1, 1, 0, 0, 0, 1000, 1000, 0) ON CONFLICT DO NOTHING`, b.id.UUID, b.period)
	b.sql(t, `INSERT INTO usage_days (account_id, period, key_id, day, agent, chain, service, method, class, outcome, source, tier, requests, units)
		SELECT $1, $2::date, $3, $4::timestamptz, '', 'eth_mainnet', 'rpc', 'm' || n, 'standard', 'ok', 'plan', 'balanced', 1, 1000
		FROM generate_series($5::integer, $6::integer) AS n`, b.id.UUID, b.period, key.UUID,
		noon.Truncate(24*time.Hour), from, to)
}

func TestUsageTable_HasAllItsLinesOrIsRefused(t *testing.T) {
	t.Parallel()
	if service.MaxLines != 100_000 { // docs/decisions/0077; spreadsheet programs open a million lines
		t.Errorf("a table has at most %d lines", service.MaxLines)
	}
	const most = 1_200
	b := openBooks(t, atNoon)
	b.BoundTables(most)
	b.days(t, b.keyID, 1, most)
	table := must[service.UsageTable](t)(b.ExportUsage.Invoke(b.ctx, b.ann, service.ExploreUsageInput{}))
	if rows := tableRows(t, table.Text); len(rows) != most {
		t.Errorf("%d lines are a table of %d", most, len(rows))
	}
	b.days(t, b.keyID, most+1, most+1)
	_, refusal := b.ExportUsage.Invoke(b.ctx, b.ann, service.ExploreUsageInput{})
	if refusal == nil || refusal.Reason != fault.FieldRefused || refusal.Data["most_rows"] != most ||
		!strings.Contains(refusal.Message, "more than 1,200 rows") {
		t.Errorf("one more is answered with %v", refusal)
	}
	// The smaller range that the refusal suggests is accepted.
	if _, refusal := b.ExportUsage.Invoke(b.ctx, b.ann, service.ExploreUsageInput{
		Chain: "base_mainnet",
	}); refusal != nil {
		t.Errorf("a chain of them is refused: %v", refusal)
	}
}

func TestUsageTable_IsMadeOneAtATimePerAccount(t *testing.T) {
	t.Parallel()
	b := openBooks(t, atNoon)
	b.days(t, b.keyID, 1, 3)
	db := b.connect(t)
	held, err := db.Begin(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := held.Exec(b.ctx, "LOCK TABLE usage_days IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	first := make(chan *fault.Error, 2)
	export := func(c *service.Caller) {
		_, refusal := b.ExportUsage.Invoke(b.ctx, c, service.ExploreUsageInput{})
		first <- refusal
	}
	waiting := func(n int) func() bool {
		return func() bool {
			var found int
			err := held.QueryRow(b.ctx,
				"SELECT count(*) FROM pg_locks WHERE relation = 'usage_days'::regclass AND NOT granted").Scan(&found)
			return err == nil && found == n
		}
	}
	go export(b.ann)
	testkit.Eventually(t, 30*time.Second, waiting(1), "the first table waits for its lines")
	_, refusal := b.ExportUsage.Invoke(b.ctx, b.ann, service.ExploreUsageInput{Range: "30d"})
	if refusal == nil || refusal.Reason != fault.RateWindow || refusal.RetryAfter <= 0 ||
		!strings.Contains(refusal.Message, "one is made at a time") {
		t.Errorf("a second table is answered with %v", refusal)
	}
	go export(b.eve) // of another account
	testkit.Eventually(t, 30*time.Second, waiting(2), "another account's table waits for its lines, too")
	if err := held.Commit(b.ctx); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if refusal := <-first; refusal != nil {
			t.Errorf("a table that was begun is refused: %v", refusal)
		}
	}
	must[service.UsageTable](t)(b.ExportUsage.Invoke(b.ctx, b.ann, service.ExploreUsageInput{}))
}
