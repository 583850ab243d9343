package testkit

import (
	"crypto/rand"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/chainaccess/gateway/internal/devstack"
)

// TemporalServer is a namespace for one test on a shared Temporal dev server.
type TemporalServer struct {
	Address   string // host:port
	Namespace string
}

// Temporal creates a namespace with the gateway's search attributes. The server is shared, so
// everything outside of namespaces is visible to all tests. Workflows that run when the test ends
// stay until the server is stopped.
func Temporal(t testing.TB) *TemporalServer {
	t.Helper()
	s := &TemporalServer{
		Address:   shared(t, TemporalVariable, ownTemporal),
		Namespace: "test-" + strings.ToLower(rand.Text()),
	}
	namespaces, err := client.NewNamespaceClient(client.Options{HostPort: s.Address, Logger: quiet()})
	if err != nil {
		t.Fatalf("connect to the Temporal server of the tests: %v", err)
	}
	defer namespaces.Close()
	err = namespaces.Register(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: s.Namespace, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	if err != nil {
		t.Fatalf("make a namespace: %v", err)
	}
	s.addSearchAttributes(t)
	return s
}

// addSearchAttributes adds the search attributes and waits until the server knows them, because it
// notices changes to a namespace with a delay.
func (s *TemporalServer) addSearchAttributes(t testing.TB) {
	t.Helper()
	attributes := make(map[string]enums.IndexedValueType)
	for _, name := range devstack.SearchAttributes() {
		attributes[name] = enums.INDEXED_VALUE_TYPE_KEYWORD
	}
	c := s.Dial(t)
	var last error
	Eventually(t, 20*time.Second, func() bool {
		_, last = c.OperatorService().AddSearchAttributes(t.Context(), &operatorservice.AddSearchAttributesRequest{
			Namespace: s.Namespace, SearchAttributes: attributes,
		})
		if last != nil {
			return false
		}
		// A query with an attribute fails until the server knows it.
		_, last = c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: s.Namespace, Query: devstack.SearchAttributes()[0] + " = 'x'",
		})
		return last == nil
	}, "the namespace has its search attributes")
}

// Dial connects to the namespace; the connection is closed when the test ends.
func (s *TemporalServer) Dial(t testing.TB) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), client.Options{
		HostPort: s.Address, Namespace: s.Namespace, Logger: quiet(),
	})
	if err != nil {
		t.Fatalf("connect to the Temporal server of the tests: %v", err)
	}
	t.Cleanup(c.Close)
	return c
}

func quiet() log.Logger { return log.NewStructuredLogger(slog.New(slog.DiscardHandler)) }
