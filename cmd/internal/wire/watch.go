package wire

import (
	"context"
	"log/slog"
	"net"
	"time"

	"github.com/chainaccess/gateway/cmd/internal/listen"
	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/relay"
	"github.com/chainaccess/gateway/store/usagedb"
)

// watchAPI registers the metrics of the API role. It returns a listener that counts connections, to
// be used in place of the given one.
func watchAPI(b *base, server *apiServer, recorder *usagedb.Recorder, latencies *meter.Latencies, calls *relay.Relay,
	listener net.Listener,
) net.Listener {
	b.metrics.WatchCache(calls.CacheFigures)
	counted := listen.Count(listener)
	b.metrics.Calls.Expect(b.pool.Chains()...)
	b.metrics.Gauge("gateway_http_requests_in_flight", "HTTP requests that are being handled; a batch is one.",
		server.running.requests)
	b.metrics.Gauge("gateway_http_connections_open", "Connections of clients that are open.", counted.Connections)
	b.metrics.Gauge("gateway_call_records_buffered", "Call records in memory that are not written yet.",
		func() float64 { held, _ := recorder.Buffered(); return float64(held) })
	b.metrics.Gauge("gateway_call_records_buffer_limit", "Call records that are held at most; more are dropped.",
		func() float64 { _, limit := recorder.Buffered(); return float64(limit) })
	b.metrics.Counter("gateway_call_records_summed_total",
		"Refused calls that are in a sum instead of a record of their own.", func() float64 {
			return float64(recorder.Summed())
		})
	b.metrics.Counter("gateway_latencies_written_total",
		"Answered calls whose duration reached the meter, for the statistics of their accounts.", func() float64 {
			return float64(latencies.Written())
		})
	b.metrics.Counter("gateway_latencies_dropped_total",
		"Answered calls whose duration was left out because the book was full, or lost on its way.", func() float64 {
			return float64(latencies.Dropped())
		})
	return counted
}

// newTracer returns the tracer that cfg configures; nil for none.
func newTracer(ctx context.Context, cfg config.Config, role string, log *slog.Logger) (*telemetry.Tracer, error) {
	headers, err := cfg.TraceHeaders()
	if err != nil {
		return nil, err //nolint:wrapcheck // names its variable
	}
	return telemetry.NewTracer(ctx, telemetry.Tracing{
		Endpoint: cfg.TracesEndpoint(), Headers: headers, ServiceName: cfg.ServiceName, Role: role,
		Sampler: cfg.TracesSampler, Ratio: cfg.TracesSamplerArg, FollowClients: cfg.TraceFollowClients, Logger: log,
	})
}

const lastSpans = 3 * time.Second

// closeTracer sends the last spans. A collector that is down only causes a warning.
func closeTracer(ctx context.Context, tracer *telemetry.Tracer, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSpans)
	defer cancel()
	if err := tracer.Close(ctx); err != nil {
		log.Warn("the last traces are lost", "error", err)
	}
}
