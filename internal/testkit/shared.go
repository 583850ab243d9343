package testkit

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
)

// Shared is a testing.TB for servers that the tests of a package share because starting one per
// test would take too long. Create it in TestMain and pass it in place of a test. What is started
// with it ends after the last test. It has only the methods that servers need.
type Shared struct {
	testing.TB // nil: methods that are not defined below panic

	mu       sync.Mutex // guards cleanups
	cleanups []func()
}

// Run runs the tests, then ends what was started with the handle. It returns the exit code.
func (s *Shared) Run(m *testing.M) int {
	code := m.Run()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cleanup := range slices.Backward(s.cleanups) {
		cleanup()
	}
	return code
}

// Helper does nothing.
func (s *Shared) Helper() {}

// Fatal panics, which ends the test binary.
func (s *Shared) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// Fatalf panics, which ends the test binary.
func (s *Shared) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Context returns a context that does not end with a test.
func (s *Shared) Context() context.Context { return context.Background() }

// Cleanup registers f to be called after the last test.
func (s *Shared) Cleanup(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleanups = append(s.cleanups, f)
}

// TempDir creates a directory that is removed after the last test.
func (s *Shared) TempDir() string {
	dir, err := os.MkdirTemp("", "shared")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
