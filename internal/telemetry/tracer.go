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

// Tracing is what the operator has configured of traces.
type Tracing struct {
	Endpoint    string            // address of a receiver of OTLP over HTTP, path included; empty for no traces
	Headers     map[string]string // to the receiver; may hold a credential
	ServiceName string
	Role        string // of the process: api or worker
	Sampler     string // a value of OTEL_TRACES_SAMPLER
	Ratio       float64
	// FollowClients continues the trace that a client's traceparent names. Otherwise it becomes a
	// link, so that no client decides what is sampled.
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

// Tracer makes spans. A nil one makes none, at no cost: its methods and those of the spans it gives
// do nothing.
type Tracer struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	follow   bool
}

const complainEvery = time.Minute

// NewTracer makes a tracer that sends spans in the background, and drops them when the receiver is
// too slow. It is nil when no endpoint is configured. Close it.
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

// refusedStatus is where the exporter's error has the status of an answer.
var refusedStatus = regexp.MustCompile(`: ([1-5][0-9]{2}) [A-Za-z -]*\(body: `)

// undelivered says in our words why traces did not arrive. The error's own may hold the receiver's
// address, and with it a credential, or what the receiver answered.
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

// Close sends what is left, until ctx ends.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("send the last traces: %s", undelivered(err)) //nolint:errorlint // its text is not ours
	}
	return nil
}

// Provider is for libraries that make spans of their own; nil when nothing is traced.
func (t *Tracer) Provider() trace.TracerProvider {
	if t == nil {
		return nil
	}
	return t.provider
}

// Request begins the span of an HTTP request on a route. route is a pattern of ours, never a path
// of the client's.
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
	client = client.WithTraceState(trace.TraceState{}) // its text is the client's
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

// Start begins a span within that of ctx. Without one that is recorded there is none to begin.
func (t *Tracer) Start(ctx context.Context, name string) (context.Context, *Span) {
	if t == nil || !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, nil
	}
	ctx, span := t.tracer.Start(ctx, name) //nolint:spancheck // ended by Span.End
	return ctx, spanOf(span)               //nolint:spancheck // as above
}

// Current is the span of ctx, nil when it has none that is recorded.
func (t *Tracer) Current(ctx context.Context) *Span {
	if t == nil {
		return nil
	}
	return spanOf(trace.SpanFromContext(ctx))
}

// Span is a timed step of a request. A nil one takes everything and does nothing.
type Span struct{ span trace.Span }

func spanOf(span trace.Span) *Span {
	if !span.IsRecording() {
		return nil
	}
	return &Span{span}
}

// Set notes a word on the span: of ours, of the catalog or of the operator's configuration, never
// of a client or an upstream.
func (s *Span) Set(key, value string) {
	if s != nil && value != "" {
		s.span.SetAttributes(attribute.String(key, value))
	}
}

// SetInt notes a number on the span.
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
