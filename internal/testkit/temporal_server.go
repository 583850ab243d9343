package testkit

import (
	"net"
	"strconv"
	"testing"

	"go.temporal.io/sdk/client"

	"github.com/chainaccess/gateway/internal/devstack"
)

// OwnTemporalServer is a Temporal of one test's own, which can lose everything. It takes seconds to
// make: tests that do not need that share one, and take Temporal. Its methods are for the test's
// goroutine.
type OwnTemporalServer struct {
	Address string // host:port; it stays the same over Empty

	stack *devstack.Stack
}

// OwnTemporal starts a server for the test alone and stops it when the test ends. It has the
// namespace "default" and keeps all in memory.
func OwnTemporal(t testing.TB) *OwnTemporalServer {
	t.Helper()
	s := &OwnTemporalServer{}
	s.start(t, 0)
	t.Cleanup(func() { s.stop(t) })
	return s
}

// Empty puts an empty server in the place of the one that runs: workflows, schedules, and
// namespaces other than "default" are gone.
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

// Dial connects to a namespace lazily, as the worker does; the connection is closed when the test
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
