// Package devstack finds or starts the servers that the gateway needs on one machine: PostgreSQL,
// Redis and the Temporal dev server. It stops only what it started. It owns no schema and knows
// nothing about the gateway; production never links it.
package devstack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/chainaccess/gateway/internal/devstack/process"
)

// Service is the name of one of the servers.
type Service string

// The servers of a stack.
const (
	PostgreSQL Service = "PostgreSQL"
	Redis      Service = "Redis"
	Temporal   Service = "Temporal"
)

// Options configure a stack.
type Options struct {
	// DataDir holds everything that survives a stop: databases, passwords, logs. Only one stack may
	// use it at a time.
	DataDir string
	// CacheDir holds built programs; empty means .cache in the checkout that contains the working
	// directory, or the user's cache directory outside a checkout.
	CacheDir string
	// Services lists the servers to start; empty means all three.
	Services []Service
	// Headless leaves out Temporal's web UI.
	Headless bool
	// EmbeddedRedis allows an in-process Redis without persistence when the machine has no
	// redis-server.
	EmbeddedRedis bool
	// Temporary makes a stack for tests. Its data is in a new directory, is written without fsync,
	// and is removed with the stack, even when the process is killed. DataDir is ignored.
	Temporary bool
	// InMemory puts the data of a temporary stack on a file system in memory, if there is one with
	// enough room. A database per test means creating and removing some hundred files, which on a
	// disk is most of a test's cost.
	InMemory bool
	// Restartable makes a temporary stack's PostgreSQL keep committed data across StopPostgres and
	// StartPostgres.
	Restartable bool
	// TemporalPort is the port of a Temporal that is started here; zero for any free port.
	TemporalPort int

	// DatabaseURL, RedisURL and TemporalAddress name running servers. They are checked, used and
	// never stopped.
	DatabaseURL     string
	RedisURL        string
	TemporalAddress string

	// Progress receives a sentence about anything that takes longer than a second. Calls never
	// overlap. May be nil.
	Progress func(msg string)
	// Logger receives the details; nil discards them.
	Logger *slog.Logger
}

// Stack is a set of running servers.
type Stack struct {
	// DatabaseURL is a PostgreSQL URL with its password. DatabaseURL, RedisURL and TemporalAddress
	// are empty for services that were not requested.
	DatabaseURL     string
	RedisURL        string
	TemporalAddress string // host:port
	TemporalUI      string // URL of the web UI; empty when headless or when Temporal was already running
	// RedisEmbedded reports whether Redis runs in this process, without persistence.
	RedisEmbedded bool

	postgres  *restartable // nil unless Options.Restartable
	mu        sync.Mutex
	started   []component
	closing   chan struct{}
	failed    chan error
	watchers  sync.WaitGroup
	closeOnce sync.Once
	closeErr  error
}

// component is something that Close stops.
type component struct {
	name  string
	order int
	stop  func(context.Context) error
}

// The order in which Close stops components: clients before their servers.
const (
	stopTemporal = iota
	stopRedis
	stopPostgreSQL
	stopTemporary
	stopLock
)

// starter is a start in progress.
type starter struct {
	opts     Options
	programs finder
	stack    *Stack
	progress progress
	log      *slog.Logger
}

// Start finds or starts the servers of opts and waits until each is ready. If one fails, the
// servers that were started are stopped again, and the error says in one sentence what to do. When
// ctx ends first, Start returns its error.
func Start(ctx context.Context, opts Options) (*Stack, error) {
	return start(ctx, opts, systemPrograms())
}

