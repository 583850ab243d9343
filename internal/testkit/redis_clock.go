package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// clockFile, in the server's directory, is where libfaketime reads by how much the clock is off.
const clockFile = "clock"

// faketimeLibraries are globs of where the package managers of Debian, Red Hat, Alpine and Arch put
// libfaketime.
var faketimeLibraries = []string{
	"/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib64/faketime/libfaketime.so.1",
	"/usr/lib/faketime/libfaketime.so.1",
}

// WithClock has the server live by a clock that SetClock steps. It needs libfaketime, which
// scripts/bootstrap installs.
func WithClock() RedisOption {
	return func(r *RedisServer) { r.ownClock = true }
}

// SetClock puts the server's clock off the machine's, from the next command on; off may be
// negative. It may be set any number of times.
func (r *RedisServer) SetClock(t testing.TB, off time.Duration) {
	t.Helper()
	if !r.ownClock {
		t.Fatal("the Redis has the machine's own clock: start it WithClock")
	}
	// The server reads the file whenever it asks for the time, so it is put in place whole.
	name := filepath.Join(r.dir, clockFile)
	if err := os.WriteFile(name+".new", fmt.Appendf(nil, "%+.3f\n", off.Seconds()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

// sweepClock removes what libfaketime leaves in shared memory when its process is killed: processes
// that it would be shared with do not exist.
func (r *RedisServer) sweepClock() {
	if !r.ownClock {
		return
	}
	for _, name := range []string{"/dev/shm/faketime_shm_", "/dev/shm/sem.faketime_sem_"} {
		_ = os.Remove(name + strconv.Itoa(r.process.PID()))
	}
}

// environment is what the server runs with: nil, as the test, unless it has a clock of its own.
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
	// libfaketime begins by allocating memory, and jemalloc by asking for the time: with libc's own
	// allocator in front of jemalloc, neither waits for the other.
	return append(os.Environ(), "LD_PRELOAD="+library+":libc.so.6",
		"FAKETIME_TIMESTAMP_FILE="+filepath.Join(r.dir, clockFile), "FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1")
}
