package testkit

import (
	"net"
	"strconv"
	"testing"

	"go.temporal.io/sdk/client"

	"github.com/chainaccess/gateway/internal/devstack"
)

// OwnTemporalServer is a Temporal for one test, which can lose all data. It takes seconds to start,
// so other tests should use Temporal. Its methods must be called from the test's goroutine.
type OwnTemporalServer struct {
	Address string // host:port; the same after Empty

	stack *devstack.Stack
}

// OwnTemporal starts a server for one test and stops it when the test ends. It has the namespace
// "default" and keeps its data in memory.
func OwnTemporal(t testing.TB) *OwnTemporalServer {
	t.Helper()
	s := &OwnTemporalServer{}
	s.start(t, 0)
	t.Cleanup(func() { s.stop(t) })
	return s
}

// Empty replaces the running server with an empty one: workflows, schedules, and namespaces other
// than "default" are gone.
func (s *OwnTemporalServer) Empty(t testing.TB) {
	t.Helper()
	_, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		t.Fatal(err)
	}
	at, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	s.stop(t)
	s.start(t, at)
}

// Dial returns a client that connects lazily, as the worker's does; it is closed when the test
// ends.
func (s *OwnTemporalServer) Dial(t testing.TB, namespace string) client.Client {
	t.Helper()
	c, err := client.NewLazyClient(client.Options{HostPort: s.Address, Namespace: namespace, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func (s *OwnTemporalServer) start(t testing.TB, port int) {
	t.Helper()
	stack, err := devstack.Start(t.Context(), devstack.Options{
		Temporary: true, InMemory: true, TemporalPort: port, Services: []devstack.Service{devstack.Temporal},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.stack, s.Address = stack, stack.TemporalAddress
}

func (s *OwnTemporalServer) stop(t testing.TB) {
	t.Helper()
	ctx, cancel := cleanupContext()
	defer cancel()
	if err := s.stack.Close(ctx); err != nil {
		t.Errorf("stop Temporal: %v", err)
	}
}
