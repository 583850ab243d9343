package testkit

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/internal/devstack"
	"github.com/chainaccess/gateway/migrations"
)

// PostgresServer is a PostgreSQL for one test, which can be stopped and restarted. It takes seconds
// to start, so tests that do not stop it should use Postgres. Its methods must be called from the
// test's goroutine.
type PostgresServer struct {
	// URL names a database with all migrations applied. It is the same after Stop and Start.
	URL string

	stack *devstack.Stack
}

// OwnPostgres starts a server for one test and stops it when the test ends. Committed data survives
// Stop and Start.
func OwnPostgres(t testing.TB) *PostgresServer {
	t.Helper()
	stack, err := devstack.Start(t.Context(), devstack.Options{
		Temporary: true, InMemory: true, Restartable: true, Services: []devstack.Service{devstack.PostgreSQL},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := cleanupContext()
		defer cancel()
		if err := stack.Close(ctx); err != nil {
			t.Errorf("stop PostgreSQL: %v", err)
		}
	})
	const name = "gateway" // created by the stack
	if err := migrate(t.Context(), stack.DatabaseURL, name, migrations.FS); err != nil {
		t.Fatal(err)
	}
	return &PostgresServer{URL: stack.DatabaseURL, stack: stack}
}

// Stop stops the server as pg_ctl stop -m immediate does: sessions are aborted.
func (p *PostgresServer) Stop(t testing.TB) {
	t.Helper()
	if err := p.stack.StopPostgres(); err != nil {
		t.Fatal(err)
	}
}

// Start restarts the server at the same address after Stop. It recovers what was committed.
func (p *PostgresServer) Start(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), redisDeadline)
	defer cancel()
	if err := p.stack.StartPostgres(ctx); err != nil {
		t.Fatal(err)
	}
}

// BackUp copies the committed data. It stops the server and restarts it.
func (p *PostgresServer) BackUp(t testing.TB) {
	t.Helper()
	p.Stop(t)
	if err := p.stack.BackUpPostgres(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Start(t)
}

// Restore restores what BackUp copied. With pointInTime, PostgreSQL begins a new timeline, as after
// a point-in-time recovery. Without it, the server cannot tell that it was restored, as with a
// snapshot of a disk.
func (p *PostgresServer) Restore(t testing.TB, pointInTime bool) {
	t.Helper()
	p.Stop(t)
	if err := p.stack.RestorePostgres(t.Context(), pointInTime); err != nil {
		t.Fatal(err)
	}
	p.Start(t)
	Eventually(t, redisDeadline, func() bool {
		conn, err := pgx.Connect(t.Context(), p.URL)
		if err != nil {
			return false
		}
		defer func() { _ = conn.Close(t.Context()) }()
		var recovers bool
		return conn.QueryRow(t.Context(), "SELECT pg_is_in_recovery()").Scan(&recovers) == nil && !recovers
	}, "PostgreSQL has recovered")
}
