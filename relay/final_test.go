package relay

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chainaccess/gateway/internal/testkit/expect"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

var (
	someHash  = "0x" + strings.Repeat("ab12", 16)
	otherHash = "0x" + strings.Repeat("cd34", 16)
)

func TestCacheKey_SpellingsOfOneRequestShareIt(t *testing.T) {
	t.Parallel()
	clock := newClock()
	a, on := setup(t, chain.EthMainnet, 0, clock)
	snapshot(on, 1000, 0, clock.Now())
	m := method(t, on, "eth_getBlockByHash")
	plain := a.look(on, m, fmt.Appendf(nil, `["%s",false]`, someHash))
	if plain.rule != chain.Final {
		t.Fatal("a plain request is not looked up")
	}
	for _, spelling := range []string{
		fmt.Sprintf(" [ \"%s\" ,\n\tfalse ] ", someHash),
		fmt.Sprintf(`["0x%s",false]`, strings.ToUpper(someHash[2:])),
		fmt.Sprintf(`["\u0030x\u0061%s",false]`, someHash[3:]),
	} {
		if l := a.look(on, m, []byte(spelling)); l.final != plain.final || l.rule != chain.Final {
			t.Errorf("%s has a key of its own", spelling)
		}
	}
	for what, other := range map[string]string{
		"another hash":      fmt.Sprintf(`["%s",false]`, otherHash),
		"another parameter": fmt.Sprintf(`["%s",true]`, someHash),
		"a missing one":     fmt.Sprintf(`["%s"]`, someHash),
		"one too many":      fmt.Sprintf(`["%s",false,null]`, someHash),
	} {
		t.Run(what, func(t *testing.T) {
			if l := a.look(on, m, []byte(other)); l.final == plain.final || l.rule != chain.Final {
				t.Errorf("%s has the same key, or none (rule %s)", what, l.rule)
			}
		})
	}
	if l := a.look(on, method(t, on, "eth_getTransactionByHash"),
		fmt.Appendf(nil, `["%s",false]`, someHash)); l.final == plain.final {
		t.Error("another method has the same key")
	}
}

func TestCacheKey_InvalidHashIsNotLookedUp(t *testing.T) {
	t.Parallel()
	clock := newClock()
	a, on := setup(t, chain.EthMainnet, 0, clock)
	m := method(t, on, "eth_getTransactionByHash")
	plain := fmt.Appendf(nil, `["%s"]`, someHash)
	if a.look(on, m, plain).rule != chain.Never {
		t.Error("something is looked up before the chain's generation is known")
	}
	snapshot(on, 1000, 0, clock.Now())
	if a.look(on, m, plain).rule != chain.Final {
		t.Error("a hash is not looked up")
	}
	for _, params := range []string{
		``, `[]`, `[null]`, `[1]`, `[{}]`, `[[]]`, `["0x"]`, `["latest"]`,
		fmt.Sprintf(`["%s"]`, someHash[:65]), fmt.Sprintf(`["%s0"]`, someHash), fmt.Sprintf(`["%sg"]`, someHash[:65]),
		fmt.Sprintf(`["0X%s"]`, someHash[2:]), fmt.Sprintf(`["%s`, someHash),
		fmt.Sprintf(`["%s",{"a":1,"a":2}]`, someHash),
		fmt.Sprintf(`["%s","%s"]`, someHash, strings.Repeat("x", plainMost)),
	} {
		if l := a.look(on, m, []byte(params)); l.rule != chain.Never {
			t.Errorf("%s is looked up", params)
		}
	}
}

