package api_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/chainaccess/gateway/internal/testkit"
	"github.com/chainaccess/gateway/metering/plan"
	"github.com/chainaccess/gateway/relay/chain"
	"github.com/chainaccess/gateway/relay/upstream"
)

const deepest = testHead - chain.FinalDepth // the newest block whose answers are stored

var blockHash = "0x" + strings.Repeat("0b", 32)

func hash(n int) string { return fmt.Sprintf("0x%064x", n) }

// node answers requests by hash with a block of that height. Its unusual white space must be passed
// on.
func node(height int) testkit.Reply {
	return func(x *testkit.Exchange) {
		var asked string
		if parts := strings.Split(string(x.Request.Params), `"`); len(parts) > 1 {
			asked = strings.ToLower(parts[1])
		}
		result := "null"
		switch x.Request.Method {
		case "eth_getBlockByHash":
			result = fmt.Sprintf(`{ "hash": %q,"number": "0x%x", "transactions":[ ] }`, asked, height)
		case "eth_getTransactionByHash":
			result = fmt.Sprintf(`{"blockHash":%q, "blockNumber":"0x%x","hash":%q,"v":"0x1b"}`, blockHash, height,
				asked)
		case "eth_getTransactionReceipt":
			result = fmt.Sprintf(`{"transactionHash":%q,"logs":[ {"data":"0x"}],"blockNumber":"0x%x","blockHash":%q}`,
				asked, height, blockHash)
		case "eth_getTransactionByBlockHashAndIndex":
			result = fmt.Sprintf(`{"blockHash":%q,"blockNumber":"0x%x"}`, asked, height)
		case "eth_getUncleByBlockHashAndIndex":
			result = fmt.Sprintf(`{"number":"0x%x"}`, height-6)
		case "eth_getBlockTransactionCountByHash", "eth_getUncleCountByBlockHash":
			result = `"0x2"`
		}
		testkit.Raw(http.StatusOK, "application/json", `{"jsonrpc":"2.0","id":`+string(x.Request.ID)+`,"result":`+
			result+`}`)(x)
	}
}

func withoutID(t *testing.T, a answer) string {
	t.Helper()
	_, rest, ok := strings.Cut(a.body, `"result":`)
	if !ok || a.status != http.StatusOK {
		t.Fatalf("got HTTP %d %.300s", a.status, a.body)
	}
	return rest
}

func TestFinalCache_ServesFinalAnswersByteForByte(t *testing.T) {
	t.Parallel()
	g := setup(t)
	g.all(node(deepest))
	key := g.unlimited()
	requests := []struct{ method, params, spelling string }{
		{
			"eth_getBlockByHash", fmt.Sprintf(`[%q,false]`, blockHash),
			fmt.Sprintf(" [ \"0x%s\" ,\tfalse ]", strings.ToUpper(blockHash[2:])),
		},
		{"eth_getTransactionByHash", fmt.Sprintf(`[%q]`, hash(1)), fmt.Sprintf(`["\u0030x%s"]`, hash(1)[2:])},
		{"eth_getTransactionReceipt", fmt.Sprintf(`[%q]`, hash(1)), fmt.Sprintf("[\n%q]", hash(1))},
		{
			"eth_getTransactionByBlockHashAndIndex", fmt.Sprintf(`[%q,"0x0"]`, blockHash),
			fmt.Sprintf(`[ %q, "\u0030x0"]`, blockHash),
		},
		{
			"eth_getUncleByBlockHashAndIndex", fmt.Sprintf(`[%q,"0x0"]`, blockHash),
			fmt.Sprintf(`[%q ,"0x0"]`, blockHash),
		},
		// By now the cache knows that their block is final.
		{"eth_getBlockTransactionCountByHash", fmt.Sprintf(`[%q]`, blockHash), fmt.Sprintf(`[%q ]`, blockHash)},
		{"eth_getUncleCountByBlockHash", fmt.Sprintf(`[%q]`, blockHash), fmt.Sprintf(`[ %q]`, blockHash)},
	}
	for _, r := range requests {
		first := g.rpc(key, chain.EthMainnet, call(r.method, r.params))
		if first.hit() {
			t.Errorf("%s: the first is a hit", r.method)
		}
		for _, id := range []string{`7`, `"a\u0062c"`, `123456789012345678901234567890`, `null`, `{"a": [1]}`} {
			again := g.rpc(key, chain.EthMainnet, fmt.Sprintf(`{"params":%s,"method":%q,"id":%s,"jsonrpc":"2.0"}`,
				r.spelling, r.method, id))
			if withoutID(t, again) != withoutID(t, first) ||
				!strings.HasPrefix(again.body, `{"jsonrpc":"2.0","id":`+id+`,`) {
				t.Errorf("%s\nfirst  %s\nagain  %s", r.method, first.body, again.body)
			}
			if !again.hit() || !strings.HasPrefix(again.header.Get("Server-Timing"), "cache;desc=hit") {
				t.Errorf("%s with id %s: hit is %v, timing %q", r.method, id, again.hit(),
					again.header.Get("Server-Timing"))
			}
		}
		if n := g.sent(r.method); n != 1 {
			t.Errorf("%s: %d calls reached the upstreams", r.method, n)
		}
	}
	if u := g.usage(key); u["hit"] != (figures{35, 0}) || u["ok"] != (figures{7, 7 * plan.Unit}) {
		t.Errorf("usage is %v", u)
	}
	if s := g.relay.CacheStats(); s.MemoryHits != 35 || s.Misses != 7 || s.Stores != 7 {
		t.Errorf("counted %+v", s)
	}
}

