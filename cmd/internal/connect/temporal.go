package connect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"
	temporallog "go.temporal.io/sdk/log"
	"golang.org/x/sync/singleflight"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/workflows/namespace"
)

// TemporalClient is a connection that does nothing in a namespace until that is known to be this
// deployment's.
type TemporalClient struct {
	client.Client

	Gate *NamespaceGate
}

// Temporal returns a client that connects on first use, so that a role starts and works while
// Temporal is down. deployment is the deployment's id in PostgreSQL.
//
//nolint:gocritic // a copy does no harm
func Temporal(cfg config.Config, deployment string, tracer *telemetry.Tracer,
	log *slog.Logger,
) (*TemporalClient, error) {
	traced, err := traceWorkflows(tracer)
	if err != nil {
		return nil, err
	}
	gate := &NamespaceGate{namespace: cfg.TemporalNamespace, deployment: deployment}
	temporal, err := client.NewLazyClient(client.Options{
		HostPort: cfg.TemporalAddress, Namespace: cfg.TemporalNamespace,
		Logger: temporallog.NewStructuredLogger(log), Interceptors: traced, TrafficController: gate,
	})
	if err != nil {
		return nil, fmt.Errorf("TEMPORAL_ADDRESS: %w", err)
	}
	gate.temporal = temporal
	return &TemporalClient{temporal, gate}, nil
}

// NamespaceGate blocks calls until the namespace is marked as this deployment's. Until its owner is
// known, each call checks again.
type NamespaceGate struct {
	temporal              client.Client
	namespace, deployment string

	asking singleflight.Group
	open   atomic.Bool
}

// gateTimeout is the timeout of one check of the namespace's owner.
const gateTimeout = 2 * time.Second

// asks marks the gate's own calls.
type asks struct{}

// ungated are the calls that need no check, by the last part of their names: they touch no
// workflows. The worker registers a namespace that its server lost.
var ungated = map[string]bool{
	"GetSystemInfo": true, "Check": true, "DescribeNamespace": true, "RegisterNamespace": true,
}

// CheckCallAllowed is called by the SDK before each call.
func (g *NamespaceGate) CheckCallAllowed(ctx context.Context, method string, _, _ any) error {
	if g.open.Load() || ctx.Value(asks{}) != nil || ungated[method[strings.LastIndexByte(method, '/')+1:]] {
		return nil
	}
	asked := g.asking.DoChan("", func() (any, error) {
		return nil, g.Check(context.WithoutCancel(ctx)) // other calls wait for it, too
	})
	select {
	case r := <-asked:
		if errors.Is(r.Err, ErrNotOurs) {
			return serviceerror.ToStatus(serviceerror.NewFailedPrecondition(r.Err.Error())).Err()
		}
		if r.Err != nil {
			return serviceerror.ToStatus(serviceerror.NewUnavailable(r.Err.Error())).Err()
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Check checks the owner of the namespace and marks it if it has none. ErrNotOurs closes the gate;
// another error leaves it unchanged.
func (g *NamespaceGate) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, asks{}, true), gateTimeout)
	defer cancel()
	owner, err := namespace.Claim(ctx, g.temporal.WorkflowService(), g.namespace, g.deployment)
	if err != nil {
		return err
	}
	if owner != g.deployment {
		g.open.Store(false)
		return fmt.Errorf(
			"TEMPORAL_NAMESPACE: the namespace %q %w (%s; this one, by DATABASE_URL, is %s): give each a namespace "+
				"of its own, `temporal operator namespace create -n NAME`, or correct the address. If the other is "+
				"gone for good: `temporal workflow terminate -n %s -w %s`",
			g.namespace, ErrNotOurs, owner, g.deployment, g.namespace, namespace.DeploymentWorkflow)
	}
	g.open.Store(true)
	return nil
}

// traceWorkflows returns the interceptors that trace workflows and activities; none without a
// tracer.
func traceWorkflows(tracer *telemetry.Tracer) ([]interceptor.ClientInterceptor, error) {
	if tracer == nil {
		return nil, nil
	}
	traced, err := opentelemetry.NewTracingInterceptor(opentelemetry.TracerOptions{
		Tracer: tracer.Provider().Tracer("go.temporal.io/sdk"), DisableBaggage: true, AllowInvalidParentSpans: true,
	})
	if err != nil {
		return nil, fmt.Errorf("trace workflows: %w", err)
	}
	return []interceptor.ClientInterceptor{traced}, nil
}