func TestCacheKey_KeepsChainsIDsAndGenerationsApart(t *testing.T) {
	t.Parallel()
	clock := newClock()
	params := fmt.Appendf(nil, `["%s"]`, someHash)
	seen := make(map[any]string)
	add := func(what string, a *answers, on *upstream.Chain) {
		l := a.look(on, method(t, on, "eth_getTransactionReceipt"), params)
		if before, same := seen[l.final]; same || l.rule != chain.Final {
			t.Errorf("%s has the key of %q (rule %s)", what, before, l.rule)
		}
		seen[l.final] = what
	}
	for _, id := range []chain.ID{chain.EthMainnet, chain.BaseMainnet} {
		for _, chainID := range []uint64{0, 31337} {
			a, on := setup(t, id, chainID, clock)
			for generation := range uint64(3) {
				snapshot(on, 1000, generation, clock.Now())
				add(fmt.Sprintf("%s, id %d, generation %d", id, on.ChainID, generation), a, on)
			}
		}
	}
}

func TestCache_KeepsOnlyAnswersAboutDeepBlocks(t *testing.T) {
	t.Parallel()
	const head = 1064
	block := func(number, hash string) string { return fmt.Sprintf(`{"number":%s,"hash":"%s"}`, number, hash) }
	tx := func(number, hash string) string {
		return fmt.Sprintf(`{"blockHash":"%s","blockNumber":%s,"hash":"%s"}`, otherHash, number, hash)
	}
	upper := "0x" + strings.ToUpper(someHash[2:])
	for _, row := range []struct {
		method, result string
		kept           bool
	}{
		{"eth_getBlockByHash", block(`"0x3e8"`, someHash), true}, // 1000
		{"eth_getBlockByHash", block(`"0x3e8"`, upper), true},
		{"eth_getBlockByHash", block(`"0x0"`, someHash), true},
		{"eth_getBlockByHash", block(`"0x3e9"`, someHash), false},
		{"eth_getBlockByHash", block(`"0x3e8"`, otherHash), false},
		{"eth_getBlockByHash", block(`null`, someHash), false},
		{"eth_getBlockByHash", block(`1000`, someHash), false},
		{"eth_getBlockByHash", block(`""`, someHash), false},
		{"eth_getBlockByHash", block(`"0x"`, someHash), false},
		{"eth_getBlockByHash", block(`"0xfffffffffffffffff"`, someHash), false},
		{"eth_getBlockByHash", `{"number":"0x3e8"}`, false},
		{"eth_getBlockByHash", `{"parent":` + block(`"0x3e8"`, someHash) + `}`, false},
		{"eth_getBlockByHash", `null`, false},
		{"eth_getBlockByHash", `[]`, false},
		{"eth_getBlockByHash", `"0x3e8"`, false},
		{"eth_getTransactionByHash", tx(`"0x3e8"`, someHash), true},
		{"eth_getTransactionByHash", tx(`"0x3e9"`, someHash), false},
		{"eth_getTransactionByHash", tx(`"0x3e8"`, otherHash), false},
		{"eth_getTransactionByHash", tx(`null`, someHash), false}, // pending
		{"eth_getTransactionReceipt", `{"blockNumber":"0x3e8","transactionHash":"` + someHash + `"}`, true},
		{"eth_getTransactionReceipt", `{"blockNumber":"0x3e8","transactionHash":"` + otherHash + `"}`, false},
		{"eth_getTransactionReceipt", `{"blockNumber":"0x3e9","transactionHash":"` + someHash + `"}`, false},
		{"eth_getTransactionByBlockHashAndIndex", `{"blockNumber":"0x3e8","blockHash":"` + someHash + `"}`, true},
		{"eth_getTransactionByBlockHashAndIndex", `{"blockNumber":"0x3e8","blockHash":"` + otherHash + `"}`, false},
		// 994: its block is at most 1000
		{"eth_getUncleByBlockHashAndIndex", `{"number":"0x3e2","hash":"` + otherHash + `"}`, true},
		{"eth_getUncleByBlockHashAndIndex", `{"number":"0x3e3","hash":"` + otherHash + `"}`, false},
		{"eth_getBlockTransactionCountByHash", `"0x5"`, false},
		{"eth_getUncleCountByBlockHash", `"0x0"`, false},
	} {
		t.Run(row.method, func(t *testing.T) {
			clock := newClock()
			a, on := setup(t, chain.EthMainnet, 0, clock)
			snapshot(on, head, 0, clock.Now())
			on.ObserveHead(upstream.Latest, head+30) // one upstream's head makes no block deeper
			m := method(t, on, row.method)
			l := a.look(on, m, fmt.Appendf(nil, `["%s"]`, someHash))
			a.put(on, m, &l, []byte(row.result))
			got, kept := a.get(t.Context(), on, m, &l)
			if kept != row.kept || (kept && string(got) != row.result) {
				t.Errorf("%s %s: kept is %v (%s)", row.method, row.result, kept, got)
			}
			clock.Advance(m.TTL)
			if _, kept := a.get(t.Context(), on, m, &l); kept {
				t.Errorf("%s outlives its week", row.method)
			}
		})
	}
}

