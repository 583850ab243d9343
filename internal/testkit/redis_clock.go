package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// clockFile, in the server's directory, holds the clock's offset for libfaketime.
const clockFile = "clock"

// faketimeLibraries are globs of the paths where the packages of Debian, Red Hat, Alpine and Arch
// install libfaketime.
var faketimeLibraries = []string{
	"/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib64/faketime/libfaketime.so.1",
	"/usr/lib/faketime/libfaketime.so.1",
}

// WithClock makes the server use a clock that SetClock sets. It needs libfaketime, which
// scripts/bootstrap installs.
func WithClock() RedisOption {
	return func(r *RedisServer) { r.ownClock = true }
}

// SetClock sets the server's clock to the machine's time plus off, from the next command on. off
// may be negative.
func (r *RedisServer) SetClock(t testing.TB, off time.Duration) {
	t.Helper()
	if !r.ownClock {
		t.Fatal("the Redis has the machine's own clock: start it WithClock")
	}
	// The server reads the file whenever it asks for the time, so the file is replaced atomically.
	name := filepath.Join(r.dir, clockFile)
	if err := os.WriteFile(name+".new", fmt.Appendf(nil, "%+.3f\n", off.Seconds()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

// sweepClock removes the shared memory that libfaketime leaves when its process is killed. No other
// process uses it.
func (r *RedisServer) sweepClock() {
	if !r.ownClock {
		return
	}
	for _, name := range []string{"/dev/shm/faketime_shm_", "/dev/shm/sem.faketime_sem_"} {
		_ = os.Remove(name + strconv.Itoa(r.process.PID()))
	}
}

// environment returns the server's environment; nil for the test's own when it has no clock of its
// own.
func (r *RedisServer) environment(t testing.TB) []string {
	t.Helper()
	if !r.ownClock {
		return nil
	}
	library := ""
	for _, glob := range faketimeLibraries {
		if found, err := filepath.Glob(glob); err == nil && len(found) > 0 {
			library = found[0]
			break
		}
	}
	if library == "" {
		t.Fatal("libfaketime was not found: run scripts/bootstrap test")
	}
	if _, err := os.Stat(filepath.Join(r.dir, clockFile)); err != nil {
		r.SetClock(t, 0)
	}
	// libfaketime allocates memory when it starts, and jemalloc asks for the time. Loading libc's
	// allocator before jemalloc avoids a deadlock.
	return append(os.Environ(), "LD_PRELOAD="+library+":libc.so.6",
		"FAKETIME_TIMESTAMP_FILE="+filepath.Join(r.dir, clockFile), "FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1")
}
