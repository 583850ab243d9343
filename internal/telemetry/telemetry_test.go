package telemetry_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/internal/testkit/expect"
)

func TestLog_JSONIsOneObjectPerLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := telemetry.NewLogger(&out, "json", slog.LevelInfo)
	log.Info("call failed", "request_id", "r-1", "cause", "two\nlines")
	log.With("chain", "eth_mainnet").Warn("board not readable")
	var lines []map[string]any
	for line := range strings.Lines(out.String()) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		lines = append(lines, fields)
	}
	if len(lines) != 2 {
		t.Fatalf("two messages made %d lines: %s", len(lines), out.String())
	}
	l := lines[0]
	in := expect.In(t, "first line")
	expect.Equal[any](in, l["msg"], "call failed")
	expect.Equal[any](in, l["level"], "INFO")
	expect.Equal[any](in, l["request_id"], "r-1")
	expect.Equal[any](in, l["cause"], "two\nlines")
	expect.NotEqual(in, l["time"], nil)
	if l := lines[1]; l["level"] != "WARN" || l["chain"] != "eth_mainnet" {
		t.Errorf("second line is %v", l)
	}
}

func TestLog_TextIsReadable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	telemetry.NewLogger(&out, "text", slog.LevelInfo).Error("refund failed", "units", 1000)
	if line := out.String(); !strings.Contains(line, `level=ERROR msg="refund failed" units=1000`) ||
		strings.Count(line, "\n") != 1 {
		t.Errorf("got %q", line)
	}
}

func TestLog_LevelKeepsQuieterMessagesOut(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "text"} {
		for _, level := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
			var out bytes.Buffer
			log := telemetry.NewLogger(&out, format, level)
			for _, l := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
				log.Log(t.Context(), l, "word")
			}
			if got, want := strings.Count(out.String(), "\n"), int(slog.LevelError-level)/4+1; got != want {
				t.Errorf("%s at %s writes %d of four levels, want %d", format, level, got, want)
			}
		}
	}
}

// scrape returns the exposition of a process's metrics.
func scrape(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	answer, ask := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics",
		http.NoBody)
	promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{}).ServeHTTP(answer, ask)
	return answer.Body.String()
}

func TestMetrics_CountersAreExposedFromZero(t *testing.T) {
	t.Parallel()
	m := telemetry.NewMetrics(nil)
	names := map[string]func(){
		"gateway_call_records_written_total":  m.CallRecordsWritten.Inc,
		"gateway_call_records_dropped_total":  m.CallRecordsDropped.Inc,
		"gateway_usage_buckets_flushed_total": m.UsageFlushed.Inc,
		"gateway_usage_flush_errors_total":    m.UsageFlushErrors.Inc,
	}
	before := scrape(t, m)
	for name, inc := range names {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(before, "\n"+name+" 0\n") {
				t.Errorf("%s is not exposed before it counts", name)
			}
			inc()
		})
	}
	after := scrape(t, m)
	for name := range names {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(after, "\n"+name+" 1\n") {
				t.Errorf("%s did not count", name)
			}
		})
	}
	if !strings.Contains(after, "\ngo_goroutines ") {
		t.Error("the runtime's own figures are not exposed")
	}
}

// Each process has its own registry, so that two roles in one process count separately.
func TestMetrics_TwoSetsCountApart(t *testing.T) {
	t.Parallel()
	one, other := telemetry.NewMetrics(nil), telemetry.NewMetrics(nil)
	one.UsageFlushed.Add(3)
	if got := scrape(t, other); !strings.Contains(got, "\ngateway_usage_buckets_flushed_total 0\n") {
		t.Error("a count of one shows in the other")
	}
}