func TestFinalCache_AsksAgainForWhatMayChange(t *testing.T) {
	t.Parallel()
	g := setup(t)
	key := g.unlimited()
	another := testkit.ResultOf(func(testkit.Request) any {
		return map[string]any{
			"hash": hash(99), "transactionHash": hash(99), "blockHash": hash(99), "number": "0x1", "blockNumber": "0x1",
		}
	})
	large := func(x *testkit.Exchange) {
		testkit.ResultOf(func(testkit.Request) any {
			return map[string]any{
				"hash": hash(1), "transactionHash": hash(1), "number": "0x1", "blockNumber": "0x1",
				"z": strings.Repeat("z", 300<<10),
			}
		})(x)
	}
	for what, reply := range map[string]testkit.Reply{
		"a block that is not deep": node(deepest + 1),
		"nothing":                  testkit.Result(nil),
		"an error":                 testkit.Error(-32000, "something"),
		"a pending transaction": testkit.Result(map[string]any{
			"hash": hash(1), "blockNumber": nil, "blockHash": nil,
		}),
		"another hash":      another,
		"no block":          testkit.Result(map[string]any{"hash": hash(1), "transactionHash": hash(1)}),
		"a streamed answer": large,
		"something else":    testkit.Result("0x1"),
	} {
		g.all(reply)
		for _, method := range []string{
			"eth_getBlockByHash", "eth_getTransactionByHash", "eth_getTransactionReceipt",
			"eth_getTransactionByBlockHashAndIndex",
		} {
			for range 2 {
				if a := g.rpc(key, chain.EthMainnet, call(method, fmt.Sprintf(`[%q]`, hash(1)))); a.hit() ||
					a.status != http.StatusOK {
					t.Errorf("%s, %s: HTTP %d, hit is %v", method, what, a.status, a.hit())
				}
			}
		}
	}
	g.all(node(deepest))
	// of a block that nobody has read
	for _, method := range []string{"eth_getBlockTransactionCountByHash", "eth_getUncleCountByBlockHash"} {
		for range 2 {
			if g.rpc(key, chain.EthMainnet, call(method, fmt.Sprintf(`[%q]`, hash(5)))).hit() {
				t.Errorf("%s hit", method)
			}
		}
	}
	if s := g.relay.CacheStats(); s.Stores != 0 {
		t.Errorf("counted %+v", s)
	}
}