func TestCache_KeepsCountsOnceTheirBlockIsKnownToBeDeep(t *testing.T) {
	t.Parallel()
	for _, how := range []struct{ method, result string }{
		{"eth_getBlockByHash", `{"number":"0x3e8","hash":"` + someHash + `"}`},
		{"eth_getTransactionReceipt", `{"blockNumber":"0x3e8","transactionHash":"` + someHash + `","blockHash":"` +
			someHash + `"}`},
	} {
		clock := newClock()
		a, on := setup(t, chain.EthMainnet, 0, clock)
		params := fmt.Appendf(nil, `["%s"]`, someHash)
		try := func(name, result string) bool {
			m := method(t, on, name)
			l := a.look(on, m, params)
			a.put(on, m, &l, []byte(result))
			_, kept := a.get(t.Context(), on, m, &l)
			return kept
		}
		snapshot(on, 1063, 0, clock.Now())
		if try(how.method, how.result) || try("eth_getBlockTransactionCountByHash", `"0x5"`) {
			t.Errorf("%s: something is kept about a block that is not deep", how.method)
		}
		snapshot(on, 1064, 0, clock.Now())
		if try("eth_getBlockTransactionCountByHash", `"0x5"`) {
			t.Errorf("%s: a count is kept whose block is not known", how.method)
		}
		in := expect.In(t, "%s: a count is not kept though its block is deep", how.method)
		expect.True(in, try(how.method, how.result), how.method, how.result)
		expect.True(in, try("eth_getBlockTransactionCountByHash", `"0x5"`))
		expect.True(in, try("eth_getUncleCountByBlockHash", `"0x0"`))
		snapshot(on, 1064, 1, clock.Now())
		if try("eth_getUncleCountByBlockHash", `"0x0"`) {
			t.Errorf("%s: a block of before the reorganisation counts as deep", how.method)
		}
	}
}

func TestCache_KeepsNothingBeforeTheHeadIsKnown(t *testing.T) {
	t.Parallel()
	clock := newClock()
	a, on := setup(t, chain.EthMainnet, 0, clock)
	on.Apply(upstream.Snapshot{Chain: on.ID, MeasuredAt: clock.Now()}) // no upstream answered the probes
	m := method(t, on, "eth_getBlockByHash")
	l := a.look(on, m, fmt.Appendf(nil, `["%s",true]`, someHash))
	if l.rule != chain.Final {
		t.Fatal("it is not looked up")
	}
	if a.put(on, m, &l, []byte(`{"number":"0x1","hash":"`+someHash+`"}`)) != nil {
		t.Error("a block is kept whose depth nobody knows")
	}
}

func BenchmarkHit(b *testing.B) {
	clock := newClock()
	a, on := setup(b, chain.EthMainnet, 0, clock)
	snapshot(on, 1064, 0, clock.Now())
	m := method(b, on, "eth_getTransactionReceipt")
	params := fmt.Appendf(nil, `["%s"]`, someHash)
	l := a.look(on, m, params)
	a.put(on, m, &l,
		[]byte(`{"blockNumber":"0x3e8","transactionHash":"`+someHash+`","logs":"`+strings.Repeat("0", 2000)+`"}`))
	b.ReportAllocs()
	for b.Loop() {
		l := a.look(on, m, params)
		if _, ok := a.get(b.Context(), on, m, &l); !ok {
			b.Fatal("a miss")
		}
	}
}
