package api_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chainaccess/gateway/identity/account"
)

// record writes an account's usage from Redis to PostgreSQL, as a flush does.
func (g *gateway) record(id account.ID) {
	g.t.Helper()
	bucket := account.UsageBucket{
		Shard: account.Shard(id), Slot: time.Now().Truncate(10 * time.Second), Account: id,
		Generation: uuid.NewString(), Lines: g.linesOf(id),
	}
	g.must(g.store.CommitUsage(g.t.Context(), []account.UsageBucket{bucket}))
}

func TestStatement_ShowsWhatAKeyUsed(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.doorKey()
	id := g.identity(key)
	g.eth(key, "eth_call").result()
	g.eth(key, "eth_chainId").result()
	g.record(id.Account)
	var list struct {
		Scope   string
		Periods []struct{ Period, Status string }
	}
	g.must(json.Unmarshal([]byte(g.ask(http.MethodGet, "/api/statements", key, "").body), &list))
	month := time.Now().UTC().Format("2006-01") + "-01"
	if list.Scope != "account" || len(list.Periods) != 1 || list.Periods[0].Period != month ||
		list.Periods[0].Status != "open" {
		t.Fatalf("the list is %+v", list)
	}
	var s struct {
		Account, Period, Scope, Plan string
		Totals                       struct{ Requests, Units, CacheHits json.Number }
		Keys                         []struct{ ID, Prefix string }
	}
	a := g.ask(http.MethodGet, "/api/statements/"+month, key, "")
	g.must(json.Unmarshal([]byte(a.body), &s))
	if a.status != http.StatusOK || s.Account != id.Account.String() || s.Period != month || s.Totals.Requests != "2" ||
		s.Totals.Units != "1" ||
		len(s.Keys) != 1 || s.Keys[0].ID != id.Key.String() || s.Keys[0].Prefix != key[:12] {
		t.Errorf("the statement is %d %s", a.status, a.body)
	}
	table := g.ask(http.MethodGet, "/api/statements/"+month+".csv", key, "")
	if table.status != http.StatusOK || !strings.HasPrefix(table.header.Get("Content-Type"), "text/csv") ||
		strings.Count(table.body, "\r\n") != 2 ||
		table.header.Get("Content-Disposition") != "attachment; filename=statement-"+month+".csv" ||
		table.header.Get("Cache-Control") != "no-store" {
		t.Errorf("the table is %d %v %q", table.status, table.header, table.body)
	}
	for _, path := range []string{
		"/api/statements/2026-13-01", "/api/statements/2026-11-31", "/api/statements/x",
		"/api/statements/2026-13-01.csv", "/api/statements/2026-11",
	} {
		data := g.ask(http.MethodGet, path, key, "").refused(http.StatusUnprocessableEntity, -32602)
		if !strings.Contains(fmt.Sprint(data["fields"]), "period") {
			t.Errorf("%s is refused with %v", path, data)
		}
	}
	for _, path := range []string{
		"/api/statements/" + month[:8] + "02", "/api/statements/1999-01-01", "/api/statements/2199-01-01.csv",
	} {
		g.ask(http.MethodGet, path, key, "").refused(http.StatusNotFound, -32026)
	}
	g.ask(http.MethodGet, "/api/statements/"+month, "", "").refused(http.StatusUnauthorized, -32001)
	// Another account's usage must not appear in this one's.
	if other := g.ask(http.MethodGet, "/api/statements/"+month, g.doorKey(), ""); strings.Contains(other.body,
		id.Key.String()) {
		t.Errorf("another key sees %s", other.body)
	}
}

// The JSON of a closed statement is stored once and served byte for byte, followed by its hash.
func TestStatement_ClosedOneIsServedAsFrozen(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.doorKey()
	id := g.identity(key).Account
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	line := account.UsageLine{
		Period: "2026-01-01", Key: g.identity(key).Key, Chain: "eth_mainnet", Service: "rpc", Method: "eth_call",
		Class: "standard", Outcome: "ok", Source: "plan", Tier: "balanced", Requests: 3, Units: 1_500,
	}
	slot := time.Date(2026, time.January, 20, 0, 0, 0, 0, time.UTC)
	g.must(g.store.CommitUsage(ctx, []account.UsageBucket{
		{Shard: account.Shard(id), Slot: slot, Account: id, Generation: "test", Lines: []account.UsageLine{line}},
	}))
	g.must(g.store.SaveWatermarks(ctx, map[int]time.Time{account.Shard(id): time.Now()}))
	first := g.ask(http.MethodGet, "/api/statements/2026-01-01", key, "")
	content, hash, ok := strings.Cut(first.body, `,"content_hash":"sha256:`)
	if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(content+"}"))); !ok || hash != sum+`"}` ||
		!strings.Contains(content, `"status":"closed"`) {
		t.Errorf("got %d %s, whose hash is %s", first.status, first.body, sum)
	}
	if again := g.ask(http.MethodGet, "/api/statements/2026-01-01", key, ""); again.body != first.body {
		t.Errorf("again: %s", again.body)
	}
}
