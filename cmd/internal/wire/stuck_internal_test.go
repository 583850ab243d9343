package wire

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/telemetry"
	"github.com/chainaccess/gateway/wallet"
	"github.com/chainaccess/gateway/x402"
)

func TestStuckSettlementsAreCountedAsAMetric(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), testkit.Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for i, stage := range []x402.Stage{x402.StageStuck, x402.StageStuck, x402.StagePending} {
		id := x402.ID{Chain: 8453, Tx: x402.TxHash{1, 31: byte(i)}, Payer: wallet.Address{1}}
		if _, err := s.NoteSettlement(t.Context(), id, stage, "no_usable_answer", "It waits.", nil); err != nil {
			t.Fatal(err)
		}
	}
	m := telemetry.NewMetrics()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		watchStuck(ctx, s, m, slog.New(slog.DiscardHandler))
	}()
	defer func() { stop(); <-ended }()
	testkit.Eventually(t, time.Minute, func() bool {
		w := httptest.NewRecorder()
		promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
		return strings.Contains(w.Body.String(), "\ngateway_settlements_stuck 2\n")
	}, "the metric says 2")
}
