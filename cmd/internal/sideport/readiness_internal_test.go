package sideport

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

func TestWorkerReadiness_SaysWhatDoesNotWork(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	measured := func(ago time.Duration) *upstream.Snapshot {
		return &upstream.Snapshot{Chain: chain.BaseMainnet, Head: 100, HeadKnown: true, MeasuredAt: now.Add(-ago)}
	}
	for name, tc := range map[string]struct {
		work     error
		snapshot *upstream.Snapshot
		status   int
		said     string // status of the chain's check
	}{
		"all is well": {nil, measured(time.Minute), http.StatusOK, "ok"},
		"an old head": {
			nil, measured(2 * time.Minute), http.StatusServiceUnavailable,
			"head is 2m0s old: look whether a worker runs and reaches Temporal",
		},
		"no head yet": {nil, nil, http.StatusServiceUnavailable, "head not known yet"},
		"Temporal is not set": {
			errors.New("durable work waits for Temporal"), measured(0), http.StatusServiceUnavailable, "ok",
		},
	} {
		t.Run(name, func(t *testing.T) {
			pool, err := upstream.NewPool(
				config.Upstreams{Chains: map[string]config.ChainUpstreams{"base_mainnet": {Upstreams: []config.Upstream{
					{Name: "first", URL: "http://127.0.0.1:1", Supply: "public"},
				}}}}, func() time.Time { return now })
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(pool.Close)
			if on, _ := pool.Chain(chain.BaseMainnet); tc.snapshot != nil {
				on.Apply(*tc.snapshot)
			}
			ready := WorkerReadiness(func() error { return tc.work }, pool)
			port := Port{Metrics: telemetry.NewMetrics(nil), Ready: ready}
			answer := httptest.NewRecorder()
			port.handler(false).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz",
				http.NoBody))
			var said readiness
			if err := json.Unmarshal(answer.Body.Bytes(), &said); err != nil {
				t.Fatalf("%v in %s", err, answer.Body)
			}
			in := expect.In(t, "%s", name)
			expect.Equal(in, answer.Code, tc.status)
			expect.Equal(in, said.Checks["chain base_mainnet"], tc.said)
			expect.Equal(in, said.Status == "ready", tc.status == http.StatusOK)
			if work := said.Checks["work"]; (tc.work == nil) != (work == "ok") ||
				(tc.work != nil && !strings.Contains(work, "Temporal")) {
				t.Errorf("of the work it says %q", work)
			}
		})
	}
}
