// Package devstack finds or starts the servers that the gateway stands on, for one machine:
// PostgreSQL, Redis and the Temporal dev server. It stops what it started and nothing else. It owns
// no schema and knows nothing of the gateway itself; production never links it.
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

// Service names one of the servers.
type Service string

// The servers that a stack is made of.
const (
	PostgreSQL Service = "PostgreSQL"
	Redis      Service = "Redis"
	Temporal   Service = "Temporal"
)

// Options says what a stack is made of.
type Options struct {
	// DataDir holds everything that outlives a stop: databases, passwords, logs. One stack at a
	// time uses it.
	DataDir string
	// CacheDir holds programs that were built; empty means .cache of the checkout around the
	// working directory, or the user's cache directory outside a checkout.
	CacheDir string
	// Services lists what is needed; empty means all three.
	Services []Service
	// Headless leaves out Temporal's web UI.
	Headless bool
	// EmbeddedRedis allows an in-process Redis, which keeps nothing, when the machine has no
	// redis-server.
	EmbeddedRedis bool
	// Temporary makes a stack for tests: its data lives in a fresh directory, is written without
	// waiting for the disk and is removed with the stack, also when the process is killed. DataDir
	// is ignored.
	Temporary bool
	// InMemory has the data of a temporary stack lie in memory, on a machine that has a file system
	// for that with room enough. A database per test is some hundred files to make and to remove:
	// on a disk's file system that is most of what a test costs.
	InMemory bool
	// Restartable is for a temporary stack whose PostgreSQL is stopped and started again by
	// StopPostgres and StartPostgres: it keeps what was committed.
	Restartable bool
	// TemporalPort is where a Temporal listens that is started here; zero for any free port.
	TemporalPort int

	// DatabaseURL, RedisURL and TemporalAddress name servers that run already. They are checked,
	// used and never stopped.
	DatabaseURL     string
	RedisURL        string
	TemporalAddress string

	// Progress receives one sentence whenever something takes longer than a second. Calls never
	// overlap. May be nil.
	Progress func(msg string)
	// Logger receives the details; nil discards them.
	Logger *slog.Logger
}

// Stack is a set of running servers.
type Stack struct {
	// DatabaseURL is a PostgreSQL URL with its password; empty when PostgreSQL was not asked for.
	// The same holds for the others.
	DatabaseURL     string
	RedisURL        string
	TemporalAddress string // host:port
	TemporalUI      string // URL of the web UI; empty when headless or when Temporal ran already
	// RedisEmbedded holds when Redis runs inside this process and forgets everything at the stop.
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

// component is one thing that Close ends.
type component struct {
	name  string
	order int
	stop  func(context.Context) error
}

// The order in which Close ends components: what uses comes before what is used.
const (
	stopTemporal = iota
	stopRedis
	stopPostgreSQL
	stopTemporary
	stopLock
)

// starter is one start in progress.
type starter struct {
	opts     Options
	programs finder
	stack    *Stack
	progress progress
	log      *slog.Logger
}

// Start finds or starts the servers of opts and waits until each answers. When one cannot be had,
// those that were started are stopped again and the error says in one sentence what to do. When ctx
// ends first, its error is returned.
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

// run prepares the directories, looks every program up before anything is started, and then starts
// all servers at once.
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

// plan decides for each service whether to use, start or embed it. A missing program is found here,
// before the minutes that building another one may take.
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

// prepare makes the data directory and takes its lock.
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
	// Another user may have to pass through on the way to the database, which is closed itself.
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

// own has Close end a component.
func (s *starter) own(c component) {
	s.stack.mu.Lock()
	defer s.stack.mu.Unlock()
	s.stack.started = append(s.stack.started, c)
}

// ownProcess has Close stop a child, and reports when it ends before that.
func (s *starter) ownProcess(p *process.Process, order int) {
	s.own(component{name: p.Name(), order: order, stop: p.Stop})
	s.log.Info("server started", "server", p.Name(), "pid", p.PID(), "log", p.LogFile())
	s.stack.watchers.Go(func() {
		select {
		case <-s.stack.closing:
		case <-p.Exited():
			select {
			case s.stack.failed <- fmt.Errorf("%s stopped by itself: its log is %s", p.Name(), p.LogFile()):
			default: // only the first failure is told; the others follow from it
			}
		}
	})
}

func (s *starter) logFile(name string) string {
	return filepath.Join(s.opts.DataDir, "logs", name+".log")
}

// Failed tells when a server that the stack started has ended by itself. It holds the first such
// error.
func (s *Stack) Failed() <-chan error { return s.failed }

// Close stops what the stack started, Temporal first and PostgreSQL last, and nothing else. A
// server that does not stop while ctx lasts is killed. It may be called again, and then gives the
// first call's error.
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
