// Package testkit gives tests real servers and scripted ones: a database per test, a Redis of one's
// own, a Temporal namespace, an upstream that misbehaves on demand, a clock. Only tests import it.
//
// PostgreSQL and Temporal are shared by all tests of a run: `go run ./internal/devstack/run -- go
// test ./...` starts them once and names them in TEST_DATABASE_URL and TEST_TEMPORAL_ADDRESS.
// Without the runner, each test binary starts what it needs when the first test asks; it goes away
// with the binary, however that ends. The variables of the gateway itself are never read, so that
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

// The variables in which the runner names the servers of a run.
const (
	DatabaseVariable = "TEST_DATABASE_URL"
	TemporalVariable = "TEST_TEMPORAL_ADDRESS"
)

// pollEvery is how often conditions are looked at.
const pollEvery = 5 * time.Millisecond

// ownPostgres and ownTemporal are the servers of this test binary, when no runner gave any. The
// stacks live as long as the process and end with it.
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

// shared returns the server of the runner, or the one of this test binary.
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

// Eventually waits until the condition holds, and fails the test with msg when it does not within
// the time. The condition is looked at every few milliseconds, in the test's own goroutine.
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

// cleanupContext bounds what runs after a test, whose own context is over by then.
func cleanupContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 30*time.Second)
}
