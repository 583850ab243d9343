package relay

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/chainaccess/gateway/internal/config"
	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/relay/cache"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

func TestCache_ServesOnlyPlainParameters(t *testing.T) {
	t.Parallel()
	eth, _ := chain.BuiltIn().Lookup("eth_mainnet")
	solana, _ := chain.BuiltIn().Lookup("solana_mainnet")
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
		// empty, but too long to be read
		{eth, "eth_blockNumber", "[" + strings.Repeat(" ", plainMost) + "]", upstream.Latest, false},
		{eth, "eth_gasPrice", "[]", upstream.NoHead, true},
		{eth, "eth_gasPrice", "[1]", upstream.NoHead, false},
		{eth, "eth_call", "[]", upstream.NoHead, false},
		{eth, "eth_chainId", "[]", upstream.NoHead, false}, // answered by the gateway itself
		{solana, "getSlot", "", upstream.Latest, true},
		{solana, "getSlot", "[ {} ]", upstream.Latest, true},
		{solana, "getSlot", "[null]", upstream.Latest, true},
		{solana, "getSlot", `[{"commitment":"finalized"}]`, upstream.Latest, true},
		{solana, "getSlot", "[ { \"commitment\" :\n\"confirmed\" } ]", upstream.Confirmed, true},
		{solana, "getSlot", `[{"\u0063ommitment":"\u0063onfirmed"}]`, upstream.Confirmed, true},
		{solana, "getSlot", `[{"commitment":"processed"}]`, upstream.Processed, true},
		{solana, "getSlot", `[{"commitment":"confirmed "}]`, upstream.NoHead, false},
		{solana, "getSlot", `[{"commitment":"confirmed","commitment":"confirmed"}]`, upstream.NoHead, false},
		{solana, "getSlot", `[{"commitment":"confirmed","minContextSlot":9}]`, upstream.NoHead, false},
	} {
		t.Run(row.method, func(t *testing.T) {
			m, found := row.on.Method([]byte(row.method))
			if !found {
				t.Fatal(row.method)
			}
			head, ok := shortKind(m, []byte(row.params))
			if ok != row.ok || (ok && head != row.head) {
				t.Errorf("%s %s: %d %v, want %d %v", row.method, row.params, head, ok, row.head, row.ok)
			}
		})
	}
}

// setup returns answers and one chain whose head is known.
func setup(t testing.TB, id chain.ID, chainID uint64, clock *testkit.Clock) (*answers, *upstream.Chain) {
	t.Helper()
	pool, err := upstream.NewPool(config.Upstreams{Chains: map[string]config.ChainUpstreams{string(id): {
		ChainID: chainID, Upstreams: []config.Upstream{{Name: "up-0", URL: "http://127.0.0.1:1", Supply: "public"}},
	}}}, clock.Now)
	if err != nil {
		t.Fatal(err)
	}
	on, _ := pool.Chain(id)
	kept, err := cache.New(cache.Options{Bytes: 1 << 20, Now: clock.Now, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = kept.Close(t.Context()) })
	return newAnswers(kept, clock.Now), on
}

func snapshot(on *upstream.Chain, head, generation uint64, at time.Time) {
	on.Apply(upstream.Snapshot{Chain: on.ID, MeasuredAt: at, Head: head, HeadKnown: true, Generation: generation})
}

func newClock() *testkit.Clock {
	return testkit.NewClock(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
}

func method(t testing.TB, on *upstream.Chain, name string) *chain.Method {
	t.Helper()
	m, ok := on.Method([]byte(name))
	if !ok {
		t.Fatalf("%s has no %s", on.ID, name)
	}
	return m
}

func TestCache_KeepsCommitmentsApart(t *testing.T) {
	t.Parallel()
	clock := newClock()
	a, on := setup(t, chain.SolanaMainnet, 0, clock)
	m := method(t, on, "getSlot")
	put := func(params string, result []byte) {
		l := a.look(on, m, []byte(params))
		a.put(on, m, &l, result)
	}
	get := func(params string) string {
		l := a.look(on, m, []byte(params))
		result, ok := a.get(t.Context(), on, m, &l)
		return fmt.Sprintf("%s %v", result, ok)
	}
	put(`[{"commitment":"confirmed"}]`, []byte("132"))
	if got := get("[]"); got != " false" {
		t.Errorf("a confirmed slot was given for a final one: %s", got)
	}
	result := []byte("100")
	put("[]", result)
	copy(result, "xxx") // the bytes belong to an answer that is reused
	if got := get(`[{"commitment":"finalized"}]`); got != "100 true" {
		t.Errorf("got %s", got)
	}
	snapshot(on, 90, 1, clock.Now())
	if got := get("[]"); got != " false" {
		t.Errorf("a slot of before the reorganisation was given: %s", got)
	}
	put("[]", []byte("95"))
	if got := get("[]"); got != "95 true" {
		t.Errorf("got %s", got)
	}
	clock.Advance(m.TTL)
	if got := get("[]"); got != " false" {
		t.Errorf("a slot outlived its time: %s", got)
	}
}
