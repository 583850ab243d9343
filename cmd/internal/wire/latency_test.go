package wire_test

import (
	"context"
	"log/slog"
	"math"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/flush"
	"github.com/chainaccess/gateway/metering/meter"
	"github.com/chainaccess/gateway/store"
	"github.com/chainaccess/gateway/store/usagedb"
)

// Latencies that an API process held in memory are in PostgreSQL after it stopped, and agree with
// its call records.
func TestLatency_RecordedFiguresAreThoseOfTheCalls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := makeKeys(t, b.cfg)[0] // of an account with a high rate limit
	for _, u := range b.upstreams {
		u.On("eth_call", testkit.Drip("0xfeed", time.Millisecond))
		u.On("eth_getBalance", testkit.Error(3, "execution reverted"))
		u.On("eth_estimateGas", testkit.Status(http.StatusInternalServerError))
	}
	const code = `["0x0000000000000000000000000000000000000001","latest"]`
	for range 20 {
		b.call(t, key, "eth_getCode", code, http.StatusOK, `"result":"0x6001"`)
		b.call(t, key, "eth_chainId", "[]", http.StatusOK, `"result":"0x2105"`)
	}
	for range 10 {
		b.call(t, key, "eth_call", `[{},"latest"]`, http.StatusOK, `"result":"0xfeed"`)
		b.call(t, key, "eth_getBalance", code, http.StatusOK, `execution reverted`) // also an answer
	}
	b.call(t, key, "eth_estimateGas", `[{}]`, http.StatusBadGateway, `"code":-32022`) // these get no answer
	b.call(t, key, "eth_accounts", "[]", http.StatusNotFound, `"code":-32601`)
	if err := b.serve.end(t); err != nil {
		t.Errorf("serve: %v", err)
	}
	if err := b.work.end(t); err != nil {
		t.Errorf("work: %v", err)
	}
	raw := durations(t, b.cfg.DatabaseURL)
	if len(raw["ok"]) != 40 || len(raw["hit"]) != 20 {
		t.Fatalf("%d calls and %d hits are recorded, want 40 and 20", len(raw["ok"]), len(raw["hit"]))
	}
	got := recordedLatency(t, b)
	relayed, hits, all := histogram(raw["ok"]), histogram(raw["hit"]), got.Answered()
	if got.Relayed != relayed || got.Hits != hits {
		t.Errorf("the record has %v and %v, the calls are %v and %v", got.Relayed, got.Hits, relayed, hits)
	}
	checkQuantiles(t, &all, append(raw["ok"], raw["hit"]...))
}

// recordedLatency flushes the meter and returns the histograms of the one account that made calls.
func recordedLatency(t *testing.T, b *bench) usagedb.LatencyFigures {
	t.Helper()
	s, err := store.Open(t.Context(), b.cfg.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m, err := meter.Open(t.Context(), b.cfg.RedisURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	if err := flush.New(m, s, flush.FromStore(s), flush.Options{Logger: slog.New(slog.DiscardHandler)}).FlushAll(
		t.Context()); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), b.cfg.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	var owner account.ID
	if err := conn.QueryRow(t.Context(), `SELECT DISTINCT account_id FROM calls`).Scan(&owner.UUID); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	figures, err := s.Latency(t.Context(), usagedb.LatencyQuery{
		Account: owner, Since: now.Add(-24 * time.Hour), Until: now.Add(time.Hour),
	})
	if err != nil || len(figures) != 1 {
		t.Fatalf("%d groups are recorded, %v", len(figures), err)
	}
	return figures[0]
}

// durations returns the durations of the call records by outcome.
func durations(t *testing.T, databaseURL string) map[string][]time.Duration {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), databaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	rows, err := conn.Query(t.Context(), `SELECT outcome, duration_us FROM calls`)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]time.Duration{}
	var outcome string
	var micros int64
	if _, err := pgx.ForEachRow(rows, []any{&outcome, &micros}, func() error {
		found[outcome] = append(found[outcome], time.Duration(micros)*time.Microsecond)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

func histogram(all []time.Duration) (l account.Latency) {
	for _, d := range all {
		l[account.LatencyBucketOf(d)]++
	}
	return l
}

// checkQuantiles verifies that p50 and p95 are in the bucket of the exact ones.
func checkQuantiles(t *testing.T, l *account.Latency, raw []time.Duration) {
	t.Helper()
	slices.Sort(raw)
	for _, q := range []float64{0.5, 0.95} {
		want := raw[int(math.Ceil(q*float64(len(raw))))-1]
		low, high := account.LatencyBounds(account.LatencyBucketOf(want))
		if got, ok := l.Quantile(q); !ok || got < low || got > high {
			t.Errorf("p%.0f is %s, of the calls themselves %s, in %s to %s", 100*q, got, want, low, high)
		} else {
			t.Logf("p%.0f is %s, of the calls themselves %s", 100*q, got, want)
		}
	}
}
