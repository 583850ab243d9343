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

// Deployment is the identity of this deployment and its epoch.
type Deployment struct {
	ID uuid.UUID
	// Epoch grows with every restore and every new PostgreSQL cluster. Projections that an earlier
	// epoch wrote to Redis are replaced, whatever their version.
	Epoch int64
	// Begun reports whether this call began the epoch.
	Begun bool
}

// ReadDeployment reads the deployment's id and epoch. The first call creates the id. A call that
// finds another PostgreSQL than the epoch's, by system identifier or timeline, begins the next
// epoch.
func (s *Store) ReadDeployment(ctx context.Context) (Deployment, error) {
	d, err := s.readDeployment(ctx)
	if err != nil {
		return Deployment{}, fmt.Errorf("read the deployment: %w", err)
	}
	s.epoch.Store(d.Epoch)
	return d, nil
}

func (s *Store) readDeployment(ctx context.Context) (Deployment, error) {
	q := s.pool.Queries()
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
	if errors.Is(err, pgx.ErrNoRows) { // another process began it first
		row, err = q.GetDeployment(ctx)
		d.Epoch = row.Epoch
	}
	return d, err
}

// BeginEpoch begins an epoch not below least, for a restore that PostgreSQL's identifiers do not
// show.
func (s *Store) BeginEpoch(ctx context.Context, least int64) (Deployment, error) {
	server, err := s.server(ctx)
	if err != nil {
		return Deployment{}, fmt.Errorf("begin an epoch: %w", err)
	}
	params := db.BeginEpochParams{Least: least}
	if server != "" {
		params.Server = &server
	}
	if _, err = s.pool.Queries().BeginEpoch(ctx, params); err != nil {
		return Deployment{}, fmt.Errorf("begin an epoch: %w", err)
	}
	d, err := s.ReadDeployment(ctx)
	d.Begun = true
	return d, err
}

// Epoch returns the epoch that ReadDeployment found last; 0 before the first call. Take it before
// reading what is to be pushed: a push with an old epoch is refused and retried, but one with an
// epoch newer than its data would replace newer data.
func (s *Store) Epoch() int64 { return s.epoch.Load() }

// server identifies the PostgreSQL server: its system identifier, which initdb creates, and its
// timeline, which a restore and a promotion raise (PostgreSQL manual, 26.3.6). The timeline is read
// from the WAL file's name; the control file shows it only after the next checkpoint. It is empty
// on a standby, and where the functions are forbidden or missing.
func (s *Store) server(ctx context.Context) (string, error) {
	const timelineDigits = 8
	var system, file string
	err := s.pool.QueryRow(ctx,
		`SELECT system_identifier::text, CASE WHEN pg_is_in_recovery() THEN '' ELSE pg_walfile_name(pg_current_wal_lsn()) END
FROM pg_control_system()`).Scan(&system, &file)
	// no privilege, no such function, or not available here
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok &&
		(strings.HasPrefix(refused.Code, "42") || refused.Code == "0A000" || refused.Code == "55000") {
		return "", nil
	}
	if err != nil || len(file) < timelineDigits {
		return "", err
	}
	return system + "/" + file[:timelineDigits], nil
}
