package wire

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver that goose speaks to PostgreSQL with
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/chainaccess/gateway/migrations"
)

// Direction says what Migrate does.
type Direction string

// The directions: apply what is pending, undo the newest, list.
const (
	Up     Direction = "up"
	Down   Direction = "down"
	Status Direction = "status"
)

// Migrate brings the schema up to date, takes the newest migration back, or lists them, and says on
// out what it did. Several processes may call it at once: a lock in PostgreSQL lets one at a time
// work.
func Migrate(ctx context.Context, databaseURL string, d Direction, out io.Writer) (err error) {
	db, err := sql.Open("pgx", databaseURL)
	if err != nil {
		return errors.New(
			"DATABASE_URL is not a PostgreSQL address: expected postgres://user:password@host:5432/database")
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := db.PingContext(ctx); err != nil {
		return unreachable("DATABASE_URL", "PostgreSQL", err)
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
