package testkit

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver for the migrations
	"github.com/pressly/goose/v3"

	"github.com/chainaccess/gateway/migrations"
)

// Postgres creates a database for one test, with all migrations applied, and returns its URL. The
// database is dropped when the test ends. The caller should close its connections before; others
// are terminated.
func Postgres(t testing.TB) string {
	t.Helper()
	return database(t, migrations.FS)
}

// EmptyPostgres creates a database without tables for one test, for tests of the migrations
// themselves.
func EmptyPostgres(t testing.TB) string {
	t.Helper()
	return database(t, nil)
}

// database copies the template with the migrations, or PostgreSQL's empty template when schema is
// nil.
func database(t testing.TB, schema fs.FS) string {
	t.Helper()
	admin := shared(t, DatabaseVariable, ownPostgres)
	conn, err := pgx.Connect(t.Context(), admin)
	if err != nil {
		t.Fatalf("connect to the PostgreSQL of the tests: %v", err)
	}
	defer func() { _ = conn.Close(t.Context()) }()

	template := "template0"
	if schema != nil {
		if template, err = ensureTemplate(t.Context(), conn, admin, schema); err != nil {
			t.Fatalf("make the template database: %v", err)
		}
	}
	name := "test_" + strings.ToLower(rand.Text())
	if err := createDatabase(t.Context(), conn, name, template); err != nil {
		t.Fatalf("make a database: %v", err)
	}
	t.Cleanup(func() { dropDatabase(t, admin, name) })
	return withDatabase(t, admin, name)
}

func dropDatabase(t testing.TB, admin, name string) {
	t.Helper()
	ctx, cancel := cleanupContext()
	defer cancel()
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		t.Errorf("connect to drop %s: %v", name, err)
		return
	}
	defer func() { _ = conn.Close(ctx) }()
	if _, err := conn.Exec(ctx, `DROP DATABASE `+quote(name)+` WITH (FORCE)`); err != nil {
		t.Errorf("drop %s: %v", name, err)
	}
}

// ensureTemplate applies the migrations once to a template database, which the tests of all test
// binaries copy. The template's name contains the digest of the migrations, and an advisory lock
// makes one process create it while the others wait.
func ensureTemplate(ctx context.Context, conn *pgx.Conn, admin string, schema fs.FS) (string, error) {
	digest, err := digestOf(schema)
	if err != nil {
		return "", err
	}
	name := "template_" + digest
	lock := fnv.New64a()
	_, _ = io.WriteString(lock, name)
	key := int64(lock.Sum64()) //nolint:gosec // any 64 bits are a valid lock key
	if _, err := conn.Exec(ctx, `SELECT pg_advisory_lock($1)`, key); err != nil {
		return "", fmt.Errorf("lock the template: %w", err)
	}
	defer func() { _, _ = conn.Exec(ctx, `SELECT pg_advisory_unlock($1)`, key) }()

	var exists bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`,
		name).Scan(&exists); err != nil || exists {
		return name, err
	}
	// It is created under another name and renamed, so that an interrupted attempt is not taken for
	// the template.
	draft := "draft_" + strings.ToLower(rand.Text())
	if err := createDatabase(ctx, conn, draft, "template0"); err != nil {
		return "", err
	}
	if err := migrate(ctx, admin, draft, schema); err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, `ALTER DATABASE `+quote(draft)+` RENAME TO `+quote(name))
	return name, err
}

func migrate(ctx context.Context, admin, database string, schema fs.FS) error {
	target, err := replaceDatabase(admin, database)
	if err != nil {
		return err
	}
	db, err := sql.Open("pgx", target)
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, schema)
	if err != nil {
		return errors.Join(fmt.Errorf("read the migrations: %w", err), db.Close())
	}
	if _, err := provider.Up(ctx); err != nil {
		return errors.Join(fmt.Errorf("apply the migrations: %w", err), provider.Close())
	}
	return provider.Close()
}

// createDatabase copies the template. It retries for a while, because PostgreSQL refuses while
// anything is connected to the template, including its own maintenance.
func createDatabase(ctx context.Context, conn *pgx.Conn, name, template string) error {
	const tries = 20
	for n := 1; ; n++ {
		_, err := conn.Exec(ctx, `CREATE DATABASE `+quote(name)+` TEMPLATE `+quote(template))
		inUse, ok := errors.AsType[*pgconn.PgError](err)
		if err == nil || !ok || inUse.Code != "55006" || n == tries {
			return err
		}
	}
}

func digestOf(schema fs.FS) (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(schema, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(schema, path)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil))[:24], err
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }

func withDatabase(t testing.TB, admin, name string) string {
	t.Helper()
	target, err := replaceDatabase(admin, name)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func replaceDatabase(admin, name string) (string, error) {
	u, err := url.Parse(admin)
	if err != nil {
		// The cause is omitted: it quotes the URL with its password.
		return "", errors.New(DatabaseVariable +
			" is not a URL: write it as postgres://user:password@host:port/database")
	}
	u.Path = "/" + name
	return u.String(), nil
}
