package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/chainaccess/gateway/store/db"
)

// Deployment is what the record says of itself.
type Deployment struct {
	ID uuid.UUID
	// Epoch grows with every restore and every new cluster. Whatever an earlier epoch put into
	// Redis is replaced, whatever its version.
	Epoch int64
	// Begun reports whether this look began the epoch.
	Begun bool
}

// ReadDeployment reads which deployment this is, and in which epoch. The first look makes the id; a
// look that finds another PostgreSQL than the epoch's, by system identifier or timeline, begins the
// next one.
func (s *Store) ReadDeployment(ctx context.Context) (Deployment, error) {
	d, err := s.readDeployment(ctx)
	if err != nil {
		return Deployment{}, fmt.Errorf("read the deployment: %w", err)
	}
	s.epoch.Store(d.Epoch)
	return d, nil
}

func (s *Store) readDeployment(ctx context.Context) (Deployment, error) {
	q := s.queries()
	row, err := q.GetDeployment(ctx)
	if err != nil {
		return Deployment{}, err
	}
	d := Deployment{Epoch: row.Epoch}
	if row.ID != nil {
		d.ID = *row.ID
	} else if d.ID, err = q.ClaimDeploymentID(ctx, uuid.New()); err != nil {
		return Deployment{}, err
	}
	server, err := s.server(ctx)
	switch {
	case err != nil:
		return Deployment{}, err
	case server == "" || (row.Server != nil && *row.Server == server):
		return d, nil
	case row.Server == nil:
		return d, q.NoteServer(ctx, server)
	}
	d.Epoch, err = q.BeginEpochAt(ctx, server)
	d.Begun = err == nil
	if errors.Is(err, pgx.ErrNoRows) { // another process was first
		row, err = q.GetDeployment(ctx)
		d.Epoch = row.Epoch
	}
	return d, err
}

// BeginEpoch begins an epoch that is at least least, for a restore that PostgreSQL does not tell
// of.
func (s *Store) BeginEpoch(ctx context.Context, least int64) (Deployment, error) {
	server, err := s.server(ctx)
	if err != nil {
		return Deployment{}, fmt.Errorf("begin an epoch: %w", err)
	}
	params := db.BeginEpochParams{Least: least}
	if server != "" {
		params.Server = &server
	}
	if _, err = s.queries().BeginEpoch(ctx, params); err != nil {
		return Deployment{}, fmt.Errorf("begin an epoch: %w", err)
	}
	d, err := s.ReadDeployment(ctx)
	d.Begun = true
	return d, err
}

// Epoch is the epoch that ReadDeployment found last; 0 before. Take it before what is to be put in
// force is read: with an epoch that is too old a push is refused and made again, with one that is
// too new it would replace what is newer.
func (s *Store) Epoch() int64 { return s.epoch.Load() }

// server names the PostgreSQL that answers: its system identifier, which initdb makes, and its
// timeline, which a restore and a promotion raise (PostgreSQL manual, 26.3.6). The name of the
// write-ahead log's file has the timeline at once, the control file only after the next checkpoint.
// Empty where the functions are forbidden or missing, and on a standby.
func (s *Store) server(ctx context.Context) (string, error) {
	const timelineDigits = 8
	var system, file string
	err := s.pool.QueryRow(ctx,
		`SELECT system_identifier::text, CASE WHEN pg_is_in_recovery() THEN '' ELSE pg_walfile_name(pg_current_wal_lsn()) END
FROM pg_control_system()`).Scan(&system, &file)
	// no rights, no such function, or not here
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok &&
		(strings.HasPrefix(refused.Code, "42") || refused.Code == "0A000" || refused.Code == "55000") {
		return "", nil
	}
	if err != nil || len(file) < timelineDigits {
		return "", err
	}
	return system + "/" + file[:timelineDigits], nil
}
