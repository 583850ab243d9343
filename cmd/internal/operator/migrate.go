package operator

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver that goose uses
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/chainaccess/gateway/cmd/internal/connect"
	"github.com/chainaccess/gateway/migrations"
)

// Direction is what Migrate does.
type Direction string

// Directions: apply pending migrations, revert the newest, list all.
const (
	Up     Direction = "up"
	Down   Direction = "down"
	Status Direction = "status"
)

// Migrate applies pending migrations, reverts the newest, or lists all, and reports on out. Several
// processes may call it concurrently: a PostgreSQL advisory lock serializes them.
func Migrate(ctx context.Context, databaseURL string, d Direction, out io.Writer) (err error) {
	db, err := sql.Open("pgx", databaseURL)
	if err != nil {
		return errors.New(
			"DATABASE_URL is not a PostgreSQL address: expected postgres://user:password@host:5432/database")
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.PingContext(ctx); err != nil {
		return connect.Unreachable("DATABASE_URL", "PostgreSQL", err)
	}
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS, goose.WithSessionLocker(locker))
	if err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	switch d {
	case Up:
		results, err := provider.Up(ctx)
		for _, r := range results {
			fmt.Fprintln(out, r)
		}
		if err == nil && len(results) == 0 {
			fmt.Fprintln(out, "nothing to do: the schema is up to date")
		}
		return err
	case Down:
		result, err := provider.Down(ctx)
		if result != nil {
			fmt.Fprintln(out, result)
		}
		return err
	case Status:
		list, err := provider.Status(ctx)
		for _, m := range list {
			fmt.Fprintf(out, "%-8s %s\n", m.State, m.Source.Path)
		}
		return err
	}
	return fmt.Errorf("migrate takes up, down or status, not %q", d)
}
