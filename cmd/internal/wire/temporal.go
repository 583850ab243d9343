package wire

import (
	"fmt"
	"log/slog"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"
	temporallog "go.temporal.io/sdk/log"

	"github.com/chainaccess/gateway/config"
	"github.com/chainaccess/gateway/telemetry"
)

// dialTemporal gives a client that connects with its first use, so that a role starts and works while Temporal is away.
func dialTemporal(cfg config.Config, tracer *telemetry.Tracer, log *slog.Logger) (client.Client, error) {
	traced, err := traceWorkflows(tracer)
	if err != nil {
		return nil, err
	}
	temporal, err := client.NewLazyClient(client.Options{
		HostPort: cfg.TemporalAddress, Namespace: cfg.TemporalNamespace,
		Logger: temporallog.NewStructuredLogger(log), Interceptors: traced,
	})
	if err != nil {
		return nil, fmt.Errorf("TEMPORAL_ADDRESS: %w", err)
	}
	return temporal, nil
}

// traceWorkflows gives what makes spans of workflows and activities; nothing when nothing is traced.
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
