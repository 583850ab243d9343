package devstack

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sys/unix"

	"github.com/chainaccess/gateway/internal/devstack/process"
)

const (
	// postgresRole is the name of the superuser and of the database in a cluster that the stack
	// creates.
	postgresRole = "gateway"
	// checkTimeout bounds the check of a server that was already running.
	checkTimeout = 10 * time.Second
)

const postgresMissing = "PostgreSQL was not found: run scripts/bootstrap dev, or set DATABASE_URL to one that runs"

// cluster is PostgreSQL's data on disk: home/data is the database, home/password its password.
type cluster struct {
	programs postgresPrograms
	home     string
	owner    *syscall.Credential // nil: the user of this process
}

func (c cluster) data() string     { return filepath.Join(c.home, "data") }
func (c cluster) password() string { return filepath.Join(c.home, "password") }

func (s *starter) planPostgres() (func(context.Context) error, error) {
	if s.opts.DatabaseURL != "" {
		return s.usePostgres, nil
	}
	found := s.programs.postgres()
	if len(found) == 0 {
		return nil, errors.New(postgresMissing)
	}
	return func(ctx context.Context) error { return s.startPostgres(ctx, found) }, nil
}

// usePostgres checks a server that is already running.
func (s *starter) usePostgres(ctx context.Context) error {
	return s.progress.during("waiting for the PostgreSQL of DATABASE_URL", func() error {
		ctx, cancel := context.WithTimeout(ctx, checkTimeout)
		defer cancel()
		conn, err := pgx.Connect(ctx, s.opts.DatabaseURL)
		if err != nil {
			return fmt.Errorf(
				"the PostgreSQL of DATABASE_URL does not answer: start it, correct the address, or unset the "+
					"variable: %s", oneLine(err))
		}
		s.stack.DatabaseURL = s.opts.DatabaseURL
		return conn.Close(ctx)
	})
}

func (s *starter) startPostgres(ctx context.Context, found []postgresPrograms) error {
	owner, err := postgresOwner(s.opts.DataDir)
	if err != nil {
		return err
	}
	home, err := s.postgresHome(owner)
	if err != nil {
		return err
	}
	c := cluster{programs: found[0], home: home, owner: owner}
	if c.programs, err = matching(ctx, found, c.data()); err != nil {
		return err
	}
	if err := s.progress.during("preparing the database in "+home, func() error {
		return s.initialise(ctx, c)
	}); err != nil {
		return err
	}
	password, err := os.ReadFile(c.password())
	if err != nil {
		return fmt.Errorf("read the password of the database, which was written beside it: %w", err)
	}
	return s.progress.during("starting PostgreSQL", func() error { return s.runPostgres(ctx, c, string(password)) })
}

// initialise creates the cluster if there is none yet. It is built in another directory and
// renamed, so that a start that is killed half-way leaves nothing that looks complete.
func (s *starter) initialise(ctx context.Context, c cluster) error {
	if _, err := os.Stat(filepath.Join(c.data(), "PG_VERSION")); err == nil {
		return nil
	}
	if err := writeSecret(c.password(), rand.Text(), c.owner); err != nil {
		return err
	}
	fresh := c.data() + ".new"
	if err := os.RemoveAll(fresh); err != nil {
		return fmt.Errorf("remove what an interrupted start left behind: %w", err)
	}
	args := []string{
		"-D", fresh, "--username=" + postgresRole, "--auth=scram-sha-256", "--pwfile=" + c.password(),
		"--encoding=UTF8", "--no-locale",
	}
	if s.opts.Temporary {
		args = append(args, "--no-sync")
	}
	p, err := process.Start(process.Spec{
		Name: "initdb", Path: c.programs.initdb, Args: args, Dir: c.home, Env: serverEnv("PG"),
		LogFile: s.logFile("initdb"), Credential: c.owner,
	})
	if err != nil {
		return err
	}
	select {
	case <-p.Exited():
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), p.Kill())
	}
	if p.Err() != nil {
		return fmt.Errorf("the database could not be made: %s%s", lastWords(p), s.seeLog(p))
	}
	if err := os.Rename(fresh, c.data()); err != nil {
		return fmt.Errorf("move the new database into place: %w", err)
	}
	return nil
}

// runPostgres starts the server as a child, without pg_ctl, so that it is stopped with this
// process.
func (s *starter) runPostgres(ctx context.Context, c cluster, password string) error {
	if err := endOrphan(ctx, c.data()); err != nil {
		return err
	}
	var (
		adminURL string
		port     int
	)
	p, err := s.launch(ctx, func() (attempt, error) {
		var err error
		if port, err = freePort(ctx); err != nil {
			return attempt{}, err
		}
		adminURL = postgresURL(password, port, "postgres")
		s.stack.DatabaseURL = postgresURL(password, port, postgresRole)
		return attempt{s.postgresSpec(c, port), func(ctx context.Context, _ *process.Process) error {
			return ensureDatabase(ctx, adminURL)
		}}, nil
	})
	if err != nil {
		return err
	}
	if s.opts.Restartable {
		s.stack.postgres = &restartable{starter: s, cluster: c, process: p, port: port, adminURL: adminURL}
		s.own(component{name: p.Name(), order: stopPostgreSQL, stop: s.stack.postgres.stop})
		return nil
	}
	s.ownProcess(p, stopPostgreSQL)
	return nil
}

