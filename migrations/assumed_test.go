package migrations_test

import (
	"database/sql"
	"testing"

	"github.com/pressly/goose/v3"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/migrations"
)

// Programs before version 33 did not store whether a customer's country was taken from the network,
// so none of those countries counts as declared.
func TestMigration_AssumesEarlierCountries(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db, err := sql.Open("pgx", testkit.EmptyPostgres(t))
	if err != nil {
		t.Fatal(err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = provider.Close() })
	if _, err := provider.UpTo(ctx, 32); err != nil {
		t.Fatal(err)
	}
	const before = `WITH a AS (INSERT INTO accounts (id, kind, plan) SELECT gen_random_uuid(), 'owner', 'free' FROM generate_series(1, 2) RETURNING id)
		INSERT INTO billing_customers (account_id, customer, country)
		SELECT id, 'cus_' || row_number() OVER (), CASE row_number() OVER () WHEN 1 THEN 'US' ELSE '' END FROM a`
	if _, err := db.ExecContext(ctx, before); err != nil {
		t.Fatal(err)
	}
	if _, err := provider.Up(ctx); err != nil {
		t.Fatal(err)
	}
	var got string
	if err := db.QueryRowContext(ctx,
		"SELECT string_agg(country || ' ' || country_assumed, ',' ORDER BY country) FROM billing_customers").Scan(
		&got); err != nil || got != " false,US true" {
		t.Errorf("they are %q, %v", got, err)
	}
}
