package wire

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/telemetry"
)

func TestMetricsOnLoopbackAnswerOnlyThoseWhoNameThisMachine(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics()
	for _, tc := range []struct {
		host     string
		loopback bool // the listener is
		status   int
	}{
		{"127.0.0.1:9464", true, http.StatusOK},
		{"127.8.9.10", true, http.StatusOK},
		{"localhost:9464", true, http.StatusOK},
		{"LocalHost", true, http.StatusOK},
		{"[::1]:9464", true, http.StatusOK},
		{"[::ffff:127.0.0.1]:9464", true, http.StatusOK},
		{"attacker.example:9464", true, http.StatusForbidden}, // its name may resolve to 127.0.0.1
		{"localhost.attacker.example", true, http.StatusForbidden},
		{"10.0.0.7:9464", true, http.StatusForbidden},
		{"", true, http.StatusForbidden},
		{"api:9464", false, http.StatusOK}, // an operator opened the port, and Prometheus asks by name
	} {
		for _, path := range []string{"/metrics", "/debug/pprof/", "/debug/pprof/heap"} {
			answer, ask := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
			ask.Host = tc.host
			metricsHandler(m, tc.loopback).ServeHTTP(answer, ask)
			if answer.Code != tc.status {
				t.Errorf("%s of host %q, loopback %v: %d, want %d", path, tc.host, tc.loopback, answer.Code, tc.status)
			}
			if tc.status == http.StatusForbidden && strings.Contains(answer.Body.String(), "goroutine") {
				t.Errorf("a refusal shows %s", answer.Body)
			}
		}
	}
	for address, want := range map[string]bool{"127.0.0.1:9464": true, "[::1]:1": true, "[::]:9464": false, "0.0.0.0:9464": false, "10.0.0.7:9464": false} {
		if isLoopback(address) != want {
			t.Errorf("a listener on %s is loopback: %v", address, !want)
		}
	}
}
