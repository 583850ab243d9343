package devstack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// lockDir locks a data directory. The kernel releases the lock when the process ends for any
// reason.
func lockDir(dir string) (unlock func() error, err error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the path is the caller's data directory
	if err != nil {
		return nil, fmt.Errorf("the data directory %s cannot be written: choose another one: %w", dir, err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		owner, _ := os.ReadFile(path) //nolint:gosec // as above
		_ = f.Close()
		return nil, fmt.Errorf(
			"another stack already runs on %s (process %s): stop it, or choose another data directory",
			dir, strings.TrimSpace(string(owner)))
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock the data directory %s: %w", dir, err)
	}
	if err := f.Truncate(0); err == nil {
		_, _ = fmt.Fprintln(f, os.Getpid())
	}
	return f.Close, nil
}

// lockFile waits for the exclusive lock of a file. Processes that build the same program use the
// same file.
func lockFile(path string) (unlock func() error, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the path is the stack's cache directory
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f.Close, nil
}
