package testkit

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/internal/devstack"
	"github.com/chainaccess/gateway/migrations"
)

// PostgresServer is a PostgreSQL of one test's own, which can be stopped and started again. It
// takes seconds to make: tests that do not stop it share one, and take Postgres. Its methods are
// for the test's goroutine.
type PostgresServer struct {
	// URL is a database with all migrations applied. It stays the same over Stop and Start.
	URL string

	stack *devstack.Stack
}

// OwnPostgres starts a server for the test alone and stops it when the test ends. What was
// committed outlives Stop and Start.
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
	const name = "gateway" // which the stack made
	if err := migrate(t.Context(), stack.DatabaseURL, name, migrations.FS); err != nil {
		t.Fatal(err)
	}
	return &PostgresServer{URL: stack.DatabaseURL, stack: stack}
}

// Stop ends the server at once, as pg_ctl stop -m immediate does: sessions break wherever they are.
func (p *PostgresServer) Stop(t testing.TB) {
	t.Helper()
	if err := p.stack.StopPostgres(); err != nil {
		t.Fatal(err)
	}
}

// Start runs the server again at the same address, after Stop. It recovers what was committed.
func (p *PostgresServer) Start(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), redisDeadline)
	defer cancel()
	if err := p.stack.StartPostgres(ctx); err != nil {
		t.Fatal(err)
	}
}

// BackUp keeps a copy of what is committed now; the server is stopped for it and started again.
func (p *PostgresServer) BackUp(t testing.TB) {
	t.Helper()
	p.Stop(t)
	if err := p.stack.BackUpPostgres(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Start(t)
}

// Restore takes the server back to what BackUp kept. To a point in time it begins a new timeline,
// as PostgreSQL does by itself then; otherwise nothing tells it from what was there, as when the
// snapshot of a disk is put back.
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
