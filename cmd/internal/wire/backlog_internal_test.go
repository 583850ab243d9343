package wire

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/chainaccess/gateway/billing/subscription"
	"github.com/chainaccess/gateway/identity/wallet"
	"github.com/chainaccess/gateway/internal/telemetry"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/messaging/ticket"
	"github.com/chainaccess/gateway/payments/x402"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/chaindb"
)

// scraped returns the metrics as they are served.
func scraped(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(m.Registry, promhttp.HandlerOpts{}).ServeHTTP(w,
		httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	if w.Code != http.StatusOK {
		t.Fatalf("a scrape is %d %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestBacklog_IsServedAsLongAsPostgreSQLReportsIt(t *testing.T) {
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
	m, at := telemetry.NewMetrics(nil), time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	w := backlogWatch{
		record: s, figures: m.WatchBacklog(), chains: func() []chain.ID { return []chain.ID{chain.EthMainnet} },
		final: time.Hour, now: func() time.Time { return at }, log: slog.New(slog.DiscardHandler),
	}
	if text := scraped(t, m); strings.Contains(text, "gateway_settlements") ||
		strings.Contains(text, "gateway_backlog") {
		t.Error("figures are served before any was read")
	}
	w.read(t.Context())
	readAt := "\ngateway_backlog_read_timestamp_seconds 1.795176e+09\n"
	for _, want := range []string{
		readAt, "\ngateway_settlements_stuck 2\n", "\ngateway_settlements_last_day{stage=\"pending\"} 1\n",
		"\ngateway_tickets_waiting{priority=\"urgent\"} 0\n",
		"\ngateway_chain_status{chain=\"eth_mainnet\",state=\"unknown\"} 1\n",
	} {
		if text := scraped(t, m); !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	s.Close()
	at = at.Add(time.Minute)
	w.read(t.Context())
	if text := scraped(t, m); strings.Contains(text, "gateway_settlements") || !strings.Contains(text, readAt) {
		t.Error("old figures pass for new ones, or when they were read is not told, while the record is away")
	}
}

func TestBacklog_FiguresHaveKnownLabelsAndServedChainsOnly(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
	b := &store.Backlog{
		Subscriptions: map[subscription.Status]int64{subscription.PastDue: 3, "of a later version": 2},
		Tickets: map[ticket.Priority]store.Wait{
			ticket.High: {Count: 4, Oldest: time.Hour}, "of a later version": {Count: 1},
		},
		Chains: map[chain.ID]chaindb.ChainMeasurement{
			chain.EthMainnet: {At: now.Add(-time.Minute), State: chain.Degraded},
			chain.BaseMainnet: {
				At: now.Add(-3 * time.Minute), State: chain.Up,
			}, "served_once": {At: now, State: chain.Down},
		},
		Incidents: map[chain.ID]bool{chain.BaseMainnet: true, "served_once": true},
	}
	m := telemetry.NewMetrics(nil)
	m.WatchBacklog().Set(figuresOf(b, []chain.ID{chain.EthMainnet, chain.BaseMainnet}, now), now)
	text := scraped(t, m)
	for _, want := range []string{
		`gateway_subscriptions{status="past_due"} 3`, `gateway_subscriptions{status="other"} 2`,
		`gateway_subscriptions{status="active"} 0`, `gateway_tickets_waiting{priority="high"} 4`,
		`gateway_tickets_oldest_wait_seconds{priority="high"} 3600`,
		`gateway_chain_status{chain="eth_mainnet",state="degraded"} 1`,
		`gateway_chain_status{chain="eth_mainnet",state="up"} 0`,
		`gateway_chain_status{chain="base_mainnet",state="unknown"} 1`,
		`gateway_chain_status{chain="base_mainnet",state="up"} 0`, `gateway_incident_open{chain="base_mainnet"} 1`,
		`gateway_incident_open{chain="eth_mainnet"} 0`,
	} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("%s is not served", want)
		}
	}
	if strings.Contains(text, "of a later version") || strings.Contains(text, "served_once") {
		t.Error("a word that is not ours, or a chain that is served no more, became a label")
	}
}