func start(ctx context.Context, opts Options, programs finder) (*Stack, error) {
	if len(opts.Services) == 0 {
		opts.Services = []Service{PostgreSQL, Redis, Temporal}
	}
	s := &starter{
		opts: opts, programs: programs, log: opts.Logger,
		stack:    &Stack{closing: make(chan struct{}), failed: make(chan error, 1)},
		progress: progress{report: opts.Progress},
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if err := s.run(ctx); err != nil {
		closeCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
		defer cancel()
		return nil, errors.Join(err, s.stack.Close(closeCtx))
	}
	return s.stack, nil
}

// run prepares the directories, looks up every program, and then starts all servers concurrently.
func (s *starter) run(ctx context.Context) error {
	if err := s.prepare(); err != nil {
		return err
	}
	jobs, err := s.plan()
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, job := range jobs {
		group.Go(func() error { return job(ctx) })
	}
	return group.Wait()
}

// plan decides for each service whether to use, start or embed it. It finds out about a missing
// program before another one is built, which may take minutes.
func (s *starter) plan() ([]func(context.Context) error, error) {
	var jobs []func(context.Context) error
	if s.needs(PostgreSQL) {
		job, err := s.planPostgres()
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, job)
	}
	if s.needs(Redis) {
		job, err := s.planRedis()
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, job)
	}
	if s.needs(Temporal) {
		job, err := s.planTemporal()
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, job)
	}
	return jobs, nil
}

func (s *starter) needs(service Service) bool { return slices.Contains(s.opts.Services, service) }

// prepare creates the data directory and takes its lock.
func (s *starter) prepare() error {
	if s.opts.Temporary {
		return s.prepareTemporary()
	}
	if s.opts.DataDir == "" {
		return errors.New("the development stack needs a data directory: set Options.DataDir")
	}
	dir, err := filepath.Abs(s.opts.DataDir)
	if err != nil {
		return fmt.Errorf("resolve the data directory %s: %w", s.opts.DataDir, err)
	}
	s.opts.DataDir = dir
	// PostgreSQL's user may have to traverse this directory; the database's own directory is
	// private.
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o755); err != nil { //nolint:gosec // see above
		return fmt.Errorf("the data directory %s cannot be made: choose another one: %w", dir, err)
	}
	unlock, err := lockDir(dir)
	if err != nil {
		return err
	}
	s.own(component{name: "lock", order: stopLock, stop: func(context.Context) error { return unlock() }})
	return nil
}

// own makes Close stop a component.
func (s *starter) own(c component) {
	s.stack.mu.Lock()
	defer s.stack.mu.Unlock()
	s.stack.started = append(s.stack.started, c)
}

// ownProcess makes Close stop a child process, and reports on Failed when the child exits earlier.
func (s *starter) ownProcess(p *process.Process, order int) {
	s.own(component{name: p.Name(), order: order, stop: p.Stop})
	s.log.Info("server started", "server", p.Name(), "pid", p.PID(), "log", p.LogFile())
	s.stack.watchers.Go(func() {
		select {
		case <-s.stack.closing:
		case <-p.Exited():
			select {
			case s.stack.failed <- fmt.Errorf("%s stopped by itself: its log is %s", p.Name(), p.LogFile()):
			default: // only the first failure is reported; others follow from it
			}
		}
	})
}

func (s *starter) logFile(name string) string {
	return filepath.Join(s.opts.DataDir, "logs", name+".log")
}

// Failed returns a channel that receives an error when a server of the stack exits by itself. Only
// the first such error is sent.
func (s *Stack) Failed() <-chan error { return s.failed }

// Close stops what the stack started, Temporal first and PostgreSQL last. A server that does not
// stop before ctx ends is killed. Close is idempotent: further calls return the first call's error.
func (s *Stack) Close(ctx context.Context) error {
	s.closeOnce.Do(func() {
		close(s.closing)
		s.watchers.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		slices.SortStableFunc(s.started, func(a, b component) int { return a.order - b.order })
		var errs []error
		for _, c := range s.started {
			if err := c.stop(ctx); err != nil {
				errs = append(errs, fmt.Errorf("stop %s: %w", c.name, err))
			}
		}
		s.closeErr = errors.Join(errs...)
	})
	return s.closeErr
}
