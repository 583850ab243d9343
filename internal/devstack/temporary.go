package devstack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// prepareTemporary creates the directory of a temporary stack and arranges its removal.
func (s *starter) prepareTemporary() error {
	base, err := temporaryBase(s.opts.InMemory)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(base, "chain-access-gateway-")
	if err != nil {
		return fmt.Errorf("make a temporary directory in %s: %w", base, err)
	}
	s.opts.DataDir = dir
	sweep, err := sweeper(dir)
	if err != nil {
		_ = os.RemoveAll(dir)
		return err
	}
	s.own(component{name: "temporary directory", order: stopTemporary, stop: sweep})
	//nolint:gosec // PostgreSQL's user traverses it; the data has its own private directory
	if err := os.Chmod(dir, 0o711); err != nil {
		return fmt.Errorf("open the temporary directory: %w", err)
	}
	return os.Mkdir(filepath.Join(dir, "logs"), 0o700)
}

// Linux's directory in memory, and the bytes that must be free in it: a stack under all tests of
// the gateway uses less than a quarter of that. In containers it has 64 MiB by default.
const (
	memoryBase = "/dev/shm"
	memoryRoom = 2 << 30
)

// temporaryBase returns the first directory for temporary files that PostgreSQL's user can enter.
func temporaryBase(inMemory bool) (string, error) {
	owner, err := postgresOwner("")
	if err != nil {
		return "", err
	}
	dirs := []string{os.TempDir(), "/tmp", "/var/tmp"}
	if inMemory && hasRoom(memoryBase, memoryRoom) {
		dirs = append([]string{memoryBase}, dirs...)
	}
	for _, dir := range dirs {
		if owner == nil || reachable(dir, owner) {
			return dir, nil
		}
	}
	return "", fmt.Errorf("no temporary directory that every user can enter: set TMPDIR to one (it is %s)",
		os.TempDir())
}

// hasRoom reports whether this process may create files in a directory whose file system has that
// many free bytes.
func hasRoom(dir string, bytes uint64) bool {
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil || unix.Access(dir, unix.W_OK|unix.X_OK) != nil {
		return false
	}
	//nolint:gosec,unconvert,nolintlint // a size; its type differs between systems
	return fs.Bavail*uint64(fs.Bsize) >= bytes
}

// sweeper starts a shell that waits for this process to end for any reason, kills a PostgreSQL that
// still runs in the directory, and removes the directory. A test binary exits without running code
// of ours, so nothing inside the process could do that. The returned function ends the shell and
// waits for it.
func sweeper(dir string) (func(context.Context) error, error) {
	const script = `cat >/dev/null
pid=$(head -n 1 "$1/postgres/data/postmaster.pid" 2>/dev/null) && kill -9 "$pid" 2>/dev/null
for i in 1 2 3 4 5 6 7 8 9 10; do rm -rf -- "$1" 2>/dev/null && break; sleep 0.2; done`
	alive, hold, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	defer func() { _ = alive.Close() }()
	//nolint:gosec,noctx // constant script; it has to outlive this process
	cmd := exec.Command("/bin/sh", "-c", script, "sweeper", dir)
	cmd.Stdin = alive
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		_ = hold.Close()
		return nil, fmt.Errorf("start the shell that removes the temporary directory: %w", err)
	}
	return func(context.Context) error {
		_ = hold.Close()
		return cmd.Wait()
	}, nil
}
