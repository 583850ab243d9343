package testkit

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
)

// Shared is a handle for servers that the tests of a package use together, because each test's own
// would take too long to start. Give it in place of a test's, from TestMain on; what is started
// with it ends after the last test. It has only what servers need.
type Shared struct {
	testing.TB // nil: whatever is not below is not for servers

	mu       sync.Mutex // guards cleanups
	cleanups []func()
}

// Run runs the tests, and then ends what was started with the handle. It gives the exit code.
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

// Fatal ends the test binary.
func (s *Shared) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// Fatalf ends the test binary.
func (s *Shared) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// Context is not bound to a test.
func (s *Shared) Context() context.Context { return context.Background() }

// Cleanup has f called after the last test.
func (s *Shared) Cleanup(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleanups = append(s.cleanups, f)
}

// TempDir makes a directory that is removed after the last test.
func (s *Shared) TempDir() string {
	dir, err := os.MkdirTemp("", "shared")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
