package devstack

import (
	"context"
	"errors"
	"syscall"

	"github.com/chainaccess/gateway/internal/devstack/process"
)

// restartable is a PostgreSQL that tests stop and start again where it was.
type restartable struct {
	starter  *starter
	cluster  cluster
	process  *process.Process
	port     int
	adminURL string
}

func (r *restartable) stop(ctx context.Context) error { return r.process.Stop(ctx) }

var errNotRestartable = errors.New("the stack has no PostgreSQL of its own that can be restarted: set Options.Restartable")

// StopPostgres ends a restartable PostgreSQL as pg_ctl stop -m immediate does: sessions break wherever they are, and the next start
// recovers from the log. Not for concurrent use with StartPostgres or Close.
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

// StartPostgres starts a restartable PostgreSQL again at the same address, and waits until it answers.
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