func (s *starter) postgresSpec(c cluster, port int) process.Spec {
	settings := []string{
		"listen_addresses=127.0.0.1",
		"port=" + strconv.Itoa(port),
		"unix_socket_directories=", // a socket's path is limited to 107 bytes, which a checkout's path may exceed
		"max_connections=200",
		"logging_collector=off",
		"timezone=UTC",
		"log_timezone=UTC",
	}
	switch {
	case s.opts.Restartable: // committed data survives a stop of the server, but not of the machine
		settings = append(settings, "fsync=off")
	case s.opts.Temporary:
		settings = append(settings, "fsync=off", "synchronous_commit=off", "full_page_writes=off")
	}
	args := []string{"-D", c.data()}
	for _, setting := range settings {
		args = append(args, "-c", setting)
	}
	spec := process.Spec{
		Name: "PostgreSQL", Path: c.programs.postgres, Args: args, Dir: c.home, Env: serverEnv("PG"),
		LogFile: s.logFile("postgres"), Credential: c.owner,
		// SIGINT is a fast shutdown, which closes the clients' sessions. SIGQUIT is an immediate
		// one, with recovery at the next start.
		Stop: []syscall.Signal{syscall.SIGINT, syscall.SIGQUIT}, ParentDeath: syscall.SIGINT,
	}
	if s.opts.Temporary {
		spec.Stop, spec.ParentDeath = []syscall.Signal{syscall.SIGQUIT}, syscall.SIGQUIT
	}
	return spec
}

func postgresURL(password string, port int, database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.UserPassword(postgresRole, password), Path: "/" + database,
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), RawQuery: "sslmode=disable",
	}
	return u.String()
}

// ensureDatabase creates the gateway's database if it is missing.
func ensureDatabase(ctx context.Context, adminURL string) error {
	conn, err := pgx.Connect(ctx, adminURL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	var exists bool
	err = conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, postgresRole).Scan(&exists)
	if err != nil || exists {
		return err
	}
	_, err = conn.Exec(ctx, `CREATE DATABASE `+pgx.Identifier{postgresRole}.Sanitize())
	return err
}

// writeSecret writes a file that only its owner can read.
func writeSecret(path, secret string, owner *syscall.Credential) error {
	if err := os.WriteFile(path, []byte(secret), 0o600); err != nil {
		return fmt.Errorf("write the password of the database: %w", err)
	}
	if owner == nil {
		return nil
	}
	return os.Chown(path, int(owner.Uid), int(owner.Gid))
}

// matching returns the installation whose version created the data.
func matching(ctx context.Context, found []postgresPrograms, data string) (postgresPrograms, error) {
	text, err := os.ReadFile(filepath.Join(data, "PG_VERSION")) //nolint:gosec // the stack's own directory
	if errors.Is(err, os.ErrNotExist) {
		return found[0], nil
	}
	if err != nil {
		return postgresPrograms{}, fmt.Errorf("the database in %s belongs to another user (was it made as root?): "+
			"remove the directory, or choose another data directory: %w", data, err)
	}
	made := strings.TrimSpace(string(text))
	for _, p := range found {
		if p.version(ctx) == made {
			return p, nil
		}
	}
	return postgresPrograms{}, fmt.Errorf("the database in %s was made by PostgreSQL %s, which is not installed: "+
		"install it, or remove the directory to start afresh", data, made)
}

// endOrphan cleans up after a kill -9. It stops a server that still runs on the data, and removes a
// postmaster.pid whose process id now belongs to another program. This stack holds the lock of the
// data directory, so no other stack can own that server.
func endOrphan(ctx context.Context, data string) error {
	path := filepath.Join(data, "postmaster.pid")
	text, err := os.ReadFile(path) //nolint:gosec // the stack's own directory
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	if err == nil && pid > 0 && strings.Contains(commandLine(ctx, pid), data) {
		if err := endProcess(ctx, pid); err != nil {
			return fmt.Errorf("a PostgreSQL that an earlier run left behind does not stop: end process %d: %w",
				pid, err)
		}
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the stale %s: %w", path, err)
	}
	return nil
}

// endProcess stops a server that is not a child of this process.
func endProcess(ctx context.Context, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	if err := unix.Kill(pid, unix.SIGINT); err != nil && !errors.Is(err, unix.ESRCH) {
		return err
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for unix.Kill(pid, 0) == nil && commandLine(ctx, pid) != "" {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
	return nil
}
