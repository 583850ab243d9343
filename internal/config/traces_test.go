package config

import (
	"maps"
	"testing"
)

func TestTraces_GoWhereTheVariablesSay(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ base, whole, want string }{
		{"", "", ""},
		{"http://collector:4318", "", "http://collector:4318/v1/traces"},
		{"https://example.org/otlp/", "", "https://example.org/otlp/v1/traces"},
		{"http://collector:4318", "https://example.org/custom", "https://example.org/custom"},
		{"", "https://example.org/custom", "https://example.org/custom"},
	} {
		t.Run(tc.base, func(t *testing.T) {
			c, err := fromMap(Serve, environment(map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT": tc.base, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": tc.whole,
			}))
			if err != nil {
				t.Fatal(err)
			}
			if got := c.TracesEndpoint(); got != tc.want {
				t.Errorf("%q and %q: traces go to %q, want %q", tc.base, tc.whole, got, tc.want)
			}
		})
	}
}

func TestTraceHeaders_ArePairsInPercentEncoding(t *testing.T) {
	t.Parallel()
	c, err := fromMap(Worker, environment(map[string]string{
		"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20a%3D%3D , x-tenant = 7,",
	}))
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.TraceHeaders()
	if want := map[string]string{"Authorization": "Bearer a==", "x-tenant": "7"}; err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v; want %v", got, err, want)
	}
}