func TestFinalCache_ChecksDepthAgainstProbesWhenStoring(t *testing.T) {
	t.Parallel()
	g := setup(t)
	g.all(node(deepest + 5))
	key := g.unlimited()
	receipt := func() answer {
		return g.rpc(key, chain.EthMainnet, call("eth_getTransactionReceipt", fmt.Sprintf(`[%q]`, hash(1))))
	}
	for range 2 {
		if receipt().hit() {
			t.Fatal("it hit though its block is not deep")
		}
	}
	on, _ := g.pool.Chain(chain.EthMainnet)
	// plausible, but reported by one upstream only
	g.ups[0].On("eth_blockNumber", testkit.Result(fmt.Sprintf("0x%x", testHead+5)))
	g.eth(key, "eth_blockNumber").result()
	if head, _ := on.Head(); head != testHead+5 {
		t.Fatalf("the head is %d", head)
	}
	for range 2 {
		if receipt().hit() {
			t.Fatal("one upstream's head made a block deep")
		}
	}
	applyHealthyAt(g, testHead+5, 0)
	if receipt().hit() || !receipt().hit() {
		t.Error("it was not stored once its block was deep")
	}
	applyHealthyAt(g, testHead, 0)
	if !receipt().hit() {
		t.Error("depth is checked when asking")
	}
}

// applyHealthyAt applies a snapshot of Ethereum with another head and generation and only healthy
// upstreams.
func applyHealthyAt(g *gateway, head, generation uint64) {
	on, _ := g.pool.Chain(chain.EthMainnet)
	s := upstream.Snapshot{
		Chain: chain.EthMainnet, MeasuredAt: time.Now(), Head: head, HeadKnown: true, Generation: generation,
	}
	for i := range g.ups {
		name := fmt.Sprintf("up-%d", i)
		s.Upstreams = append(s.Upstreams, upstream.UpstreamState{
			Name: name, Fingerprint: on.Fingerprint(name), Usable: true, ChainIDOK: true, Head: head,
			LatencyMicros: int64(1000 << (6 * i)),
		})
	}
	on.Apply(s)
}

func TestFinalCache_DeepReorgInvalidatesWhatWasStored(t *testing.T) {
	t.Parallel()
	kept := testkit.Redis(t)
	g := setup(t, func(o *options) { o.cacheURL = kept.URL })
	key := g.unlimited()
	ask := func() answer {
		return g.rpc(key, chain.EthMainnet, call("eth_getTransactionReceipt", fmt.Sprintf(`[%q]`, hash(1))))
	}
	g.all(node(deepest))
	before := ask().result()
	if !ask().hit() {
		t.Fatal("it is not stored")
	}
	testkit.Eventually(t, testTimeout, func() bool {
		return g.relay.CacheStats().RedisWrites == 1
	}, "it is in Redis too")
	applyHealthyAt(g, testHead, 1)
	g.all(node(deepest - 7))
	a := ask()
	if a.hit() || a.result() == before {
		t.Errorf("what was stored before the reorganisation is served: %s", a.body)
	}
	if b := ask(); !b.hit() || b.result() != a.result() {
		t.Errorf("what is true since is not stored: %s", b.body)
	}
}

func TestFinalCache_ServesHitsWhenEverythingIsUsedUp(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		plan, counter string
		used          plan.Units
		code          int
	}{
		"the day of a door key": {"", "*day:*", 10_000 * plan.Unit, -32016},
		"the quota of a plan":   {plan.Pro, "*ap:*", 15_000_000 * plan.Unit, -32007},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := setup(t)
			g.all(node(deepest))
			var key string
			if row.plan == "" {
				key = g.doorKey()
			} else {
				key = g.accountKey(row.plan)
			}
			stored := call("eth_getTransactionReceipt", fmt.Sprintf(`[%q]`, hash(1)))
			want := g.rpc(key, chain.EthMainnet, stored).result()
			names, err := g.meter.Client().Keys(t.Context(), row.counter).Result()
			g.must(err)
			if len(names) != 1 {
				t.Fatalf("the counters are %v", names)
			}
			if row.plan == "" {
				g.must(g.meter.Client().Set(t.Context(), names[0], int64(row.used), redis.KeepTTL).Err())
			} else {
				g.must(g.meter.Client().HSet(t.Context(), names[0], "u", int64(row.used)).Err())
			}
			g.rpc(key, chain.EthMainnet, call("eth_getTransactionReceipt", fmt.Sprintf(`[%q]`, hash(2)))).refused(
				http.StatusTooManyRequests, row.code)
			if a := g.rpc(key, chain.EthMainnet, stored); !a.hit() || a.result() != want {
				t.Errorf("got %s", a.body)
			}
			if day, period := g.counted(key); max(day, period) != row.used {
				t.Errorf("the counter went to %d or %d", day, period)
			}
		})
	}
}

