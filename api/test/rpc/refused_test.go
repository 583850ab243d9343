package rpc_test

import (
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/store/usagedb"
)

// recordedRefusals returns how many refused calls have their own record, the size of those records
// in bytes, and how many refused calls are only in sums.
func recordedRefusals(g *apitest.Gateway) (rows, bytes, summed int64) {
	g.T.Helper()
	g.FlushRecords()
	conn, err := pgx.Connect(g.T.Context(), g.Database)
	g.Must(err)
	defer func() { _ = conn.Close(g.T.Context()) }()
	g.Must(conn.QueryRow(g.T.Context(), `SELECT count(*), coalesce(sum(pg_column_size(calls.*)), 0)::bigint,
(SELECT coalesce(sum(calls), 0)::bigint FROM refused_calls) FROM calls WHERE outcome NOT IN ('ok', 'hit')`).Scan(&rows,
		&bytes, &summed))
	return rows, bytes, summed
}

// attack sends so many batches of a hundred calls of an unknown method with each key, and returns
// the last answer of each key.
func attack(g *apitest.Gateway, keys []string, batches int) map[string]apitest.Answer {
	g.T.Helper()
	body, last := apitest.BatchOf(100, "eth_nothing"), map[string]apitest.Answer{}
	var mu sync.Mutex // guards last
	var all sync.WaitGroup
	free := make(chan struct{}, 16)
	for _, key := range keys {
		all.Go(func() {
			for range batches {
				free <- struct{}{}
				a := g.RPC(key, chain.EthMainnet, body)
				<-free
				mu.Lock()
				last[key] = a
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return last
}

// Regression test: with batches of refused items, a free key caused 12,932 records a second, one
// for each item.
func TestRefused_BatchesOfAFreeKeyLeaveAFewRecordsAndExactBooks(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	g.Eth(key, "eth_call").Result()
	const batches = 100
	begun := time.Now()
	a := attack(g, []string{key}, batches)[key]
	took := time.Since(begun)
	minutes := int64(took/time.Minute) + 2
	rows, bytes, summed := recordedRefusals(g)
	t.Logf("%d refused items in %s: %d records of %d bytes, %d in sums", 100*batches, took, rows, bytes, summed)
	// Two reasons: the method is unknown, until the rate window refuses.
	if rows+summed != 100*batches || rows > minutes*60 {
		t.Errorf("%d records and %d in sums of %d refused calls", rows, summed, 100*batches)
	}
	if calls := g.Calls(a); len(calls) == 0 {
		t.Error("the newest request has no record")
	}
	used := g.Usage(key)
	refused := used["method_not_served"].Requests + used["rate_window"].Requests
	expect.Equal(t, refused, 100*batches)
	expect.Equal(t, used["ok"].Requests, 1)
	expect.Equal(t, used["ok"].Units, 1000)
	expect.Len(t, used, 3)
	g.Record(g.Identity(key).Account)
	var s struct {
		Totals struct{ Requests, Units, Refusals json.Number }
	}
	month := time.Now().UTC().Format("2006-01") + "-01"
	g.Must(json.Unmarshal([]byte(g.Ask(http.MethodGet, "/api/statements/"+month, key, "").Body), &s))
	expect.Equal(t, s.Totals.Requests, "10001")
	expect.Equal(t, s.Totals.Refusals, "10000")
	expect.Equal(t, s.Totals.Units, "1")
	beyond, err := g.Store.RefusedBeyond(t.Context(), &usagedb.UsageWindow{
		Account: g.Identity(key).Account, Since: begun.Add(-time.Hour),
	})
	if err != nil || beyond != summed {
		t.Errorf("%d calls of the account were only counted (%v), want %d", beyond, err, summed)
	}
}

// Each item of a batch counts against the limit of its network, whatever its key.
func TestRefused_ItemsOfBatchesCountOneByOneAgainstTheirNetwork(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	keys := make([]string, 100)
	for i := range keys {
		keys[i] = g.DoorKey()
	}
	begun := time.Now()
	attack(g, keys, 1)
	minutes := int64(time.Since(begun)/time.Minute) + 2
	rows, bytes, summed := recordedRefusals(g)
	t.Logf("%d records of %d bytes, %d in sums", rows, bytes, summed)
	if rows+summed != 100*100 || rows > minutes*600 {
		t.Errorf("%d records and %d in sums of 10,000 refused calls of one network", rows, summed)
	}
}

// Calls that fail after admission, and calls that are answered, have a record each.
func TestRefused_CallsThatWereAdmittedKeepTheirRecords(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.Unlimited()
	for _, u := range g.Ups {
		u.On("eth_getCode", testkit.Status(http.StatusBadGateway))
	}
	failed, answered := g.RPC(key, chain.EthMainnet, apitest.BatchOf(50, "eth_getCode")), g.RPC(key, chain.EthMainnet,
		apitest.BatchOf(50, "eth_call"))
	for _, a := range []apitest.Answer{failed, answered} {
		if calls := g.Calls(a); len(calls) != 50 {
			t.Errorf("%d records of 50 calls", len(calls))
		}
	}
}
