package testkit

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a received span. Ids are in hex; Attributes are those of the span itself, without its
// resource's.
type Span struct {
	Name               string
	TraceID, ID        string
	Parent             string   // empty for a root
	Links              []string // trace ids
	Attributes         map[string]string
	Resource           map[string]string
	StartNano, EndNano uint64
}

// TraceReceiver receives OpenTelemetry traces over HTTP (OTLP) and keeps them.
type TraceReceiver struct {
	URL string

	mu      sync.Mutex // guards what follows
	spans   []Span
	headers []http.Header
	text    strings.Builder
}

// Traces starts a receiver of traces.
func Traces(t testing.TB) *TraceReceiver {
	t.Helper()
	r := &TraceReceiver{}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.URL = server.URL + "/v1/traces"
	return r
}

// ServeHTTP receives one export.
func (r *TraceReceiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body := io.Reader(req.Body)
	if req.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(req.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unpacked
	}
	raw, err := io.ReadAll(io.LimitReader(body, 64<<20))
	var export collector.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(raw, &export) != nil || req.URL.Path != "/v1/traces" {
		http.Error(w, "no export of traces", http.StatusBadRequest)
		return
	}
	r.take(req.Header, &export)
	w.Header().Set("Content-Type", "application/x-protobuf")
	w.WriteHeader(http.StatusOK) // an empty body is an empty message
}

func (r *TraceReceiver) take(header http.Header, export *collector.ExportTraceServiceRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.headers = append(r.headers, header)
	r.text.WriteString(export.String())
	for _, resource := range export.GetResourceSpans() {
		about := words(resource.GetResource().GetAttributes())
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				span := Span{
					Name: s.GetName(), TraceID: fmt.Sprintf("%x", s.GetTraceId()), ID: fmt.Sprintf("%x", s.GetSpanId()),
					Parent: fmt.Sprintf("%x", s.GetParentSpanId()), Attributes: words(s.GetAttributes()),
					Resource: about, StartNano: s.GetStartTimeUnixNano(), EndNano: s.GetEndTimeUnixNano(),
				}
				for _, l := range s.GetLinks() {
					span.Links = append(span.Links, fmt.Sprintf("%x", l.GetTraceId()))
				}
				r.spans = append(r.spans, span)
			}
		}
	}
}

func words(list []*common.KeyValue) map[string]string {
	m := make(map[string]string, len(list))
	for _, kv := range list {
		switch v := kv.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			m[kv.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			m[kv.GetKey()] = fmt.Sprint(v.IntValue)
		default:
			m[kv.GetKey()] = kv.GetValue().String()
		}
	}
	return m
}

// Spans returns the received spans.
func (r *TraceReceiver) Spans() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Span(nil), r.spans...)
}

// Headers returns the headers of the exports.
func (r *TraceReceiver) Headers() []http.Header {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]http.Header(nil), r.headers...)
}

// Text returns everything that was received, for tests that something is absent.
func (r *TraceReceiver) Text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}
