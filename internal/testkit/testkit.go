// Package testkit provides real and scripted servers for tests: a database per test, a private
// Redis, a Temporal namespace, an upstream that misbehaves on demand, and a clock. Only tests
// import it.
//
// PostgreSQL and Temporal are shared by all tests of a run: `go run ./internal/devstack/run -- go
// test ./...` starts them once and passes their addresses in TEST_DATABASE_URL and
// TEST_TEMPORAL_ADDRESS. Without it, each test binary starts a server on first use; the server is
// stopped when the binary exits for any reason. The gateway's own variables are never read, so that
// no test touches a real database.
package testkit

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/devstack"
)

// The variables with the addresses of a run's servers.
const (
	DatabaseVariable = "TEST_DATABASE_URL"
	TemporalVariable = "TEST_TEMPORAL_ADDRESS"
)

// pollEvery is the interval at which conditions are checked.
const pollEvery = 5 * time.Millisecond

// ownPostgres and ownTemporal start servers for this test binary when the variables are not set.
// They are stopped when the process ends.
var (
	ownPostgres = sync.OnceValues(func() (string, error) {
		stack, err := startShared(devstack.PostgreSQL)
		if err != nil {
			return "", err
		}
		return stack.DatabaseURL, nil
	})
	ownTemporal = sync.OnceValues(func() (string, error) {
		stack, err := startShared(devstack.Temporal)
		if err != nil {
			return "", err
		}
		return stack.TemporalAddress, nil
	})
)

func startShared(service devstack.Service) (*devstack.Stack, error) {
	return devstack.Start(context.Background(), devstack.Options{
		Temporary: true, InMemory: true,
		Services: []devstack.Service{service},
		Progress: func(msg string) { _, _ = os.Stderr.WriteString(msg + "\n") },
	})
}

// shared returns the address in variable; without one, the server of this test binary.
func shared(t testing.TB, variable string, own func() (string, error)) string {
	t.Helper()
	if given := os.Getenv(variable); given != "" {
		return given
	}
	url, err := own()
	if err != nil {
		t.Fatal(err)
	}
	return url
}

// Eventually polls until the condition holds, and fails the test with msg after the given time. The
// condition runs every few milliseconds in the test's goroutine.
func Eventually(t testing.TB, within time.Duration, condition func() bool, msg string, args ...any) {
	t.Helper()
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline.C:
			t.Fatalf("not within %s: "+msg, append([]any{within}, args...)...)
		case <-tick.C:
		}
	}
}

// cleanupContext returns a bounded context for cleanup after a test, whose own context has ended.
func cleanupContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 30*time.Second)
}
