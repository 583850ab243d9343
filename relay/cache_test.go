package relay

import (
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/chain"
	"github.com/chainaccess/gateway/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/upstream"
)

func TestOnlyPlainParametersAreServedFromTheCache(t *testing.T) {
	t.Parallel()
	eth, _ := chain.Lookup("eth_mainnet")
	solana, _ := chain.Lookup("solana_mainnet")
	for _, row := range []struct {
		on             *chain.Chain
		method, params string
		head           upstream.HeadKind
		ok             bool
	}{
		{eth, "eth_blockNumber", "", upstream.Latest, true},
		{eth, "eth_blockNumber", "[]", upstream.Latest, true},
		{eth, "eth_blockNumber", " [\r\n\t ] ", upstream.Latest, true},
		{eth, "eth_blockNumber", "[null]", upstream.Latest, false},
		{eth, "eth_blockNumber", "[" + strings.Repeat(" ", 100) + "]", upstream.Latest, false}, // plain, but not worth reading
		{eth, "eth_gasPrice", "[]", upstream.NoHead, true},
		{eth, "eth_gasPrice", "[1]", upstream.NoHead, false},
		{eth, "eth_call", "[]", upstream.NoHead, false},
		{eth, "eth_chainId", "[]", upstream.NoHead, false}, // answered by the service itself
		{solana, "getSlot", "", upstream.Latest, true},
		{solana, "getSlot", "[ {} ]", upstream.Latest, true},
		{solana, "getSlot", "[null]", upstream.Latest, true},
		{solana, "getSlot", `[{"commitment":"finalized"}]`, upstream.Latest, true},
		{solana, "getSlot", "[ { \"commitment\" :\n\"confirmed\" } ]", upstream.Confirmed, true},
		{solana, "getSlot", `[{"commitment":"processed"}]`, upstream.Processed, true},
		{solana, "getSlot", `[{"commitment":"confirmed "}]`, upstream.NoHead, false},
		{solana, "getSlot", `[{"commitment":"confirmed","minContextSlot":9}]`, upstream.NoHead, false},
		{solana, "getSlot", `[{"commitment":"\u0063onfirmed"}]`, upstream.NoHead, false},
	} {
		m, found := row.on.Method([]byte(row.method))
		if !found {
			t.Fatal(row.method)
		}
		head, ok := shortKey(m, []byte(row.params))
		if ok != row.ok || (ok && head != row.head) {
			t.Errorf("%s %s: %d %v, want %d %v", row.method, row.params, head, ok, row.head, row.ok)
		}
	}
}

func TestCommitmentsAreKeptApart(t *testing.T) {
	t.Parallel()
	clock := testkit.NewClock(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	pool, err := upstream.NewPool(config.Upstreams{Chains: map[string]config.ChainUpstreams{
		"solana_mainnet": {Upstreams: []config.Upstream{{Name: "up-0", URL: "http://127.0.0.1:1", Supply: "public"}}},
	}}, clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	on, _ := pool.Chain(chain.SolanaMainnet)
	m, _ := on.Method([]byte("getSlot"))
	c := newCache(clock.Now)
	confirmed, finalized := []byte(`[{"commitment":"confirmed"}]`), []byte(`[]`)
	c.put(on, m, confirmed, []byte("132"))
	if _, ok := c.get(on, m, finalized); ok {
		t.Error("a confirmed slot was given for a final one")
	}
	result := []byte("100")
	c.put(on, m, finalized, result)
	copy(result, "xxx") // the bytes belong to an answer that is reused
	if got, ok := c.get(on, m, []byte(`[{"commitment":"finalized"}]`)); !ok || string(got) != "100" {
		t.Errorf("got %s, %v", got, ok)
	}
	clock.Advance(m.TTL)
	if _, ok := c.get(on, m, finalized); ok {
		t.Error("a slot outlived its time")
	}
}
