package telemetry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Tracing is the operator's configuration of traces.
type Tracing struct {
	Endpoint    string            // URL of an OTLP receiver over HTTP, including the path; empty for no traces
	Headers     map[string]string // to the receiver; may hold a credential
	ServiceName string
	Role        string // of the process: api or worker
	Sampler     string // a value of OTEL_TRACES_SAMPLER
	Ratio       float64
	// FollowClients continues the trace of a client's traceparent. Otherwise that trace becomes a
	// link, so that clients do not control sampling.
	FollowClients bool
	Logger        *slog.Logger
}

func (o *Tracing) sampler() (sdktrace.Sampler, error) {
	switch o.Sampler {
	case "always_on":
		return sdktrace.AlwaysSample(), nil
	case "always_off":
		return sdktrace.NeverSample(), nil
	case "traceidratio":
		return sdktrace.TraceIDRatioBased(o.Ratio), nil
	case "parentbased_always_on":
		return sdktrace.ParentBased(sdktrace.AlwaysSample()), nil
	case "parentbased_always_off":
		return sdktrace.ParentBased(sdktrace.NeverSample()), nil
	case "parentbased_traceidratio":
		return sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.Ratio)), nil
	}
	return nil, fmt.Errorf("OTEL_TRACES_SAMPLER: there is no sampler %q", o.Sampler)
}

// Tracer creates spans. A nil *Tracer and the nil spans that it returns do nothing, at no cost.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	follow   bool
}

const complainEvery = time.Minute

// NewTracer returns a tracer that exports spans in the background and drops spans when the receiver
// is too slow. It returns nil when no endpoint is configured. The caller closes it.
func NewTracer(ctx context.Context, o Tracing) (*Tracer, error) {
	if o.Endpoint == "" {
		return nil, nil //nolint:nilnil // no tracer is a tracer that does nothing
	}
	sampler, err := o.sampler()
	if err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(o.Endpoint),
		otlptracehttp.WithHeaders(o.Headers))
	if err != nil {
		return nil, fmt.Errorf(
			"traces: the receiver cannot be set up (%s): check its address, its headers and its certificates",
			undelivered(err))
	}
	about, err := resource.New(ctx, resource.WithFromEnv(), resource.WithAttributes(
		attribute.String("service.name", o.ServiceName), attribute.String("gateway.role", o.Role)))
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("traces: OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	limit := NewLogLimit[string](1, complainEvery, time.Now)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		if leftOut, ok := limit.Let(""); ok {
			o.Logger.Warn("traces not delivered; calls are not affected", "left_out", leftOut, "error",
				undelivered(err))
		}
	}))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithSampler(sampler),
		sdktrace.WithResource(about))
	return &Tracer{
		provider: provider, tracer: provider.Tracer("github.com/chainaccess/gateway"), follow: o.FollowClients,
	}, nil
}

// refusedStatus matches the HTTP status in an exporter's error.
var refusedStatus = regexp.MustCompile(`: ([1-5][0-9]{2}) [A-Za-z -]*\(body: `)

// undelivered describes why traces did not arrive. The error's own text may hold the receiver's
// address, which may contain a credential, or its answer.
func undelivered(err error) string {
	if timeout, ok := errors.AsType[net.Error](err); errors.Is(err, context.DeadlineExceeded) ||
		(ok && timeout.Timeout()) {
		return "the receiver did not answer in time"
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "the receiver's name is not known"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "the receiver's certificate is not trusted"
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return "the receiver cannot be reached"
	}
	if strings.Contains(err.Error(), "retry-able request failure") {
		return "the receiver answered that it cannot take them now"
	}
	if status := refusedStatus.FindStringSubmatch(err.Error()); status != nil {
		return "the receiver answered with HTTP " + status[1]
	}
	return "the exporter failed"
}

// Close exports the remaining spans. It stops when ctx ends.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send the last traces: %s", undelivered(err)) //nolint:errorlint // its text is not ours
	}
	return nil
}

// Provider returns a provider for libraries with spans of their own; nil when tracing is off.
func (t *Tracer) Provider() trace.TracerProvider {
	if t == nil {
		return nil
	}
	return t.provider
}

// Request starts the span of an HTTP request on a route. route is a pattern of ours, never a path
// from the client.
func (t *Tracer) Request(r *http.Request, route, requestID string) (context.Context, *Span) {
	if t == nil {
		return r.Context(), nil
	}
	ctx, name := r.Context(), "unknown route"
	attributes := []attribute.KeyValue{attribute.String("gateway.request_id", requestID)}
	if route != "" {
		name = r.Method + " " + route // a method that has a route
		attributes = append(attributes, attribute.String("http.request.method", r.Method),
			attribute.String("http.route", route))
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attributes...)}
	client := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(),
		propagation.HeaderCarrier(r.Header)))
	client = client.WithTraceState(trace.TraceState{}) // its text comes from the client
	switch {
	case !client.IsValid():
	case t.follow:
		ctx = trace.ContextWithRemoteSpanContext(ctx, client)
	default:
		options = append(options, trace.WithLinks(trace.Link{SpanContext: client}))
	}
	ctx, span := t.tracer.Start(ctx, name, options...) //nolint:spancheck // ended by Span.End
	return ctx, spanOf(span)                           //nolint:spancheck // as above
}

// Start starts a child of the span in ctx. It returns a nil span when that span is not recorded.
func (t *Tracer) Start(ctx context.Context, name string) (context.Context, *Span) {
	if t == nil || !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, nil
	}
	ctx, span := t.tracer.Start(ctx, name) //nolint:spancheck // ended by Span.End
	return ctx, spanOf(span)               //nolint:spancheck // as above
}

// Current returns the recorded span of ctx; nil when there is none.
func (t *Tracer) Current(ctx context.Context) *Span {
	if t == nil {
		return nil
	}
	return spanOf(trace.SpanFromContext(ctx))
}

// Span is a timed step of a request. The methods of a nil *Span do nothing.
type Span struct{ span trace.Span }

func spanOf(span trace.Span) *Span {
	if !span.IsRecording() {
		return nil
	}
	return &Span{span}
}

// Set sets an attribute. value must be a constant of ours, or come from the catalog or the
// operator's configuration, never from a client or an upstream.
func (s *Span) Set(key, value string) {
	if s != nil && value != "" {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// SetInt sets an integer attribute.
func (s *Span) SetInt(key string, value int) {
	if s != nil {
		s.span.SetAttributes(attribute.Int(key, value))
	}
}

// End ends the span.
func (s *Span) End() {
	if s != nil {
		s.span.End()
	}
}
