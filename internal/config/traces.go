package config

import (
	"errors"
	"net/url"
	"slices"
	"strings"
)

// samplers are the values of OTEL_TRACES_SAMPLER (OpenTelemetry's specification of environment
// variables) that need no outside service.
var samplers = []string{
	"always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off",
	"parentbased_traceidratio",
}

func (c *Config) checkTraces(f *faults) {
	f.check(c.OTLPEndpoint == "" || validReceiver(c.OTLPEndpoint), "OTEL_EXPORTER_OTLP_ENDPOINT",
		"must be an http:// or https:// address")
	f.check(c.OTLPTracesEndpoint == "" || validReceiver(c.OTLPTracesEndpoint), "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
		"must be an http:// or https:// address")
	_, err := c.TraceHeaders()
	f.check(err == nil, "OTEL_EXPORTER_OTLP_HEADERS", headersForm)
	f.check(c.OTLPProtocol == "http/protobuf", "OTEL_EXPORTER_OTLP_PROTOCOL", "must be http/protobuf")
	f.check(c.ServiceName != "", "OTEL_SERVICE_NAME", "must not be empty")
	f.check(slices.Contains(samplers, c.TracesSampler), "OTEL_TRACES_SAMPLER",
		"must be one of "+strings.Join(samplers, ", "))
	f.check(c.TracesSamplerArg >= 0 && c.TracesSamplerArg <= 1, "OTEL_TRACES_SAMPLER_ARG", "must be between 0 and 1")
}

func validReceiver(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

// TracesEndpoint returns the URL to which traces are sent; empty when tracing is off.
func (c *Config) TracesEndpoint() string {
	switch {
	case c.OTLPTracesEndpoint != "":
		return c.OTLPTracesEndpoint
	case c.OTLPEndpoint != "":
		return strings.TrimRight(c.OTLPEndpoint, "/") + "/v1/traces"
	}
	return ""
}

const headersForm = "must be name=value pairs, parted by commas, with values in percent encoding"

// TraceHeaders returns the headers of trace exports. They may hold a credential.
func (c *Config) TraceHeaders() (map[string]string, error) {
	headers := map[string]string{}
	for pair := range strings.SplitSeq(c.OTLPHeaders, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		name = strings.TrimSpace(name)
		decoded, err := url.PathUnescape(strings.TrimSpace(value))
		if !ok || err != nil || name == "" || strings.ContainsAny(name+decoded, "\r\n") {
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS " + headersForm)
		}
		headers[name] = decoded
	}
	return headers, nil
}
