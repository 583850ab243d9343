package apitest

import (
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// DropDatabase takes PostgreSQL away from the gateway for good.
func (g *Gateway) DropDatabase() {
	g.T.Helper()
	g.recordTime = 10 * time.Millisecond // no write can succeed
	u, err := url.Parse(g.Database)
	g.Must(err)
	name := strings.TrimPrefix(u.Path, "/")
	u.Path = "/postgres"
	conn, err := pgx.Connect(g.T.Context(), u.String())
	g.Must(err)
	defer func() { _ = conn.Close(context.Background()) }()
	// Refuse new connections, then terminate the existing ones.
	_, err = conn.Exec(g.T.Context(), `ALTER DATABASE `+pgx.Identifier{name}.Sanitize()+` ALLOW_CONNECTIONS false`)
	g.Must(err)
	_, err = conn.Exec(g.T.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1`, name)
	g.Must(err)
}

// BrokenRandom is a source of randomness that panics.
type BrokenRandom struct{}

// Read implements io.Reader.
func (BrokenRandom) Read([]byte) (int, error) { panic("a defect in the source of randomness") }
