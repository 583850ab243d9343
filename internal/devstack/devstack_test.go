package devstack

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/chainaccess/gateway/internal/testkit/expect"
)

func TestStart_SecondKeepsTheData(t *testing.T) {
	t.Parallel()
	opts := Options{DataDir: dataDir(t), Services: []Service{PostgreSQL, Redis}}
	first := begin(t, opts)
	execute(t, first.DatabaseURL, `CREATE TABLE kept (n int); INSERT INTO kept VALUES (42)`)
	redisCall(t, first.RedisURL, "set", "kept", "42")
	end(t, first)

	second := begin(t, opts)
	if n := queryInt(t, second.DatabaseURL, `SELECT n FROM kept`); n != 42 {
		t.Errorf("PostgreSQL gave %d, want 42", n)
	}
	if got := redisCall(t, second.RedisURL, "get", "kept"); got != "42" {
		t.Errorf("Redis gave %v, want 42", got)
	}
}

func TestRedis_RunsAsInProduction(t *testing.T) {
	t.Parallel()
	stack := begin(t, Options{Services: []Service{Redis}})
	for name, want := range map[string]string{
		"appendonly": "yes", "maxmemory-policy": "noeviction", "bind": "127.0.0.1",
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := redisCall(t, stack.RedisURL, "config", "get", name).(map[any]any)
			if !ok || got[name] != want {
				t.Errorf("%s is %v, want %s", name, got[name], want)
			}
		})
	}
}

func TestTemporal_HasTheSearchAttributesOnEachStart(t *testing.T) {
	t.Parallel()
	opts := Options{DataDir: dataDir(t), Services: []Service{Temporal}}
	for range 2 {
		stack := begin(t, opts)
		c, err := client.DialContext(t.Context(), client.Options{
			HostPort: stack.TemporalAddress, Logger: log.NewStructuredLogger(discard),
		})
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.OperatorService().ListSearchAttributes(t.Context(), &operatorservice.ListSearchAttributesRequest{
			Namespace: "default",
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range SearchAttributes() {
			if _, ok := res.GetCustomAttributes()[name]; !ok {
				t.Errorf("the search attribute %s is missing", name)
			}
		}
		if err := uiReady(t.Context(), stack.TemporalUI); stack.TemporalUI == "" || err != nil {
			t.Errorf("the UI at %q: %v", stack.TemporalUI, err)
		}
		c.Close()
		end(t, stack)
	}
}

func TestHeadless_HasNoUI(t *testing.T) {
	t.Parallel()
	stack := begin(t, Options{Services: []Service{Temporal}, Headless: true})
	expect.Equal(t, stack.TemporalUI, "")
	expect.Equal(t, stack.DatabaseURL, "")
	expect.Equal(t, stack.RedisURL, "")
}

func TestStart_SecondStackOnOneDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	opts := Options{DataDir: dataDir(t), Services: []Service{Redis}}
	begin(t, opts)
	err := refused(t, opts, systemPrograms())
	if !strings.Contains(err.Error(), "another stack already runs on "+opts.DataDir) {
		t.Errorf("got %q, want a sentence that names the directory", err)
	}
}

func TestStart_RecoversFromAKilledParent(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	parent, url := startParent(t, dir)
	execute(t, url, `CREATE TABLE kept (n int); INSERT INTO kept VALUES (7)`)
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()

	// At once, while the old server may still be shutting down.
	stack := begin(t, Options{DataDir: dir, Services: []Service{PostgreSQL, Redis}})
	if n := queryInt(t, stack.DatabaseURL, `SELECT n FROM kept`); n != 7 {
		t.Errorf("got %d, want 7", n)
	}
}

func TestStart_IgnoresAStalePostmasterFile(t *testing.T) {
	t.Parallel()
	opts := Options{DataDir: dataDir(t), Services: []Service{PostgreSQL}}
	first := begin(t, opts)
	pidFile := filepath.Join(opts.DataDir, "postgres", "data", "postmaster.pid")
	text, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	line, rest, _ := strings.Cut(string(text), "\n")
	if err := syscall.Kill(atoi(t, line), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := <-first.Failed(); !strings.Contains(err.Error(), "PostgreSQL stopped by itself") {
		t.Errorf("the stack reports %v", err)
	}
	end(t, first)

	// The process id now belongs to another program.
	innocent := exec.CommandContext(t.Context(), "sleep", "1000")
	if err := innocent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = innocent.Process.Kill(); _ = innocent.Wait() })
	if err := os.WriteFile(pidFile, []byte(itoa(innocent.Process.Pid)+"\n"+rest), 0o600); err != nil {
		t.Fatal(err)
	}
	begin(t, opts)
	if !running(t, innocent.Process.Pid) {
		t.Error("the start ended a process that is not its own")
	}
}

