package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/chainaccess/gateway/internal/devstack/process"
)

// restartable is a PostgreSQL that tests can stop and restart.
type restartable struct {
	starter  *starter
	cluster  cluster
	process  *process.Process
	port     int
	adminURL string
}

func (r *restartable) stop(ctx context.Context) error { return r.process.Stop(ctx) }

var errNotRestartable = errors.New(
	"the stack has no PostgreSQL of its own that can be restarted: set Options.Restartable")

// StopPostgres stops a restartable PostgreSQL as pg_ctl stop -m immediate does: sessions are
// aborted, and the next start recovers from the WAL. It is not safe for concurrent use with
// StartPostgres or Close.
func (s *Stack) StopPostgres() error {
	if s.postgres == nil {
		return errNotRestartable
	}
	if err := s.postgres.process.Signal(syscall.SIGQUIT); err != nil {
		return err
	}
	<-s.postgres.process.Exited()
	return nil
}

// StartPostgres restarts a restartable PostgreSQL at the same address and waits until it is ready.
func (s *Stack) StartPostgres(ctx context.Context) error {
	r := s.postgres
	if r == nil {
		return errNotRestartable
	}
	p, err := r.starter.launch(ctx, func() (attempt, error) {
		ready := func(ctx context.Context, _ *process.Process) error { return ensureDatabase(ctx, r.adminURL) }
		return attempt{r.starter.postgresSpec(r.cluster, r.port), ready}, nil
	})
	if err != nil {
		return err
	}
	r.process = p
	return nil
}

// backup returns the directory of BackUpPostgres' copy.
func (c cluster) backup() string { return filepath.Join(c.home, "backup") }

// BackUpPostgres copies the files of a stopped restartable PostgreSQL. It replaces an earlier copy.
func (s *Stack) BackUpPostgres(ctx context.Context) error {
	if s.postgres == nil {
		return errNotRestartable
	}
	return replaceDirectory(ctx, s.postgres.cluster.data(), s.postgres.cluster.backup())
}

// RestorePostgres replaces the data of a stopped restartable PostgreSQL with the copy of
// BackUpPostgres. With recovery, the next start begins a new timeline, as after a point-in-time
// recovery. Without it, the server cannot tell that it was restored, as with a snapshot of a disk.
func (s *Stack) RestorePostgres(ctx context.Context, recovery bool) error {
	if s.postgres == nil {
		return errNotRestartable
	}
	c := s.postgres.cluster
	if err := replaceDirectory(ctx, c.backup(), c.data()); err != nil || !recovery {
		return err
	}
	// There is no archive: recovery ends where the copy does.
	settings, err := os.OpenFile(filepath.Join(c.data(), "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("write the settings of the recovery: %w", err)
	}
	_, err = settings.WriteString("restore_command = 'false'\n")
	if err := errors.Join(err, settings.Close()); err != nil {
		return fmt.Errorf("write the settings of the recovery: %w", err)
	}
	return writeSecret(filepath.Join(c.data(), "recovery.signal"), "", c.owner)
}

// replaceDirectory copies a directory including owners and permissions.
func replaceDirectory(ctx context.Context, from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return fmt.Errorf("make way for a copy: %w", err)
	}
	//nolint:gosec // the stack's own directories
	if out, err := exec.CommandContext(ctx, "cp", "-a", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copy %s: %w: %s", from, err, out)
	}
	return nil
}
