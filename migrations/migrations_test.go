package migrations_test

import (
	"context"
	"database/sql"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver that goose runs through
	"github.com/pressly/goose/v3"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/migrations"
)

func TestMigrations_GoUpDownAndUpAgain(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db, err := sql.Open("pgx", testkit.EmptyPostgres(t))
	if err != nil {
		t.Fatal(err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = provider.Close() }()
	tables := func() int {
		var n int
		const query = `SELECT count(*) FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'goose_db_version'`
		if err := db.QueryRowContext(ctx, query).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if _, err := provider.Up(ctx); err != nil {
		t.Fatal(err)
	}
	made := tables()
	if made == 0 {
		t.Fatal("the migrations made no table")
	}
	if _, err := provider.DownTo(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if left := tables(); left != 0 {
		t.Errorf("%d tables are left after going down", left)
	}
	if _, err := provider.Up(ctx); err != nil {
		t.Fatal(err)
	}
	if again := tables(); again != made {
		t.Errorf("%d tables after going up again, want %d", again, made)
	}
}