func TestFinalCache_RefusesHitsToCallersWhoAreNotServed(t *testing.T) {
	t.Parallel()
	g := setup(t)
	g.all(node(deepest))
	stored := call("eth_getTransactionReceipt", fmt.Sprintf(`[%q]`, hash(1)))
	g.rpc(g.unlimited(), chain.EthMainnet, stored).result()
	revoked, suspended, fast := g.unlimited(), g.unlimited(), g.doorKey()
	for _, key := range []string{revoked, suspended, fast} {
		if !g.rpc(key, chain.EthMainnet, stored).hit() {
			t.Fatal("it is not stored")
		}
	}
	g.revoke(revoked)
	g.suspend(suspended)
	g.rpc(revoked, chain.EthMainnet, stored).refused(http.StatusUnauthorized, -32001)
	g.rpc(suspended, chain.EthMainnet, stored).refused(http.StatusForbidden, -32009)
	testkit.Eventually(t, testTimeout, func() bool {
		a := g.rpc(fast, chain.EthMainnet, stored)
		if a.status == http.StatusTooManyRequests {
			a.refused(http.StatusTooManyRequests, -32005)
		}
		return a.status == http.StatusTooManyRequests
	}, "hits count in the rate window")
}

func TestFinalCache_BatchIsAHitOnlyWhenEveryItemWas(t *testing.T) {
	t.Parallel()
	g := setup(t)
	g.all(node(deepest))
	key := g.unlimited()
	item := func(id, n int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"eth_getTransactionByHash","params":[%q]}`, id, hash(n))
	}
	local := `{"jsonrpc":"2.0","id":9,"method":"eth_chainId"}`
	first := g.rpc(key, chain.EthMainnet, "["+item(1, 1)+","+item(2, 2)+","+local+"]")
	second := g.rpc(key, chain.EthMainnet, "["+item(1, 1)+","+item(2, 2)+","+local+"]")
	third := g.rpc(key, chain.EthMainnet, "["+item(1, 1)+","+item(3, 3)+"]")
	if first.hit() || !second.hit() || third.hit() {
		t.Errorf("hits are %v, %v, %v", first.hit(), second.hit(), third.hit())
	}
	if first.body != second.body {
		t.Errorf("first  %s\nsecond %s", first.body, second.body)
	}
	third.batch(2)
	if u := g.usage(key); u["hit"] != (figures{5, 0}) || u["ok"] != (figures{3, 3 * plan.Unit}) {
		t.Errorf("usage is %v", u)
	}
}

func TestFinalCache_HoldsNothingOfSolana(t *testing.T) {
	t.Parallel()
	g := setup(t)
	g.all(testkit.Result(map[string]any{"slot": 1, "blockNumber": "0x1", "hash": hash(1)}))
	key := g.unlimited()
	for method, params := range map[string]string{
		"getTransaction": `["5wHu1qwD7q5ifaN5nwdcDqNFo53GJqa7nLp2BeeEpcHCusb4GzARz4GjgzsEHMkBMgCJMGa6GSQ1VG96Exv8kt2W` +
			`"]`,
		"getBlock":       `[1]`,
		"getBlockTime":   `[1]`,
		"getGenesisHash": `[]`,
	} {
		for range 2 {
			if g.rpc(key, chain.SolanaMainnet, call(method, params)).hit() {
				t.Errorf("%s hit", method)
			}
		}
	}
}

// rpcAt posts a call for Ethereum to another process.
func (g *gateway) rpcAt(url, key, body string) answer {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), http.MethodPost, url+"/rpc/"+string(chain.EthMainnet),
		strings.NewReader(body))
	g.must(err)
	req.Header.Set("Authorization", "Bearer "+key)
	return g.send(req)
}

