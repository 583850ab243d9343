package keys_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/api/internal/apitest"
	"github.com/chainaccess/gateway/identity/account"
	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/internal/testkit/require"
)

func TestStatement_ShowsWhatAKeyUsed(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	id := g.Identity(key)
	g.Eth(key, "eth_call").Result()
	g.Eth(key, "eth_chainId").Result()
	g.Record(id.Account)
	var list struct {
		Scope   string
		Periods []struct{ Period, Status string }
	}
	g.Must(json.Unmarshal([]byte(g.Ask(http.MethodGet, "/api/statements", key, "").Body), &list))
	month := time.Now().UTC().Format("2006-01") + "-01"
	require.Equal(t, list.Scope, "account")
	require.Len(t, list.Periods, 1)
	require.Equal(t, list.Periods[0].Period, month)
	require.Equal(t, list.Periods[0].Status, "open")
	var s struct {
		Account, Period, Scope, Plan string
		Totals                       struct{ Requests, Units, CacheHits json.Number }
		Keys                         []struct{ ID, Prefix string }
	}
	a := g.Ask(http.MethodGet, "/api/statements/"+month, key, "")
	g.Must(json.Unmarshal([]byte(a.Body), &s))
	expect.Equal(t, a.Status, http.StatusOK)
	expect.Equal(t, s.Account, id.Account.String())
	expect.Equal(t, s.Period, month)
	expect.Equal(t, s.Totals.Requests, "2")
	expect.Equal(t, s.Totals.Units, "1")
	require.Len(t, s.Keys, 1)
	expect.Equal(t, s.Keys[0].ID, id.Key.String())
	expect.Equal(t, s.Keys[0].Prefix, key[:12])
	table := g.Ask(http.MethodGet, "/api/statements/"+month+".csv", key, "")
	expect.Equal(t, table.Status, http.StatusOK)
	expect.HasPrefix(t, table.Header.Get("Content-Type"), "text/csv")
	expect.Equal(t, strings.Count(table.Body, "\r\n"), 2, table.Body)
	expect.Equal(t, table.Header.Get("Content-Disposition"), "attachment; filename=statement-"+month+".csv")
	expect.Equal(t, table.Header.Get("Cache-Control"), "no-store")
	for _, path := range []string{
		"/api/statements/2026-13-01", "/api/statements/2026-11-31", "/api/statements/x",
		"/api/statements/2026-13-01.csv", "/api/statements/2026-11",
	} {
		data := g.Ask(http.MethodGet, path, key, "").Refused(http.StatusUnprocessableEntity, -32602)
		if !strings.Contains(fmt.Sprint(data["fields"]), "period") {
			t.Errorf("%s is refused with %v", path, data)
		}
	}
	for _, path := range []string{
		"/api/statements/" + month[:8] + "02", "/api/statements/1999-01-01", "/api/statements/2199-01-01.csv",
	} {
		g.Ask(http.MethodGet, path, key, "").Refused(http.StatusNotFound, -32026)
	}
	g.Ask(http.MethodGet, "/api/statements/"+month, "", "").Refused(http.StatusUnauthorized, -32001)
	// Another account's usage must not appear in this one's.
	if other := g.Ask(http.MethodGet, "/api/statements/"+month, g.DoorKey(), ""); strings.Contains(other.Body,
		id.Key.String()) {
		t.Errorf("another key sees %s", other.Body)
	}
}

// The JSON of a closed statement is stored once and served byte for byte, followed by its hash.
func TestStatement_ClosedOneIsServedAsFrozen(t *testing.T) {
	t.Parallel()
	g := apitest.Setup(t)
	key := g.DoorKey()
	id := g.Identity(key).Account
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	line := account.UsageLine{
		Period: "2026-01-01", Key: g.Identity(key).Key, Chain: "eth_mainnet", Service: "rpc", Method: "eth_call",
		Class: "standard", Outcome: "ok", Source: "plan", Tier: "balanced", Requests: 3, Units: 1_500,
	}
	slot := time.Date(2026, time.January, 20, 0, 0, 0, 0, time.UTC)
	g.Must(g.Store.CommitUsage(ctx, []account.UsageBucket{
		{Shard: account.Shard(id), Slot: slot, Account: id, Generation: "test", Lines: []account.UsageLine{line}},
	}))
	g.Must(g.Store.SaveWatermarks(ctx, map[int]time.Time{account.Shard(id): time.Now()}))
	first := g.Ask(http.MethodGet, "/api/statements/2026-01-01", key, "")
	content, hash, ok := strings.Cut(first.Body, `,"content_hash":"sha256:`)
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(content+"}")))
	require.True(t, ok, first.Status, first.Body)
	expect.Equal(t, hash, sum+`"}`)
	expect.Contains(t, content, `"status":"closed"`)
	if again := g.Ask(http.MethodGet, "/api/statements/2026-01-01", key, ""); again.Body != first.Body {
		t.Errorf("again: %s", again.Body)
	}
}