func TestStart_RepeatsAnInterruptedInitialization(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	if err := os.MkdirAll(filepath.Join(dir, "postgres", "data.new", "base"), 0o755); err != nil {
		t.Fatal(err)
	}
	if owner, err := postgresOwner(dir); err != nil {
		t.Fatal(err)
	} else if owner != nil {
		if err := os.Chown(filepath.Join(dir, "postgres"), int(owner.Uid), int(owner.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	stack := begin(t, Options{DataDir: dir, Services: []Service{PostgreSQL}})
	if n := queryInt(t, stack.DatabaseURL, `SELECT 1`); n != 1 {
		t.Errorf("got %d, want 1", n)
	}
}

func TestPostgres_MovesWhereItsUserCanReachIt(t *testing.T) {
	t.Parallel()
	opts := Options{DataDir: t.TempDir(), Services: []Service{PostgreSQL}} // private, as /root is
	first := begin(t, opts)
	home, err := filepath.EvalSymlinks(filepath.Join(opts.DataDir, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		end(t, first)
		_ = os.RemoveAll(home)
	})
	moved := filepath.Dir(home) == relocatedBase
	if isRoot := os.Geteuid() == 0; moved != isRoot {
		t.Errorf("as root: %v, the database lies in %s", isRoot, home)
	}
	execute(t, first.DatabaseURL, `CREATE TABLE kept ()`)
	end(t, first)
	second := begin(t, opts)
	if n := queryInt(t, second.DatabaseURL, `SELECT count(*) FROM kept`); n != 0 {
		t.Errorf("got %d, want 0", n)
	}
}

func TestPostgres_OfAnotherVersionIsNamed(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	data := filepath.Join(dir, "postgres", "data")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte("8.4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := refused(t, Options{DataDir: dir, Services: []Service{PostgreSQL}}, systemPrograms())
	if !strings.Contains(err.Error(), "was made by PostgreSQL 8.4, which is not installed") {
		t.Errorf("got %q", err)
	}
}

func TestPostgres_PasswordIsRequiredAndFilePrivate(t *testing.T) {
	t.Parallel()
	opts := Options{DataDir: dataDir(t), Services: []Service{PostgreSQL}}
	stack := begin(t, opts)
	for _, name := range []string{"postgres/password", "postgres/data"} {
		info, err := os.Stat(filepath.Join(opts.DataDir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is open to others: %s", name, info.Mode())
		}
	}
	password, err := os.ReadFile(filepath.Join(opts.DataDir, "postgres", "password"))
	if err != nil {
		t.Fatal(err)
	}
	if len(password) < 20 {
		t.Errorf("the password has %d characters, want at least 20", len(password))
	}
	wrong := strings.Replace(stack.DatabaseURL, string(password), "wrong", 1)
	if err := ensureDatabase(t.Context(), wrong); err == nil {
		t.Error("a wrong password was accepted")
	}
}

func TestStart_NamesMissingProgramsInOneSentence(t *testing.T) {
	t.Parallel()
	nothing := finder{look: func(string) string { return "" }}
	for service, want := range map[Service]string{
		PostgreSQL: "PostgreSQL was not found: run scripts/bootstrap dev, or set DATABASE_URL to one that runs",
		Redis:      "redis-server was not found: run scripts/bootstrap test, or set REDIS_URL to one that runs",
		Temporal: "Temporal was not found, and without the go command it cannot be built: install Go, or set " +
			"TEMPORAL_ADDRESS to one that runs",
	} {
		t.Run(string(service), func(t *testing.T) {
			t.Parallel()
			dir := dataDir(t)
			err := refused(t, Options{DataDir: dir, CacheDir: t.TempDir(), Services: []Service{service}}, nothing)
			if err.Error() != want {
				t.Errorf("got %q, want %q", err, want)
			}
			// The directory's lock is released.
			unlock, err := lockDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			_ = unlock()
		})
	}
}

func TestGivenServers_AreUsedAndNotStopped(t *testing.T) {
	t.Parallel()
	theirs := begin(t, Options{Services: []Service{PostgreSQL, Redis}})
	nothing := finder{look: func(string) string { return "" }}
	ours, err := start(t.Context(), Options{
		DataDir: dataDir(t), Services: []Service{PostgreSQL, Redis},
		DatabaseURL: theirs.DatabaseURL, RedisURL: theirs.RedisURL,
	}, nothing)
	if err != nil {
		t.Fatal(err)
	}
	if ours.DatabaseURL != theirs.DatabaseURL || ours.RedisURL != theirs.RedisURL {
		t.Error("the given servers are not used")
	}
	end(t, ours)
	if n := queryInt(t, theirs.DatabaseURL, `SELECT 1`); n != 1 {
		t.Errorf("got %d, want 1", n)
	}
	redisCall(t, theirs.RedisURL, "ping")
}

func TestGivenServers_UnreachableAreNamedWithoutTheirPassword(t *testing.T) {
	t.Parallel()
	closed := closedAddress(t)
	for name, c := range map[string]struct {
		opts Options
		want string
	}{
		"DATABASE_URL": {
			Options{DatabaseURL: "postgres://u:hushhush@" + closed + "/x", Services: []Service{PostgreSQL}},
			"the PostgreSQL of DATABASE_URL does not answer",
		},
		"DATABASE_URL, no URL": {
			Options{DatabaseURL: "postgres://u:hushhush@a b/x", Services: []Service{PostgreSQL}},
			"the PostgreSQL of DATABASE_URL does not answer",
		},
		"REDIS_URL": {
			Options{RedisURL: "redis://:hushhush@" + closed, Services: []Service{Redis}},
			"the Redis of REDIS_URL does not answer",
		},
		"REDIS_URL, no URL": {
			Options{RedisURL: "redis://:hushhush@a b", Services: []Service{Redis}}, "REDIS_URL is not a Redis URL",
		},
		"TEMPORAL_ADDRESS": {
			Options{TemporalAddress: closed, Services: []Service{Temporal}},
			"the Temporal server of TEMPORAL_ADDRESS does not answer",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.opts.DataDir = dataDir(t)
			err := refused(t, c.opts, systemPrograms())
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, want %q", err, c.want)
			}
			if strings.Contains(err.Error(), "hushhush") {
				t.Errorf("the error holds the password: %q", err)
			}
		})
	}
}

func TestStart_FailureLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	programs := systemPrograms()
	look := programs.look
	programs.look = func(name string) string {
		if name == "redis-server" {
			return "/bin/false"
		}
		return look(name)
	}
	err := refused(t, Options{DataDir: dir, Services: []Service{PostgreSQL, Redis}}, programs)
	if !strings.Contains(err.Error(), "Redis did not start") {
		t.Errorf("got %q, want Redis named", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "postgres", "data", "postmaster.pid")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("PostgreSQL still runs: %v", err)
	}
}

func TestStart_CancellationLeavesNothingRunning(t *testing.T) {
	t.Parallel()
	dir := dataDir(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := Start(ctx, Options{DataDir: dir})
		done <- err
	}()
	waitFor(t, "Redis is being started", func() bool {
		_, err := os.Stat(filepath.Join(dir, "logs", "redis.log"))
		return err == nil
	})
	cancel()
	if err := <-done; err == nil {
		t.Error("the start succeeded, want an error")
	}
	unlock, err := lockDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	_ = unlock()
}

func TestEmbeddedRedis_ExpiresKeysInRealTime(t *testing.T) {
	t.Parallel()
	programs := finder{look: func(string) string { return "" }}
	stack, err := start(t.Context(), Options{DataDir: dataDir(t), Services: []Service{Redis}, EmbeddedRedis: true},
		programs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { end(t, stack) })
	if !stack.RedisEmbedded {
		t.Error("the stack does not say that Redis is embedded")
	}
	redisCall(t, stack.RedisURL, "set", "short", "1", "px", "200")
	redisCall(t, stack.RedisURL, "set", "long", "1", "ex", "1000")
	waitFor(t, "the short key expires", func() bool {
		return redisCall(t, stack.RedisURL, "exists", "short") == int64(0)
	})
	if redisCall(t, stack.RedisURL, "exists", "long") != int64(1) {
		t.Error("the long key expired too")
	}
}

func TestTemporaryStack_LeavesNothingBehind(t *testing.T) {
	t.Parallel()
	stack, err := Start(t.Context(), Options{Temporary: true, Services: []Service{PostgreSQL, Redis}})
	if err != nil {
		t.Fatal(err)
	}
	var dir, fsync string
	conn := connect(t, stack.DatabaseURL)
	if err := conn.QueryRow(t.Context(), `SELECT current_setting('data_directory'), current_setting('fsync')`).Scan(
		&dir, &fsync); err != nil {
		t.Fatal(err)
	}
	if fsync != "off" {
		t.Errorf("fsync is %s, want off", fsync)
	}
	end(t, stack)
	if _, err := os.Stat(filepath.Dir(filepath.Dir(dir))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the temporary directory is still there: %v", err)
	}
}

func TestData_LiesInMemoryOnlyWhereThereIsRoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, c := range map[string]struct {
		dir   string
		bytes uint64
		want  bool
	}{
		"room":         {dir, 1, true},
		"too little":   {dir, 1 << 60, false},
		"no directory": {filepath.Join(dir, "missing"), 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := hasRoom(c.dir, c.bytes); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
	for _, inMemory := range []bool{false, true} {
		base, err := temporaryBase(inMemory)
		if err != nil {
			t.Fatal(err)
		}
		if want := inMemory && hasRoom(memoryBase, memoryRoom); (base == memoryBase) != want &&
			os.TempDir() != memoryBase {
			t.Errorf("asked for memory: %t; the data lies in %s, though memory has room: %t", inMemory, base, want)
		}
	}
}

func TestTemporaryStack_OfAKilledProcessLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	parent, url := startParent(t, "temporary")
	var data string
	if err := connect(t, url).QueryRow(t.Context(), `SELECT current_setting('data_directory')`).Scan(
		&data); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid")) //nolint:gosec // the database's own directory
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	waitFor(t, "the server and its directory are gone", func() bool {
		_, err := os.Stat(filepath.Dir(filepath.Dir(data)))
		return errors.Is(err, os.ErrNotExist) && !running(t, atoi(t, line))
	})
}

func TestProgress_ReportsOnlyWhatTakesLong(t *testing.T) {
	t.Parallel()
	var heard recorder
	p := progress{report: heard.report}
	if err := p.during("being quick", func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if got := heard.all(); got != "" {
		t.Errorf("told of something quick: %q", got)
	}
	want := errors.New("done")
	err := p.during("being slow", func() error {
		waitFor(t, "progress is told", func() bool { return heard.all() != "" })
		return want
	})
	if !errors.Is(err, want) || heard.all() != "being slow (1 s)" {
		t.Errorf("got %v and %q", err, heard.all())
	}
}

func TestTemporal_OldOneInPathIsNotUsable(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)": true,
		"temporal version 1.3.0 (Server 1.27.1, UI 2.36.0)": true,
		"temporal version 1.0.0 (Server 1.24.1, UI 2.27.2)": false,
		"tctl 1.18": false,
	} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), "temporal")
			//nolint:gosec // a program
			if err := os.WriteFile(program, []byte("#!/bin/sh\necho '"+version+"'\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			if got := temporalUsable(t.Context(), program); got != want {
				t.Errorf("usable is %v, want %v", got, want)
			}
		})
	}
}

func redisCall(t *testing.T, url string, args ...any) any {
	t.Helper()
	opts, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(opts)
	defer func() { _ = c.Close() }()
	value, err := c.Do(t.Context(), args...).Result()
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// closedAddress returns an address on which nothing listens.
func closedAddress(t *testing.T) string {
	t.Helper()
	port, err := freePort(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", itoa(port))
}