func TestFinalCache_IsSharedByTwoProcesses(t *testing.T) {
	t.Parallel()
	kept := testkit.Redis(t)
	share := func(o *options) { o.cacheURL = kept.URL }
	g := setup(t, share)
	g.all(node(deepest))
	key := g.unlimited()
	stored := call("eth_getBlockByHash", fmt.Sprintf(`[%q,true]`, blockHash))
	want := withoutID(t, g.rpc(key, chain.EthMainnet, stored))
	testkit.Eventually(t, testTimeout, func() bool { return g.relay.CacheStats().RedisWrites == 1 }, "it is in Redis")
	other := g.another(share)
	for range 2 { // from Redis, then from memory
		if a := g.rpcAt(other, key, stored); !a.hit() || withoutID(t, a) != want {
			t.Errorf("the other process gives %s", a.body)
		}
	}
	if n := g.sent("eth_getBlockByHash"); n != 1 {
		t.Errorf("%d calls reached the upstreams", n)
	}
	if u := g.usage(key); u["hit"] != (figures{2, 0}) {
		t.Errorf("usage is %v", u)
	}
}

func TestFinalCache_CorruptEntryInRedisIsAskedForAgain(t *testing.T) {
	t.Parallel()
	kept := testkit.Redis(t)
	share := func(o *options) { o.cacheURL = kept.URL }
	g := setup(t, share)
	g.all(node(deepest))
	key := g.unlimited()
	stored := call("eth_getBlockByHash", fmt.Sprintf(`[%q,true]`, blockHash))
	want := withoutID(t, g.rpc(key, chain.EthMainnet, stored))
	testkit.Eventually(t, testTimeout, func() bool { return g.relay.CacheStats().RedisWrites == 1 }, "it is in Redis")
	rdb := redis.NewClient(&redis.Options{Addr: kept.Addr})
	t.Cleanup(func() { _ = rdb.Close() })
	names := rdb.Keys(t.Context(), "*").Val()
	if len(names) != 1 {
		t.Fatalf("Redis holds %q", names)
	}
	for _, spoil := range []func(string) string{
		func(s string) string { return strings.Replace(s, "transactions", "transactionz", 1) },
		func(s string) string { return s[:len(s)/2] },
		func(string) string { return "" },
		func(string) string { return `{"hash":"0x666"}` },
	} {
		sealed := rdb.Get(t.Context(), names[0]).Val()
		g.must(rdb.Set(t.Context(), names[0], spoil(sealed), 0).Err())
		other := g.another(share)
		if a := g.rpcAt(other, key, stored); a.hit() || withoutID(t, a) != want {
			t.Errorf("the other process gives %s", a.body)
		}
		testkit.Eventually(t, testTimeout, func() bool { return rdb.Get(t.Context(), names[0]).Val() != spoil(sealed) },
			"it is mended")
	}
}

func TestFinalCache_NoCallFailsWhenTheSecondTierDies(t *testing.T) {
	t.Parallel()
	kept := testkit.Redis(t)
	g := setup(t, func(o *options) { o.cacheURL = kept.URL })
	g.all(node(deepest))
	key := g.unlimited()
	const callers, each = 6, 40
	var begun, failed atomic.Int64
	var wg sync.WaitGroup
	for w := range callers {
		wg.Go(func() {
			for i := range each {
				begun.Add(1)
				asked := hash(w*each + i/2) // each once as a miss and once as a hit
				body := bytes.NewReader([]byte(call("eth_getTransactionReceipt", fmt.Sprintf(`[%q]`, asked))))
				req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost,
					g.url+"/rpc/eth_mainnet", body)
				if err != nil {
					t.Error(err)
					return
				}
				req.Header.Set("Authorization", "Bearer "+key)
				resp, err := g.client.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				var text bytes.Buffer
				_, _ = text.ReadFrom(resp.Body)
				_ = resp.Body.Close()
				if resp.StatusCode != http.StatusOK || !strings.Contains(text.String(), asked) {
					failed.Add(1)
					t.Errorf("HTTP %d %.200s", resp.StatusCode, text.String())
				}
			}
		})
	}
	testkit.Eventually(t, testTimeout, func() bool { return begun.Load() > callers*each/4 }, "it is half way")
	kept.Kill(t)
	wg.Wait()
	if s := g.relay.CacheStats(); s.MemoryHits == 0 || s.RedisErrors == 0 || failed.Load() > 0 {
		t.Errorf("%d failed, counted %+v", failed.Load(), s)
	}
}
